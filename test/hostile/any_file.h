// any_file.h - one file of every kind that Linux has and that a front-end can send.
// Source: vhost-user protocol. Threads: one.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "test/hostile/guest_memory.h"

namespace weir::hostile {

/// A file, and its other ends, which end first. These are neither read nor closed before the object is:
/// bytes that the file holds unread, or has not sent, stay there.
struct AnyFile {
    File sent{};
    std::vector<File> kept{};
    bool close_waits = false;  ///< the last close() of `sent`, until the other ends are closed
};

struct FileKind {
    std::string_view name;
    /// @return without `sent`: this host has no such file, or does not let this process have it
    AnyFile (*make)();
};

/// From the harmless to those whose read, write or close waits.
[[nodiscard]] std::span<const FileKind> file_kinds();

}  // namespace weir::hostile
