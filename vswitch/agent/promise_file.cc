// promise_file.cc - PromiseFile: the three lines, and the faults of a file that is refused.
#include "vswitch/agent/promise_file.h"

#include <array>
#include <nlohmann/json.hpp>

#include "common/config/config_reader.h"
#include "common/config/json_text.h"
#include "vswitch/agent/kept_file.h"

namespace weir {
namespace {

using nlohmann::json;

/// Format 1 has no promises to vNICs; else it is the same.
constexpr std::uint64_t kFormat = 2;
constexpr Range kSeconds{0, 1ULL << 40U};

struct Head {
    std::string host{};
    std::uint64_t confirmed = 0;
    std::string checksum{};
};

/// FNV-1a of 64 bits, in hexadecimal: it notices damage. Against an attacker there are the file's owner and
/// mode.
std::string checksum_of(const Head& head, std::string_view messages) {
    std::uint64_t sum = 0xCBF2'9CE4'8422'2325;
    const std::string owner = head.host + ' ' + std::to_string(head.confirmed) + '\n';
    for (const std::string_view part : {std::string_view(owner), messages})
        for (const char byte : part)
            sum = (sum ^ static_cast<std::uint8_t>(byte)) * 0x100'0000'01B3;
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text;
    for (unsigned shift = 64; shift != 0; shift -= 4)
        text += kDigits[sum >> (shift - 4) & 15U];
    return text;
}

Head read_head(const json& value, Faults& faults) {
    Head head;
    ObjectReader reader(value, "", faults);
    std::uint64_t version = 0;
    reader.read_integer("weir_promises", version, {1, UINT32_MAX});
    if (version > kFormat) {
        faults = {{"weir_promises", std::to_string(version), "1 to " + std::to_string(kFormat),
                   "it is of another version"}};
        return head;
    }
    reader.read_text("host", head.host);
    reader.read_integer("confirmed", head.confirmed, kSeconds);
    reader.read_text("checksum", head.checksum);
    reader.finish();
    return head;
}

/// @return the fault of a message of the file; empty: it was read into `out`
template <typename Message>
std::string take(std::variant<Message, Faults> parsed, Message& out) {
    if (const Faults* faults = std::get_if<Faults>(&parsed))
        return faults->front().to_line();
    out = std::get<Message>(std::move(parsed));
    return {};
}

PromiseFile::Read refused(std::string why) {
    return {.refusal = std::move(why)};
}

}  // namespace

PromiseFile::Read PromiseFile::read() const {
    KeptText kept = read_kept(path_, kBytesMax);
    if (!kept.text)
        return refused(std::move(kept.refusal));
    const std::string_view text = *kept.text;
    const std::size_t end = text.find('\n');
    const std::string_view messages = end == std::string_view::npos ? "" : text.substr(end + 1);
    const auto parsed = parse_document<Head>(text.substr(0, end), read_head);
    if (const Faults* faults = std::get_if<Faults>(&parsed))
        return refused(faults->front().to_line());
    const Head& head = std::get<Head>(parsed);
    if (head.checksum != checksum_of(head, messages))
        return refused("it is damaged: its checksum is not that of its contents");
    if (head.host != host_)
        return refused("it is of host \"" + head.host + "\", not of " + host_);
    const std::size_t middle = messages.find('\n');
    if (middle == std::string_view::npos || !messages.ends_with('\n'))
        return refused("it is cut");
    KeptPromises promises{.confirmed = static_cast<std::int64_t>(head.confirmed)};
    std::string why = take(wire::parse_welcome(messages.substr(0, middle)), promises.welcome);
    if (why.empty())
        why = take(wire::parse_tables(messages.substr(middle + 1)), promises.tables);
    if (why.empty() && (promises.welcome.protocol != wire::kProtocol || !promises.welcome.refused.empty()))
        why = "its WELCOME promises nothing";
    if (!why.empty())
        return refused(std::move(why));
    return {.promises = std::move(promises)};
}

std::string PromiseFile::write(const KeptPromises& promises) const {
    const std::string messages =
        wire::to_text(promises.welcome) + '\n' + wire::to_text(promises.tables) + '\n';
    Head head{.host = host_, .confirmed = static_cast<std::uint64_t>(promises.confirmed)};
    head.checksum = checksum_of(head, messages);
    const json line{{"weir_promises", kFormat},
                    {"host", head.host},
                    {"confirmed", head.confirmed},
                    {"checksum", head.checksum}};
    return replace_kept(path_, line.dump() + '\n' + messages, kBytesMax);
}

}  // namespace weir
