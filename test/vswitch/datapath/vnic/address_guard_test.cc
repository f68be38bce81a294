// address_guard_test.cc - which frames a guarded guest may send: each claim of an address, and each evasion.
#include "vswitch/datapath/vnic/address_guard.h"

#include <random>

#include "common/byte_order.h"
#include "test/support/catch.h"
#include "test/vswitch/datapath/vnic/guard_frames.h"

using namespace weir;
using namespace weir::testing;

namespace {

constexpr const char* kLinkLocal = "fe80::5054:ff:fe00:1";  // derived from mac(1)
constexpr DropReason kAccepted = DropReason::kCount;

/// The guest mac(1) with 10.0.0.1, 10.1.0.0/16, fd00::1 and fd00:1::/64.
struct Guest {
    Guest() {
        rules.checks_sources = true;
        rules.set_mac(mac(1));
        for (const char* text : {"10.0.0.1", "10.1.0.0/16", "fd00::1", "fd00:1::/64"})
            REQUIRE(rules.allow(IpNetwork::parse(text).value()));
    }
    DropReason send(const FrameBytes& frame) { return guard.judge(rules, frame, now).refused; }
    /// The guard sees the first bytes only, as of a frame in several buffers.
    DropReason send_cut(const FrameBytes& frame, std::size_t bytes) {
        return guard.judge(rules, std::span(frame).first(bytes), now).refused;
    }
    AddressRules rules;
    AddressGuard guard;
    Nanos now = kNanosPerSec;
};

FrameBytes extension(std::uint8_t next, std::uint8_t units = 0) {
    FrameBytes header(8 + units * std::size_t{8});
    header[0] = next;
    header[1] = units;
    return header;
}
FrameBytes fragment(std::uint8_t next, std::uint16_t offset_and_more) {
    FrameBytes header{next, 0, 0, 0, 0, 0, 0, 1};
    write16(header, 2, offset_and_more);
    return header;
}
FrameBytes fragment4(const std::string& source, std::uint8_t protocol, const FrameBytes& content,
                     std::uint16_t offset_and_more) {
    FrameBytes frame = frame_from(source, protocol, content);
    write16(frame, 20, offset_and_more);
    return frame;
}
const FrameBytes kAdvertisement = neighbor_message(kRouterAdvertisement, "", {});

}  // namespace

TEST_CASE("a guest may send from its addresses, its prefixes and its own link-local address, and no other") {
    Guest guest;
    for (const char* own : {"10.0.0.1", "10.1.0.0", "10.1.255.255", "fd00::1", "fd00:1::abcd", kLinkLocal}) {
        INFO(own);
        CHECK(guest.send(frame_from(own)) == kAccepted);
        CHECK(guest.send(frame_from(own, kTcp, tcp({}))) == kAccepted);
    }
    for (const char* foreign : {"10.0.0.2", "10.2.0.0", "0.0.0.0", "255.255.255.255", "127.0.0.1", "fd00::2",
                                "fd00:1:0:1::1", "::", "::1", "fe80::1", "fe80::5054:ff:fe00:2", "ff02::1"}) {
        INFO(foreign);
        CHECK(guest.send(frame_from(foreign)) == DropReason::kIpSpoof);
        CHECK(guest.send(frame_from(foreign, kTcp, tcp({}))) == DropReason::kIpSpoof);
    }
    CHECK(guest.send(frame_from("::ffff:10.0.0.1")) == DropReason::kIpSpoof);  // never on a wire
}

TEST_CASE("where headers lie is reported, so that offloads can be held against it") {
    Guest guest;
    const auto plain = guest.guard.judge(guest.rules, frame_from("10.0.0.1"), 0);
    CHECK((plain.ip_at == 14 && plain.upper_at == 34 && plain.protocol == kUdp));
    const auto extended =
        guest.guard.judge(guest.rules, frame_from("fd00::1", 60, extension(kTcp) + tcp(pattern(8))), 0);
    CHECK((extended.ip_at == 14 && extended.upper_at == 62 && extended.protocol == kTcp));
    const auto tag = guest.guard.judge(guest.rules, tagged(frame_from("10.0.0.1"), 0), 0);
    CHECK((tag.ip_at == 18 && tag.upper_at == 38));
}

TEST_CASE("without an address a guest may ask a DHCP server and join groups, and do nothing else") {
    Guest guest;
    CHECK(guest.send(dhcp_ask("0.0.0.0", 1)) == kAccepted);
    CHECK(guest.send(frame_from("0.0.0.0", 2, FrameBytes(8))) == kAccepted);  // IGMP
    CHECK(guest.send(frame_from("0.0.0.0", kUdp, udp_between(68, 69, {}))) == DropReason::kIpSpoof);
    CHECK(guest.send(fragment4("0.0.0.0", kUdp, udp_between(68, 67, {}), 0x0001)) == DropReason::kIpSpoof);
    for (const std::uint8_t type : FrameBytes{131, 132, 143}) {  // MLD
        CHECK(guest.send(frame_from("::", kIcmp6, FrameBytes{type} + FrameBytes(23))) == kAccepted);
    }
    CHECK(guest.send(frame_from("::", kIcmp6, FrameBytes{128} + FrameBytes(23))) == DropReason::kIpSpoof);
}

TEST_CASE("ARP names the guest's own addresses as the sender") {
    Guest guest;
    CHECK(guest.send(arp_from(mac(1), "10.0.0.1", "10.0.0.2")) == kAccepted);
    CHECK(guest.send(arp_from(mac(1), "10.0.0.1", "10.0.0.1")) == kAccepted);  // announcement
    CHECK(guest.send(arp_from(mac(1), "10.0.0.1", "10.0.0.2", 2)) == kAccepted);
    CHECK(guest.send(arp_from(mac(1), "10.0.0.2", "10.0.0.1", 2)) == DropReason::kArpSpoof);
    CHECK(guest.send(arp_from(mac(1), "10.0.0.2", "10.0.0.2")) == DropReason::kArpSpoof);
    CHECK(guest.send(arp_from(mac(2), "10.0.0.1", "10.0.0.2", 2)) == DropReason::kArpSpoof);
    SECTION("a probe claims the address that it asks for") {
        CHECK(guest.send(arp_from(mac(1), "0.0.0.0", "10.0.0.1")) == kAccepted);
        CHECK(guest.send(arp_from(mac(1), "0.0.0.0", "10.0.0.2")) == DropReason::kArpSpoof);
        CHECK(guest.send(arp_from(mac(1), "0.0.0.0", "10.0.0.1", 2)) == DropReason::kArpSpoof);
    }
    SECTION("of reverse ARP, the request that announces a guest after its migration") {
        CHECK(guest.send(arp_from(mac(1), "0.0.0.0", "0.0.0.0", 3, 0x8035)) == kAccepted);
        CHECK(guest.send(arp_from(mac(2), "0.0.0.0", "0.0.0.0", 3, 0x8035)) == DropReason::kArpSpoof);
        CHECK(guest.send(arp_from(mac(1), "10.0.0.1", "10.0.0.2", 4, 0x8035)) == DropReason::kUnreadable);
    }
}

TEST_CASE("ARP of other lengths, types or operations is unreadable") {
    Guest guest;
    const FrameBytes good = arp_from(mac(1), "10.0.0.1", "10.0.0.2");
    for (const std::size_t at : {14U, 15U, 16U, 17U, 18U, 19U, 20U}) {
        FrameBytes odd = good;
        odd[at] = static_cast<std::uint8_t>(odd[at] ^ 0x04);
        INFO(at);
        CHECK(guest.send(odd) == DropReason::kUnreadable);
    }
    for (const std::uint16_t operation : std::vector<std::uint16_t>{0, 3, 8, 9})
        CHECK(guest.send(arp_from(mac(1), "10.0.0.1", "10.0.0.2", operation)) == DropReason::kUnreadable);
    for (std::size_t bytes = 14; bytes < good.size(); ++bytes)
        CHECK(guest.send_cut(good, bytes) == DropReason::kUnreadable);
}

TEST_CASE("a solicitation comes from the guest's address, or claims one of them") {
    Guest guest;
    const FrameBytes own_link = link_option(1, mac(1));
    CHECK(guest.send(neighbor_frame(kLinkLocal, kNeighborSolicitation, "fe80::fe", own_link)) == kAccepted);
    CHECK(guest.send(neighbor_frame("fd00::1", kNeighborSolicitation, "fd00::2", own_link)) == kAccepted);
    CHECK(guest.send(neighbor_frame("::", kNeighborSolicitation, "fd00::1", {})) == kAccepted);
    CHECK(guest.send(neighbor_frame("::", kNeighborSolicitation, kLinkLocal, {})) == kAccepted);
    CHECK(guest.send(neighbor_frame("::", kRouterSolicitation, "", {})) == kAccepted);
    CHECK(guest.send(neighbor_frame(kLinkLocal, kRouterSolicitation, "", own_link)) == kAccepted);
    const auto refused = [&](const FrameBytes& frame) { return guest.send(frame) == DropReason::kNdSpoof; };
    CHECK(refused(neighbor_frame("fe80::fe", kNeighborSolicitation, "fd00::2", own_link)));
    CHECK(refused(neighbor_frame("::", kNeighborSolicitation, "fd00::2", {})));
    CHECK(refused(neighbor_frame("fd00::2", kRouterSolicitation, "", own_link)));
    CHECK(refused(neighbor_frame("fd00::1", kNeighborSolicitation, "fd00::2", link_option(1, mac(2)))));
}

TEST_CASE("an advertisement is about the guest's own address and link") {
    Guest guest;
    const FrameBytes own_link = link_option(2, mac(1));
    CHECK(guest.send(neighbor_frame("fd00::1", kNeighborAdvertisement, "fd00::1", own_link)) == kAccepted);
    CHECK(guest.send(neighbor_frame(kLinkLocal, kNeighborAdvertisement, "fd00:1::7", own_link)) == kAccepted);
    const auto refused = [&](const FrameBytes& frame) { return guest.send(frame) == DropReason::kNdSpoof; };
    CHECK(refused(neighbor_frame("fd00::1", kNeighborAdvertisement, "fd00::2", own_link)));
    CHECK(refused(neighbor_frame("fd00::1", kNeighborAdvertisement, "fe80::fe", own_link)));
    CHECK(refused(neighbor_frame("::", kNeighborAdvertisement, "fd00::1", own_link)));
    CHECK(refused(neighbor_frame("fe80::fe", kNeighborAdvertisement, "fd00::1", own_link)));
    CHECK(refused(neighbor_frame("fd00::1", kNeighborAdvertisement, "fd00::1", link_option(2, mac(2)))));
    CHECK(refused(neighbor_frame("fd00::1", kNeighborAdvertisement, "::ffff:10.0.0.1", own_link)));
}

TEST_CASE("every option of neighbor discovery is read") {
    Guest guest;
    const auto send = [&](const FrameBytes& options) {
        return guest.send(neighbor_frame("fd00::1", kNeighborAdvertisement, "fd00::1", options));
    };
    const FrameBytes other{14, 1, 0, 0, 0, 0, 0, 0};  // a nonce
    const FrameBytes lie = link_option(2, mac(2));
    CHECK(send(other + link_option(2, mac(1))) == kAccepted);
    CHECK(send(other + lie) == DropReason::kNdSpoof);
    CHECK(send(link_option(2, mac(1)) + lie) == DropReason::kNdSpoof);
    CHECK(send(FrameBytes{2, 0, 0, 0, 0, 0, 0, 0}) == DropReason::kNdSpoof);   // no length
    CHECK(send(FrameBytes{14, 2, 0, 0, 0, 0, 0, 0}) == DropReason::kNdSpoof);  // beyond the message
    CHECK(send(FrameBytes{2, 2} + mac_bytes(mac(1)) + FrameBytes(8)) == DropReason::kNdSpoof);  // too long
    CHECK(send(FrameBytes{2, 1, 0x52}) == DropReason::kNdSpoof);                                // cut
    FrameBytes many;
    for (int i = 0; i < 33; ++i)
        many = many + other;
    CHECK(send(many) == DropReason::kNdSpoof);
}

TEST_CASE("neighbor discovery must be whole in the first buffer") {
    Guest guest;
    const FrameBytes frame =
        neighbor_frame("fd00::1", kNeighborAdvertisement, "fd00::1", link_option(2, mac(1)));
    for (std::size_t bytes = 14; bytes < frame.size(); ++bytes)
        CHECK(guest.send_cut(frame, bytes) == DropReason::kUnreadable);
    FrameBytes padded = frame + FrameBytes(10);
    CHECK(guest.send(padded) == kAccepted);
    write16(padded, 18, 20);  // shorter than the message's fixed part
    CHECK(guest.send(padded) == DropReason::kUnreadable);
}

TEST_CASE("only a router advertises itself and redirects") {
    Guest guest;
    const FrameBytes own_link = link_option(1, mac(1));
    const FrameBytes advertisement = neighbor_frame(kLinkLocal, kRouterAdvertisement, "", own_link);
    const FrameBytes redirect =
        neighbor_frame(kLinkLocal, kRedirect, "fd00::9", ip_bytes("fd00::8") + link_option(2, mac(9)));
    CHECK(guest.send(advertisement) == DropReason::kRouterSpoof);
    CHECK(guest.send(redirect) == DropReason::kRouterSpoof);
    for (const auto& [type, refused] :
         {std::pair{5, DropReason::kRouterSpoof}, {9, DropReason::kRouterSpoof}, {8, kAccepted}}) {
        const FrameBytes icmp =
            frame_from("10.0.0.1", 1, FrameBytes{static_cast<std::uint8_t>(type), 0, 0, 0});
        CHECK(guest.send(icmp) == refused);
        CHECK(guest.send_cut(icmp, 34) == DropReason::kUnreadable);
    }
    SECTION("also of a guest with addresses that are not checked") {
        guest.rules = {};
        CHECK(guest.send(advertisement) == DropReason::kRouterSpoof);
        CHECK(guest.send(redirect) == DropReason::kRouterSpoof);
        CHECK(guest.send(frame_from("10.9.9.9")) == kAccepted);
        CHECK(guest.send(arp_from(mac(1), "10.9.9.9", "10.0.0.2")) == kAccepted);
    }
    SECTION("a router forwards packets of any source, and claims only its own addresses") {
        guest.rules.routes = true;
        CHECK(guest.send(advertisement) == kAccepted);
        CHECK(guest.send(redirect) == kAccepted);
        CHECK(guest.send(frame_from("192.0.2.1")) == kAccepted);
        CHECK(guest.send(frame_from("2001:db8::1")) == kAccepted);
        CHECK(guest.send(frame_from("2001:db8::1", kIcmp6, FrameBytes{128} + FrameBytes(7))) == kAccepted);
        CHECK(guest.send(neighbor_frame("fe80::fe", kRouterAdvertisement, "", own_link)) ==
              DropReason::kNdSpoof);
        CHECK(guest.send(neighbor_frame(kLinkLocal, kRouterAdvertisement, "", link_option(1, mac(2)))) ==
              DropReason::kNdSpoof);
        CHECK(guest.send(arp_from(mac(1), "10.0.0.2", "10.0.0.3", 2)) == DropReason::kArpSpoof);
    }
}

TEST_CASE("only a DHCP server sends what servers send") {
    Guest guest;
    const auto between = [](const char* from, std::uint16_t source, std::uint16_t destination) {
        return frame_from(from, kUdp, udp_between(source, destination, pattern(300)));
    };
    for (const auto& [source, destination] : {std::pair{67, 68}, {67, 67}, {67, 1000}, {1000, 68}})
        CHECK(guest.send(between("10.0.0.1", static_cast<std::uint16_t>(source),
                                 static_cast<std::uint16_t>(destination))) == DropReason::kDhcpSpoof);
    for (const auto& [source, destination] : {std::pair{547, 546}, {547, 547}, {1000, 546}})
        CHECK(guest.send(between("fd00::1", static_cast<std::uint16_t>(source),
                                 static_cast<std::uint16_t>(destination))) == DropReason::kDhcpSpoof);
    CHECK(guest.send(between("10.0.0.1", 68, 67)) == kAccepted);
    CHECK(guest.send(between(kLinkLocal, 546, 547)) == kAccepted);
    guest.rules.serves_dhcp = true;
    CHECK(guest.send(between("10.0.0.1", 67, 68)) == kAccepted);
    CHECK(guest.send(between("fd00::1", 547, 546)) == kAccepted);
    CHECK(guest.send(between("10.0.0.2", 67, 68)) == DropReason::kIpSpoof);
}

TEST_CASE("extension headers hide nothing") {
    Guest guest;
    const auto send = [&](std::uint8_t next, const FrameBytes& content) {
        return guest.send(frame_from(kLinkLocal, next, content));
    };
    for (const std::uint8_t header : FrameBytes{0, 43, 60, 135, 139, 140}) {
        INFO(int{header});
        CHECK(send(header, extension(kIcmp6) + kAdvertisement) == DropReason::kRouterSpoof);
        CHECK(send(header, extension(kIcmp6, 3) + kAdvertisement) == DropReason::kRouterSpoof);
        CHECK(send(header, extension(kUdp) + udp_between(547, 546, {})) == DropReason::kDhcpSpoof);
        CHECK(send(header, extension(kTcp) + tcp({})) == kAccepted);
    }
    CHECK(send(0, extension(43) + extension(60) + extension(kIcmp6) + kAdvertisement) ==
          DropReason::kRouterSpoof);
    SECTION("eight at most, and none that is cut") {
        FrameBytes chain;
        for (int i = 0; i < 7; ++i)
            chain = chain + extension(60);
        CHECK(send(60, chain + extension(kTcp) + tcp({})) == kAccepted);
        CHECK(send(60, chain + extension(60) + extension(kTcp) + tcp({})) == DropReason::kUnreadable);
        CHECK(send(60, chain + tcp({})) == DropReason::kUnreadable);
        CHECK(send(60, FrameBytes{kIcmp6, 200} + FrameBytes(6) + kAdvertisement) == DropReason::kUnreadable);
        CHECK(send(60, FrameBytes{kIcmp6, 0, 0}) == DropReason::kUnreadable);
        CHECK(send(60, {}) == DropReason::kUnreadable);
        CHECK(send(kIcmp6, FrameBytes{134}) == DropReason::kUnreadable);
    }
    SECTION("nor does what lies beyond the first buffer") {
        const FrameBytes frame = frame_from(kLinkLocal, 60, extension(kIcmp6, 3) + kAdvertisement);
        for (std::size_t bytes = 14; bytes < 14 + 40 + 32 + 4; ++bytes)
            CHECK(guest.send_cut(frame, bytes) == DropReason::kUnreadable);
        CHECK(guest.send_cut(frame, 14 + 40 + 32 + 4) == DropReason::kRouterSpoof);
    }
}

TEST_CASE("fragments hide nothing") {
    Guest guest;
    const auto send = [&](const FrameBytes& content) {
        return guest.send(frame_from(kLinkLocal, 44, content));
    };
    constexpr std::uint16_t kMore = 1;
    constexpr std::uint16_t kLater = 8;
    for (const std::uint16_t part : {std::uint16_t{0}, kMore}) {  // atomic and first
        CHECK(send(fragment(kIcmp6, part) + kAdvertisement) == DropReason::kRouterSpoof);
        CHECK(send(fragment(kUdp, part) + udp_between(547, 546, {})) == DropReason::kDhcpSpoof);
        CHECK(send(fragment(kUdp, part) + udp_between(5, 6, {})) == kAccepted);
        CHECK(send(fragment(kIcmp6, part) + neighbor_message(kNeighborSolicitation, "fd00::2", {})) ==
              DropReason::kUnreadable);
        CHECK(send(fragment(kUdp, part) + FrameBytes(7)) == DropReason::kUnreadable);
        CHECK(send(fragment(60, part) + extension(kTcp) + tcp({})) == DropReason::kUnreadable);
        CHECK(send(fragment(44, part) + fragment(kIcmp6, part) + kAdvertisement) == DropReason::kUnreadable);
    }
    CHECK(send(fragment(kIcmp6, kLater) + kAdvertisement) == kAccepted);  // its first part was judged
    CHECK(guest.send(frame_from("fd00::2", 44, fragment(kUdp, kLater) + pattern(16))) ==
          DropReason::kIpSpoof);
    SECTION("of IPv4") {
        constexpr std::uint16_t kMore4 = 0x2000;
        CHECK(guest.send(fragment4("10.0.0.1", kUdp, udp_between(67, 68, {}), kMore4)) ==
              DropReason::kDhcpSpoof);
        CHECK(guest.send(fragment4("10.0.0.1", kUdp, pattern(16), 2)) == kAccepted);
        CHECK(guest.send(fragment4("10.0.0.2", kUdp, pattern(16), 2)) == DropReason::kIpSpoof);
        FrameBytes tiny = fragment4("10.0.0.1", kUdp, udp_between(5, 6, {}), kMore4);
        write16(tiny, 16, 27);  // ports lie in the packet, by its length the header does not
        CHECK(guest.send(tiny) == DropReason::kUnreadable);
    }
}

TEST_CASE("what is neither IP nor ARP, or cut, is unreadable") {
    Guest guest;
    for (const std::uint16_t type :
         std::vector<std::uint16_t>{0x0000, 0x0040, 0x05DC, 0x0600, 0x8847, 0x8863, 0x9100, 0x88A8})
        CHECK(guest.send(ethernet(mac(2), mac(1), type, pattern(46))) == DropReason::kUnreadable);
    CHECK(guest.send(tagged(frame_from("10.0.0.2"), 0)) == DropReason::kIpSpoof);
    CHECK(guest.send(tagged(tagged(frame_from("10.0.0.1"), 0), 0)) == DropReason::kUnreadable);
    const FrameBytes options = frame_from("10.0.0.1");
    for (std::size_t bytes = 0; bytes < 14 + 20 + 8; ++bytes)
        CHECK(guest.send_cut(options, bytes) == DropReason::kUnreadable);
    CHECK(guest.send_cut(options, 14 + 20 + 8) == kAccepted);
    for (const std::uint8_t head : FrameBytes{0x44, 0x4F, 0x55, 0x65, 0x05}) {
        FrameBytes odd = frame_from("10.0.0.1", kTcp, tcp({}));
        odd[14] = head;
        CHECK(guest.send(odd) == DropReason::kUnreadable);
    }
    FrameBytes six = frame_from("fd00::1");
    six[14] = 0x45;
    CHECK(guest.send(six) == DropReason::kUnreadable);
}

TEST_CASE("IPv4 options do not hide the ports of a server") {
    Guest guest;
    FrameBytes packet = ip_from("10.0.0.1", kUdp, FrameBytes(4) + udp_between(67, 68, {}));
    packet[0] = 0x46;
    CHECK(guest.send(frame_of(packet)) == DropReason::kDhcpSpoof);
}

TEST_CASE("random frames never pass with a foreign source") {
    Guest guest;
    std::mt19937 random(GENERATE(1U, 2U, 3U, 4U));
    std::vector<FrameBytes> seeds{
        frame_from("10.0.0.1"),
        frame_from("fd00::1", 60, extension(kUdp) + udp(pattern(20))),
        frame_from(kLinkLocal, 44, fragment(kTcp, 0) + tcp({})),
        arp_from(mac(1), "10.0.0.1", "10.0.0.2"),
        neighbor_frame("fd00::1", kNeighborAdvertisement, "fd00::1", link_option(2, mac(1))),
        neighbor_frame("::", kNeighborSolicitation, "fd00::1", {}),
        dhcp_ask("0.0.0.0", 1)};
    const auto own = [&](const FrameBytes& frame, std::size_t at, bool v6) {
        IpAddress address{.v6 = v6};
        std::copy_n(frame.begin() + static_cast<std::ptrdiff_t>(at), v6 ? 16 : 4, address.bytes.begin());
        const auto in = [&](const char* text) { return IpNetwork::parse(text)->contains(address); };
        return in("10.0.0.1") || in("10.1.0.0/16") || in("fd00::1") || in("fd00:1::/64") || in(kLinkLocal) ||
               in("0.0.0.0") || in("::");
    };
    unsigned accepted = 0;
    for (int i = 0; i < 50'000; ++i) {
        FrameBytes frame = seeds[random() % seeds.size()];
        for (unsigned changes = random() % 4; changes != 0; --changes)
            frame[12 + random() % (frame.size() - 12)] = static_cast<std::uint8_t>(random());
        if (random() % 8 == 0)
            frame.resize(random() % frame.size());
        if (guest.send(frame) != kAccepted)
            continue;
        ++accepted;
        const std::size_t ip = read16(frame, 12) == kVlan ? 18 : 14;
        const std::uint16_t type = read16(frame, ip - 2);
        if (type == kIpv4)
            REQUIRE(own(frame, ip + 12, false));
        else if (type == kIpv6)
            REQUIRE(own(frame, ip + 8, true));
        else
            REQUIRE(own(frame, ip + 14, false));
    }
    CHECK(accepted > 5'000);
}
