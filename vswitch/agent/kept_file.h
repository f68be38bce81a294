// kept_file.h - a text that outlasts the switch, in a file that is replaced as a whole.
// Source: docs/algorithms.md 3.10. Units: bytes. Threads: the agent (at start and end main).
//
// A file that this user cannot have written (of another user, writable by others, no regular file, too long)
// is refused: its contents would be a way around the guard of addresses and around guarantees.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace weir {

struct KeptText {
    std::optional<std::string> text{};  ///< absent: there is no file, or it is refused
    std::string refusal{};              ///< why, as text for people; empty: it is not refused
};

[[nodiscard]] KeptText read_kept(const std::string& path, std::size_t bytes_max);

/// Replaces the file by rename, readable by this user alone. @return why that failed; empty: it did not
[[nodiscard]] std::string replace_kept(const std::string& path, std::string_view text, std::size_t bytes_max);

/// @return why the file is still there; empty: it is not
[[nodiscard]] std::string remove_kept(const std::string& path);

}  // namespace weir
