// field_kinds.h - the kinds of field that every configuration has: names, sockets, files, parts.
// Threads: any; never used on a poll thread.
#pragma once

#include <string>
#include <string_view>

#include "common/config/config_reader.h"

namespace weir {

/// 1..31 of [A-Za-z0-9._-], beginning with a letter or a digit: safe in files, shells, XML and tables.
[[nodiscard]] bool is_name(std::string_view text);
bool read_name(ObjectReader& reader, std::string_view key, std::string& out);
/// An absolute path that fits sockaddr_un (107 bytes).
bool read_socket_path(ObjectReader& reader, std::string_view key, std::string& out);
inline constexpr std::size_t kPathBytesMax = 4095;  ///< PATH_MAX with the end
/// An absolute path of at most kPathBytesMax; whether the file is there shows at start.
bool read_file_path(ObjectReader& reader, std::string_view key, std::string& out);
/// "tcp://HOST:PORT" or "ipc:///PATH".
inline constexpr const char* kEndpoints =
    "an address such as \"tcp://10.0.0.1:5555\" or \"ipc:///run/weir/ctrl.ipc\"";
[[nodiscard]] bool is_endpoint(std::string_view text);
bool read_endpoint(ObjectReader& reader, std::string_view key, std::string& out);
/// 40 characters of Z85, as ZeroMQ prints CURVE keys.
[[nodiscard]] bool is_curve_key(std::string_view text);
bool read_curve_key(ObjectReader& reader, std::string_view key, std::string& out);
/// A percentage, as a part of 1. @param range in millionths
bool read_part(ObjectReader& reader, std::string_view key, double& out, Range range = {0, 1'000'000});
/// A fault when the key is not there. @return whether it is
bool require(ObjectReader& reader, std::string_view key, const char* allowed);

/// A list of objects: `read(ObjectReader&, const std::string& path)` for each, and no unknown keys in it.
/// Absent: none.
template <typename Read>
void read_objects(ObjectReader& parent, std::string_view key, std::size_t most, Faults& faults, Read read) {
    const nlohmann::json* list = parent.take(key);
    if (list == nullptr)
        return;
    if (!list->is_array() || list->size() > most) {
        parent.fault(key, "a list of at most " + std::to_string(most),
                     list->is_array() ? "there are too many" : "wrong type");
        return;
    }
    for (std::size_t i = 0; i < list->size(); ++i) {
        const std::string path = parent.path_of(key) + '[' + std::to_string(i) + ']';
        ObjectReader entry((*list)[i], path, faults);
        if (!(*list)[i].is_object())
            continue;
        read(entry, path);
        entry.finish();
    }
}

}  // namespace weir
