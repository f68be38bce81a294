// liar.cc - five kinds of lies, in turn by chance.
#include "test/ctrl/faults/liar.h"

#include <array>
#include <limits>

#include "common/wire/messages.h"
#include "common/wire/records.h"

namespace weir::faults {
namespace {

/// Ids of endpoints that may exist: the store counts them from 1.
constexpr std::uint32_t kIds = 24;

LineMessage with_text(wire::Header header, const std::string& text) {
    header.count = static_cast<std::uint32_t>(text.size());
    return {wire::encode_header(header), {text.begin(), text.end()}};
}

}  // namespace

void Liar::overhear(std::uint32_t host, const LineMessage& message, Random32& random) {
    wire::Header header;
    if (wire::decode_header(message.header, message.body.size(), header) != wire::Malformed::kNo)
        return;
    last_.resize(plan_.config.hosts.size());
    last_[host] = header;
    if (overheard_.size() < kOverheardMost)
        overheard_.push_back(message);
    else if (one_in(random, 8))
        overheard_[random() % kOverheardMost] = message;
}

/// A header of the host's own session, mostly the next one; at times far ahead.
wire::Header Liar::own_header(std::uint32_t host, wire::Type type, Random32& random) const {
    wire::Header header{.type = type, .session = random(), .sequence = 1};
    if (host < last_.size() && last_[host])
        header = *last_[host];
    header.type = type;
    header.flags = 0;
    header.sequence += one_in(random, 50) ? 0x4000'0000U : draw(random, 0, 2);
    if (one_in(random, 4))
        header.flags = wire::flags::kSnapshot;
    if (one_in(random, 4))
        header.flags |= wire::flags::kAskSnapshot;
    return header;
}

LineMessage Liar::malformed(Random32& random) const {
    LineMessage message;
    if (!overheard_.empty())
        message = overheard_[random() % overheard_.size()];
    message.header[random() % message.header.size()] ^= static_cast<std::uint8_t>(1 + random() % 255);
    if (one_in(random, 4))
        message.body.resize(random() % 300);
    if (one_in(random, 200))
        message.body.resize(wire::kBodyBytesMax + 1);
    for (int i = 0; i < 4 && !message.body.empty(); ++i)
        message.body[random() % message.body.size()] = static_cast<std::uint8_t>(random());
    return message;
}

/// In another host's name, which its key does not allow, or in its own with vNICs that it does not have.
LineMessage Liar::hello(std::uint32_t host, Random32& random) const {
    const bool is_own = one_in(random, 2);
    const std::uint32_t claimed =
        is_own ? host : random() % static_cast<std::uint32_t>(plan_.config.hosts.size());
    wire::Hello hello{.host = plan_.config.hosts[claimed].name, .version = "liar"};
    for (const PlannedVnic& vnic : plan_.vnics)
        if (one_in(random, 3))
            hello.vnics.push_back({.name = vnic.name, .mac = vnic.mac});
    const std::uint32_t unknown = draw(random, 0, 20);
    for (std::uint32_t i = 0; i < unknown; ++i)
        hello.vnics.push_back({.name = "x" + std::to_string(random() % 1'000)});
    wire::Header header = own_header(host, wire::Type::kHello, random);
    header.epoch = 0;
    header.flags = 0;
    if (one_in(random, 2))
        header.session += draw(random, 0, 5'000);
    return with_text(header, wire::to_text(hello));
}

LineMessage Liar::demands(std::uint32_t host, Random32& random) const {
    constexpr std::array<float, 6> kAmounts{
        0, 1, 1e6F, wire::kTokensMax, 2e15F, std::numeric_limits<float>::quiet_NaN()};
    wire::Header header = own_header(host, wire::Type::kDemand, random);
    header.count = draw(random, 1, 12);
    wire::Bytes body;
    for (std::uint32_t i = 0; i < header.count; ++i) {
        wire::FlowDemand record{.flow = {draw(random, 1, kIds), draw(random, 1, kIds)}};
        for (auto* const amounts : {&record.used, &record.backlog, &record.queued, &record.outstanding})
            for (float& amount : *amounts)
                amount = kAmounts[random() % kAmounts.size()];
        wire::encode(record, body);
    }
    return {wire::encode_header(header), std::move(body)};
}

LineMessage Liar::usage(std::uint32_t host, std::uint64_t unix_now, Random32& random) const {
    constexpr std::uint64_t kDay = 86'400 * kNanosPerSec;
    wire::Header header = own_header(host, wire::Type::kUsage, random);
    header.flags = 0;
    header.count = draw(random, 1, 6);
    wire::Bytes body;
    for (std::uint32_t i = 0; i < header.count; ++i) {
        const std::uint64_t began = unix_now - kDay + random() % (2 * kDay);
        wire::encode({.vnic = draw(random, 1, kIds),
                      .guarantee = GuaranteeKind::kStrict,
                      .began = began,
                      .ended = began + draw(random, 1, 2'000'000'000),
                      .promised = random(),
                      .delivered = random()},
                     body);
    }
    return {wire::encode_header(header), std::move(body)};
}

LineMessage Liar::lie(std::uint32_t host, std::uint64_t unix_now, Random32& random) {
    switch (random() % 5) {
        case 0:
            return malformed(random);
        case 1:
            return hello(host, random);
        case 2:
            return demands(host, random);
        case 3:
            return usage(host, unix_now, random);
        default:
            return overheard_.empty() ? malformed(random) : overheard_[random() % overheard_.size()];
    }
}

}  // namespace weir::faults
