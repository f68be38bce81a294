// field_kinds.cc - the readers of single fields, and their faults.
#include "common/config/field_kinds.h"

#include <algorithm>

namespace weir {
namespace {

constexpr std::size_t kNameBytesMax = 31;
constexpr std::size_t kSocketBytesMax = 107;  // sockaddr_un has 108 with the end

bool is_alnum(char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z');
}

}  // namespace

bool is_name(std::string_view text) {
    const auto allowed = [](char c) { return is_alnum(c) || c == '.' || c == '_' || c == '-'; };
    return !text.empty() && text.size() <= kNameBytesMax && is_alnum(text.front()) &&
           std::all_of(text.begin(), text.end(), allowed);
}

bool read_valid(ObjectReader& reader, std::string_view key, std::string& out,
                bool (*is_valid)(std::string_view), const char* allowed, const char* message) {
    std::string text;
    if (!reader.read_text(key, text))
        return false;
    if (!is_valid(text)) {
        reader.fault(key, allowed, message);
        return false;
    }
    out = std::move(text);
    return true;
}

bool read_name(ObjectReader& reader, std::string_view key, std::string& out) {
    return read_valid(reader, key, out, is_name,
                      "1 to 31 of A-Z a-z 0-9 . _ -, beginning with one of A-Z a-z 0-9",
                      "this cannot be a name");
}

bool read_socket_path(ObjectReader& reader, std::string_view key, std::string& out) {
    std::string text;
    if (!reader.read_text(key, text))
        return false;
    constexpr const char* kAllowed =
        "an absolute path of at most 107 bytes, such as \"/run/weir/vm/vm1.sock\"";
    if (text.size() > kSocketBytesMax) {
        reader.fault(key, kAllowed, "the path has " + std::to_string(text.size()) + " bytes");
        return false;
    }
    if (!text.starts_with('/') || text.ends_with('/')) {
        reader.fault(key, kAllowed, "this cannot be a socket");
        return false;
    }
    out = std::move(text);
    return true;
}

bool read_file_path(ObjectReader& reader, std::string_view key, std::string& out) {
    const auto is_file_path = [](std::string_view text) {
        return text.starts_with('/') && !text.ends_with('/') && text.size() <= kPathBytesMax;
    };
    return read_valid(reader, key, out, is_file_path,
                      "an absolute path of at most 4095 bytes, such as \"/etc/weir/feedback.key\"",
                      "this cannot be a file");
}

bool is_curve_key(std::string_view text) {
    constexpr std::string_view kZ85 =
        "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";
    return text.size() == 40 && text.find_first_not_of(kZ85) == std::string_view::npos;
}

bool read_endpoint(ObjectReader& reader, std::string_view key, std::string& out) {
    return read_valid(reader, key, out, is_endpoint, kEndpoints, "this is no address of a socket");
}

void read_metrics(ObjectReader& reader, MetricsConfig& out) {
    constexpr const char* kAllowed =
        "an IP address of this machine and a port, such as \"127.0.0.1:9417\" or \"[::1]:9417\"";
    if (require(reader, "listen", kAllowed))
        read_valid(reader, "listen", out.listen, is_address_with_port, kAllowed,
                   "this is no IP address with a port");
}

bool read_curve_key(ObjectReader& reader, std::string_view key, std::string& out) {
    return read_valid(reader, key, out, is_curve_key,
                      "40 characters of Z85, as `weir-ctrl --make-key FILE` prints them",
                      "this is no CURVE public key");
}

bool is_mac_text(std::string_view text) {
    bool good = text.size() == 17;
    for (std::size_t i = 0; good && i < text.size(); ++i)
        good = i % 3 == 2 ? text[i] == ':'
                          : (text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f');
    return good;
}

bool read_mac(ObjectReader& reader, std::string_view key, std::string& out) {
    std::string text;
    if (!reader.read_text(key, text))
        return false;
    for (char& c : text)
        c = c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
    constexpr std::string_view kOdd = "13579bdf";
    const bool is_host =
        is_mac_text(text) && text != "00:00:00:00:00:00" && kOdd.find(text[1]) == std::string_view::npos;
    if (!is_host) {
        reader.fault(key, "a unicast address, such as \"52:54:00:00:00:01\"",
                     is_mac_text(text) ? "no host has this address" : "this is not a MAC address");
        return false;
    }
    out = std::move(text);
    return true;
}

bool read_part(ObjectReader& reader, std::string_view key, double& out, Range range) {
    std::uint64_t millionths = 0;
    if (!reader.read_quantity(key, Quantity::kPercent, millionths, range))
        return false;
    out = static_cast<double>(millionths) / 1e6;
    return true;
}

bool require(ObjectReader& reader, std::string_view key, const char* allowed) {
    if (!reader.has(key))
        reader.fault(key, allowed, "this is needed");
    return reader.has(key);
}

const nlohmann::json::array_t& read_list(ObjectReader& reader, std::string_view key, std::size_t most,
                                         const char* what) {
    static const nlohmann::json::array_t kNone;
    const nlohmann::json* list = reader.take(key);
    if (list == nullptr)
        return kNone;
    if (list->is_array() && list->size() <= most)
        return list->get_ref<const nlohmann::json::array_t&>();
    reader.fault(key, "a list of at most " + std::to_string(most) + what,
                 list->is_array() ? "there are too many" : "wrong type");
    return kNone;
}

}  // namespace weir
