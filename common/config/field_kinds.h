// field_kinds.h - readers of the kinds of fields that several configurations have: names, sockets, files,
// endpoints, keys, parts, guarantees, lists of objects.
// Threads: any; never used on a poll thread.
//
// Each read_...() marks the key as known, leaves `out` alone when the key is absent or at fault, adds its
// fault to the reader's, and returns whether `out` was set.
#pragma once

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "common/config/config_reader.h"
#include "common/config/endpoint.h"
#include "common/config/metrics_config.h"
#include "common/guarantee.h"

namespace weir {

/// The kinds of guarantees as configurations, commands and reports name them.
inline constexpr std::array kGuaranteeWords{Word<GuaranteeKind>{"strict", GuaranteeKind::kStrict},
                                            Word<GuaranteeKind>{"dynamic", GuaranteeKind::kDynamic},
                                            Word<GuaranteeKind>{"fairness", GuaranteeKind::kFairness},
                                            Word<GuaranteeKind>{"best_effort", GuaranteeKind::kBestEffort}};
[[nodiscard]] inline std::string_view guarantee_name(GuaranteeKind guarantee) {
    return std::ranges::find(kGuaranteeWords, guarantee, &Word<GuaranteeKind>::value)->text;
}

/// A text that passes the check. @param allowed, message of the fault if it does not
bool read_valid(ObjectReader& reader, std::string_view key, std::string& out,
                bool (*is_valid)(std::string_view), const char* allowed, const char* message);

/// 1..31 of [A-Za-z0-9._-], the first one of [A-Za-z0-9]: safe in files, shells, XML and tables.
[[nodiscard]] bool is_name(std::string_view text);
bool read_name(ObjectReader& reader, std::string_view key, std::string& out);
/// An absolute path that fits sockaddr_un (107 bytes).
bool read_socket_path(ObjectReader& reader, std::string_view key, std::string& out);
inline constexpr std::size_t kPathBytesMax = 4095;  ///< PATH_MAX with the end
/// An absolute path of at most kPathBytesMax. Whether the file exists is not checked.
bool read_file_path(ObjectReader& reader, std::string_view key, std::string& out);
/// "tcp://HOST:PORT" or "ipc:///PATH", to connect to.
inline constexpr const char* kEndpoints =
    "an address such as \"tcp://10.0.0.1:5555\", \"tcp://[fd00::1]:5555\" or "
    "\"ipc:///run/weir/admin/ctrl.ipc\"";
bool read_endpoint(ObjectReader& reader, std::string_view key, std::string& out);
/// The section `metrics`.
void read_metrics(ObjectReader& reader, MetricsConfig& out);
/// 40 characters of Z85, as ZeroMQ prints CURVE keys.
[[nodiscard]] bool is_curve_key(std::string_view text);
bool read_curve_key(ObjectReader& reader, std::string_view key, std::string& out);
/// "52:54:00:00:00:01", in lower case.
[[nodiscard]] bool is_mac_text(std::string_view text);
/// The address of a host, in either case; `out` has it in lower case.
bool read_mac(ObjectReader& reader, std::string_view key, std::string& out);
/// A percentage, read as a part of 1: "5%" sets 0.05. @param range in millionths
bool read_part(ObjectReader& reader, std::string_view key, double& out, Range range = {0, 1'000'000});
/// Adds a fault when the key is absent. @return whether it is present
bool require(ObjectReader& reader, std::string_view key, const char* allowed);

/// Reads a list of at most `most` elements, which the fault of another value names by `what`: " vNICs".
/// @return no elements when the list is absent or at fault
[[nodiscard]] const nlohmann::json::array_t& read_list(ObjectReader& reader, std::string_view key,
                                                       std::size_t most, const char* what = "");

/// Reads an object: calls `read(ObjectReader&, arguments...)`, and makes its unknown keys faults. An absent
/// one is not read.
template <typename Read, typename... Arguments>
void read_object(ObjectReader& parent, std::string_view key, Faults& faults, Read read,
                 Arguments&... arguments) {
    const nlohmann::json* object = parent.take(key);
    if (object == nullptr)
        return;
    ObjectReader reader(*object, parent.path_of(key), faults);
    if (!object->is_object())
        return;
    read(reader, arguments...);
    reader.finish();
}

/// Reads a list of objects, as read_list(): calls `read(ObjectReader&, const std::string& path)` for each,
/// and makes its unknown keys faults. An absent list has no objects.
template <typename Read>
void read_objects(ObjectReader& parent, std::string_view key, std::size_t most, Faults& faults, Read read,
                  const char* what = "") {
    std::size_t index = 0;
    for (const nlohmann::json& object : read_list(parent, key, most, what)) {
        const std::string path = parent.path_of(key) + '[' + std::to_string(index++) + ']';
        ObjectReader entry(object, path, faults);
        if (!object.is_object())
            continue;
        read(entry, path);
        entry.finish();
    }
}

}  // namespace weir
