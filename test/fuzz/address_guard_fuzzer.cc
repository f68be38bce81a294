// address_guard_fuzzer.cc - any bytes as frames from and to a guarded guest: read within their bounds, and
// none accepted with an address that is neither configured nor learned.
// Source: docs/algorithms.md 3.8.
//
// The input is a byte of rules (1 checks sources, 2 learns, 4 serves DHCP, 8 routes), then frames with 3
// bytes of head each: direction and seconds to wait (1), length (2, low byte first).
#include <algorithm>
#include <vector>

#include "test/fuzz/checks.h"
#include "vswitch/datapath/vnic/address_guard.h"

namespace {

using namespace weir;
using namespace weir::fuzz;
using Bytes = std::vector<std::uint8_t>;

constexpr std::size_t kHeadBytes = 3;
constexpr std::uint64_t kMac = 0x0100'0000'5452;  // 52:54:00:00:00:01

const std::vector<IpNetwork>& networks() {
    static const std::vector<IpNetwork> list = [] {
        std::vector<IpNetwork> parsed;
        for (const char* text : {"10.0.0.1", "10.1.0.0/16", "fd00::1", "fd00:1::/64"})
            parsed.push_back(IpNetwork::parse(text).value());
        return parsed;
    }();
    return list;
}

AddressRules rules_of(std::uint8_t flags) {
    AddressRules rules;
    rules.checks_sources = (flags & 3) != 0;
    rules.learns = (flags & 2) != 0;
    rules.serves_dhcp = (flags & 4) != 0;
    rules.routes = (flags & 8) != 0;
    rules.set_mac(kMac);
    for (const IpNetwork& network : networks())
        require((flags & 1) == 0 || rules.allow(network), "four networks have room");
    return rules;
}

/// Read without the switch's code.
IpAddress address_at(const Bytes& frame, std::size_t at, bool v6) {
    IpAddress address;
    address.v6 = v6;
    std::copy_n(frame.begin() + static_cast<std::ptrdiff_t>(at), v6 ? 16 : 4, address.bytes.begin());
    return address;
}

bool allowed(const AddressRules& rules, const LearnedAddresses& learned, const IpAddress& address) {
    static const IpAddress link_local = IpAddress::parse("fe80::5054:ff:fe00:1").value();
    const IpAddress none{.v6 = address.v6};
    const auto holds = [&](const IpNetwork& network) { return network.contains(address); };
    const auto known = [&](const LearnedAddress& each) {
        return each.from != LearnedAddress::From::kNone && each.address == address;
    };
    return address == link_local || address == none ||
           (rules.count != 0 && std::ranges::any_of(networks(), holds)) ||
           std::ranges::any_of(learned, known);
}

void check_accepted(const AddressRules& rules, const LearnedAddresses& learned, const Bytes& frame) {
    const std::size_t tag = frame[12] == 0x81 && frame[13] == 0 ? 4 : 0;
    const std::size_t ip = 14 + tag;
    const unsigned type = frame[12 + tag] * 256U + frame[13 + tag];
    const bool v6 = type == 0x86DD;
    require(v6 || type == 0x0800 || type == 0x0806 || type == 0x8035, "only IP and ARP are accepted");
    const bool arp = !v6 && type != 0x0800;
    const std::size_t source = ip + (arp ? 14 : v6 ? 8 : 12);
    require(frame.size() >= source + (v6 ? 16 : 4), "the source of an accepted frame is whole");
    if (rules.checks_sources && (arp || !rules.routes))
        require(allowed(rules, learned, address_at(frame, source, v6)), "the source is the guest's");
    if (!v6 || rules.routes || frame[ip + 6] != 58)
        return;
    const unsigned message = frame[ip + 40];
    require(message != 134 && message != 137, "only a router advertises and redirects");
    require(
        message != 136 || !rules.checks_sources || allowed(rules, learned, address_at(frame, ip + 48, true)),
        "an advertisement's target is the guest's");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0)
        return 0;
    const AddressRules rules = rules_of(*data);
    AddressGuard guard;
    Nanos now = kNanosPerSec;
    for (++data, --size; size > kHeadBytes;) {
        const std::size_t bytes =
            std::min<std::size_t>(data[1] + data[2] * std::size_t{256}, size - kHeadBytes);
        const Bytes frame(data + kHeadBytes, data + kHeadBytes + bytes);
        now += (data[0] >> 1) * kNanosPerSec;
        const LearnedAddresses before = guard.learned();
        if ((data[0] & 1) != 0) {
            if (rules.learns)
                guard.learn(rules, frame, now);
        } else if (const auto judged = guard.judge(rules, frame, now); judged.refused == DropReason::kCount) {
            require(judged.upper_at <= frame.size(), "headers lie in the frame");
            check_accepted(rules, before, frame);
        }
        for (const LearnedAddress& learned : guard.learned())
            require(learned.from == LearnedAddress::From::kNone || learned.address.is_host(),
                    "an address that is learned is a host's");
        data += kHeadBytes + bytes;
        size -= kHeadBytes + bytes;
    }
    return 0;
}
