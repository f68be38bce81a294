// tunnel_parts.cc - secrets from digits, tables from files.
#include "vswitch/config/tunnel_parts.h"

#include <cctype>

#include "common/config/config_text.h"

namespace weir {
namespace {

unsigned nibble(char c) {
    const auto digit = static_cast<unsigned char>(c);
    return static_cast<unsigned>(std::isdigit(digit) != 0 ? digit - '0' : (digit | 0x20) - 'a' + 10);
}

/// @return whether the text is 64 hexadecimal digits, spaces aside
bool read_digits(std::string text, std::array<std::uint8_t, 32>& key) {
    std::erase_if(text, [](unsigned char c) { return std::isspace(c) != 0; });
    bool good = text.size() == 2 * key.size();
    for (std::size_t i = 0; good && i < text.size(); ++i) {
        good = std::isxdigit(static_cast<unsigned char>(text[i])) != 0;
        key[i / 2] = static_cast<std::uint8_t>(unsigned{key[i / 2]} << 4 | nibble(text[i]));
    }
    return good;
}

void read_key(const TunnelConfig& tunnel, const std::string& path, TunnelParts& parts, Faults& faults) {
    constexpr const char* kAllowed = "a file with 64 hexadecimal digits: openssl rand -hex 32 > FILE";
    if (tunnel.key_file.empty()) {
        (void)read_digits(tunnel.key, parts.key);
        return;
    }
    const std::variant<std::string, Fault> text = read_text_file(tunnel.key_file);
    if (const Fault* fault = std::get_if<Fault>(&text))
        faults.push_back({path + "key_file", show_text(tunnel.key_file) + ": " + fault->found, kAllowed,
                          "the key could not be read"});
    else if (!read_digits(std::get<std::string>(text), parts.key))
        faults.push_back({path + "key_file", show_text(tunnel.key_file), kAllowed, "this file holds no key"});
}

}  // namespace

std::variant<std::vector<TunnelParts>, Faults> load_tunnels(const SwitchConfig& config,
                                                            const std::string& shipped) {
    std::vector<TunnelParts> all;
    Faults faults;
    for (const TunnelConfig& tunnel : config.tunnels) {
        const std::string path = "tunnels[" + std::to_string(all.size()) + "].";
        TunnelParts parts;
        read_key(tunnel, path, parts, faults);
        parts.cost = read_cost_table(tunnel.cost, path + "cost", shipped, faults);
        all.push_back(std::move(parts));
    }
    if (!faults.empty())
        return faults;
    return all;
}

}  // namespace weir
