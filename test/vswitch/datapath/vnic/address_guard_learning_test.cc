// address_guard_learning_test.cc - addresses that a guest may use because a DHCP server or a router assigned
// them.
#include "test/support/catch.h"
#include "test/vswitch/datapath/vnic/guard_frames.h"
#include "vswitch/datapath/vnic/address_guard.h"

using namespace weir;
using namespace weir::testing;

namespace {

using From = LearnedAddress::From;
constexpr const char* kClientLink = "fe80::5054:ff:fe00:1";
constexpr DropReason kPasses = DropReason::kCount;

/// The guest mac(1), which has no address until it learns one.
struct Client {
    Client() {
        rules.checks_sources = true;
        rules.learns = true;
        rules.set_mac(mac(1));
    }
    void receive(const FrameBytes& frame) { guard.learn(rules, frame, now); }
    DropReason send(const FrameBytes& frame) { return guard.judge(rules, frame, now).refused; }
    bool may_use(const std::string& address) { return send(frame_from(address)) == kPasses; }
    void pass(std::uint64_t seconds) { now += seconds * kNanosPerSec; }

    AddressRules rules;
    AddressGuard guard;
    Nanos now = kNanosPerSec;
};

FrameBytes server_message(const FrameBytes& message) {
    return frame_of(ip_from("10.0.0.254", kUdp, udp_between(67, 68, message)), mac(0xFE), mac(1));
}
FrameBytes advertised(const FrameBytes& options) {
    return neighbor_frame("fe80::fe", kRouterAdvertisement, "", options);
}

}  // namespace

TEST_CASE("a client may use the address that a DHCP server assigned, until the lease ends") {
    Client client;
    CHECK_FALSE(client.may_use("10.0.0.7"));
    client.receive(dhcp_ack(mac(1), "10.0.0.7", 3600));
    CHECK(client.may_use("10.0.0.7"));
    CHECK_FALSE(client.may_use("10.0.0.8"));
    CHECK(client.send(arp_from(mac(1), "0.0.0.0", "10.0.0.7")) == kPasses);
    CHECK(client.guard.learned()[0].from == From::kDhcp);
    client.pass(3599);
    CHECK(client.may_use("10.0.0.7"));
    client.pass(1);
    CHECK_FALSE(client.may_use("10.0.0.7"));
}

TEST_CASE(
    "a renewed lease lasts longer, another address replaces the first, an infinite lease does not end") {
    Client client;
    client.receive(dhcp_ack(mac(1), "10.0.0.7", 100));
    client.pass(50);
    client.receive(dhcp_ack(mac(1), "10.0.0.7", 100));
    client.pass(99);
    CHECK(client.may_use("10.0.0.7"));
    client.receive(dhcp_ack(mac(1), "10.0.0.9", 0xFFFF'FFFF));
    CHECK_FALSE(client.may_use("10.0.0.7"));
    CHECK(client.guard.learned()[0].until == kNever);
    client.pass(5'000'000'000);
    CHECK(client.may_use("10.0.0.9"));
}

TEST_CASE("only an ACK of a server to this guest assigns an address") {
    Client client;
    const FrameBytes lease = lease_option(3600);
    client.receive(dhcp_ack(mac(2), "10.0.0.7", 3600));                      // another's
    client.receive(server_message(dhcp(2, 2, mac(1), "10.0.0.7", lease)));   // an offer
    client.receive(server_message(dhcp(1, 5, mac(1), "10.0.0.7", lease)));   // no reply
    client.receive(server_message(dhcp(2, 5, mac(1), "10.0.0.7")));          // no lease
    client.receive(server_message(dhcp(2, 5, mac(1), "0.0.0.0", lease)));    // no address
    client.receive(server_message(dhcp(2, 5, mac(1), "224.0.0.7", lease)));  // no host's
    client.receive(server_message(dhcp(2, 5, mac(1), "10.0.0.7", lease + FrameBytes{53, 1, 5})));  // twice
    client.receive(server_message(dhcp(2, 5, mac(1), "10.0.0.7", lease + lease)));
    client.receive(server_message(dhcp(2, 5, mac(1), "10.0.0.7", lease + FrameBytes{52, 1, 3})));
    client.receive(server_message(dhcp(2, 5, mac(1), "10.0.0.7", lease + FrameBytes{12, 250, 'a'})));
    client.receive(
        frame_of(ip_from("10.0.0.254", kUdp, udp_between(1067, 68, dhcp(2, 5, mac(1), "10.0.0.7", lease)))));
    FrameBytes part = dhcp_ack(mac(1), "10.0.0.7", 3600);
    write16(part, 20, 0x2000);
    client.receive(part);
    CHECK(client.guard.learned()[0].from == From::kNone);
    const FrameBytes good = dhcp_ack(mac(1), "10.0.0.7", 3600);
    for (std::size_t bytes = 0; bytes < good.size() - 1; ++bytes) {
        client.receive(FrameBytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(bytes)));
        REQUIRE(client.guard.learned()[0].from == From::kNone);
    }
    client.receive(good + FrameBytes(20));
    CHECK(client.may_use("10.0.0.7"));
}

TEST_CASE("what may end the lease at the server ends it here") {
    Client client;
    const auto renewed = [&] {
        client.receive(dhcp_ack(mac(1), "10.0.0.7", 3600));
        return client.may_use("10.0.0.7");
    };
    REQUIRE(renewed());
    for (const std::uint8_t keeps : FrameBytes{1, 3, 8}) {
        CHECK(client.send(dhcp_ask("10.0.0.7", keeps)) == kPasses);
        CHECK(client.may_use("10.0.0.7"));
    }
    for (const std::uint8_t ends : FrameBytes{4, 7, 0, 99}) {
        CHECK(client.send(dhcp_ask("10.0.0.7", ends)) == kPasses);
        CHECK_FALSE(client.may_use("10.0.0.7"));
        CHECK(renewed());
    }
    SECTION("also in a message that could be read in two ways") {
        const FrameBytes twice = dhcp(1, 3, mac(1), "0.0.0.0", FrameBytes{53, 1, 7});
        CHECK(client.send(frame_from("10.0.0.7", kUdp, udp_between(68, 67, twice))) == kPasses);
        CHECK_FALSE(client.may_use("10.0.0.7"));
    }
    SECTION("also from another port") {
        CHECK(client.send(frame_from("10.0.0.7", kUdp, udp_between(99, 67, {}))) == kPasses);
        CHECK_FALSE(client.may_use("10.0.0.7"));
    }
    SECTION("and a server's NAK does") {
        client.receive(server_message(dhcp(2, 6, mac(1), "0.0.0.0")));
        CHECK_FALSE(client.may_use("10.0.0.7"));
    }
    SECTION("but not what was refused itself") {
        CHECK(client.send(dhcp_ask("10.0.0.8", 7)) == DropReason::kIpSpoof);
        CHECK(client.may_use("10.0.0.7"));
    }
}

TEST_CASE("a client may use the address of a DHCPv6 reply to its own address") {
    Client client;
    client.receive(dhcp6_reply("fe80::5054:ff:fe00:2", "fd00::7", 600));
    client.receive(dhcp6_reply(kClientLink, "fd00::7", 600, 2));  // an advertisement
    client.receive(dhcp6_reply(kClientLink, "ff02::1", 600));
    CHECK_FALSE(client.may_use("fd00::7"));
    const FrameBytes good = dhcp6_reply(kClientLink, "fd00::7", 600);
    for (std::size_t bytes = 0; bytes < good.size(); ++bytes) {
        client.receive(FrameBytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(bytes)));
        REQUIRE_FALSE(client.may_use("fd00::7"));
    }
    client.receive(good);
    CHECK(client.may_use("fd00::7"));
    CHECK(client.guard.learned()[1].from == From::kDhcp6);
    SECTION("until it is no longer valid") {
        client.pass(600);
        CHECK_FALSE(client.may_use("fd00::7"));
    }
    SECTION("or a reply ends it") {
        client.receive(dhcp6_reply(kClientLink, "fd00::7", 0));
        CHECK_FALSE(client.may_use("fd00::7"));
    }
    SECTION("or the client releases it") {
        const auto ask = [&](std::uint8_t type) {
            return client.send(
                frame_from(kClientLink, kUdp, udp_between(546, 547, FrameBytes{type, 0, 0, 9})));
        };
        CHECK(ask(5) == kPasses);
        CHECK(client.may_use("fd00::7"));
        CHECK(ask(8) == kPasses);
        CHECK_FALSE(client.may_use("fd00::7"));
    }
}

TEST_CASE("of an advertised prefix a client may use the address derived from its MAC address") {
    Client client;
    client.receive(advertised(prefix_option("fd00:1::", 600)));
    CHECK(client.may_use("fd00:1::5054:ff:fe00:1"));
    CHECK_FALSE(client.may_use("fd00:1::5054:ff:fe00:2"));
    CHECK_FALSE(client.may_use("fd00:1::7"));
    client.pass(599);
    client.receive(advertised(prefix_option("fd00:1::", 600)));
    client.pass(599);
    CHECK(client.may_use("fd00:1::5054:ff:fe00:1"));
    client.receive(advertised(prefix_option("fd00:1::", 0)));
    CHECK_FALSE(client.may_use("fd00:1::5054:ff:fe00:1"));
}

TEST_CASE("two prefixes are learned, others when one of them has ended") {
    Client client;
    client.receive(advertised(prefix_option("fd00:1::", 600) + prefix_option("fd00:2::", 900) +
                              prefix_option("fd00:3::", 900)));
    CHECK(client.may_use("fd00:1::5054:ff:fe00:1"));
    CHECK(client.may_use("fd00:2::5054:ff:fe00:1"));
    CHECK_FALSE(client.may_use("fd00:3::5054:ff:fe00:1"));
    client.pass(600);
    client.receive(advertised(prefix_option("fd00:3::", 900)));
    CHECK(client.may_use("fd00:3::5054:ff:fe00:1"));
    CHECK_FALSE(client.may_use("fd00:1::5054:ff:fe00:1"));
}

TEST_CASE("a prefix that is not for addresses of hosts is not learned") {
    Client client;
    const FrameBytes before = link_option(1, mac(0xFE));
    client.receive(advertised(prefix_option("fd00:1::", 600, 0x80)));      // on the link alone
    client.receive(advertised(prefix_option("fd00:1::", 600, 0xC0, 48)));  // no room for 64 bits
    client.receive(advertised(prefix_option("fe80::", 600)));
    client.receive(advertised(prefix_option("ff02::", 600)));
    client.receive(advertised(FrameBytes(8) + prefix_option("fd00:1::", 600)));  // an option of length 0
    FrameBytes far = advertised(prefix_option("fd00:1::", 600));
    far[21] = 64;  // hops: from beyond the link
    client.receive(far);
    for (const LearnedAddress& learned : client.guard.learned())
        CHECK(learned.from == From::kNone);
    client.receive(advertised(before + prefix_option("fd00:1::", 600)));
    CHECK(client.may_use("fd00:1::5054:ff:fe00:1"));
}

TEST_CASE("a guest whose lease the guard does not know may renew it, and the ACK makes it known") {
    Client client;
    const FrameBytes renewal = [] {
        FrameBytes message = dhcp(1, 3, mac(1), "0.0.0.0");
        std::ranges::copy(ip_bytes("10.0.0.7"), message.begin() + 12);  // ciaddr
        return message;
    }();
    const auto sent = [&](const FrameBytes& message, const char* source, std::uint16_t from = 68,
                          std::uint16_t to = 67) {
        return client.send(frame_from(source, kUdp, udp_between(from, to, message)));
    };
    CHECK(sent(renewal, "10.0.0.7") == kPasses);
    CHECK_FALSE(client.may_use("10.0.0.7"));  // asking is not having
    CHECK(client.send(arp_from(mac(1), "10.0.0.7", "10.0.0.254")) == DropReason::kArpSpoof);
    SECTION("but not as another's, for another, or in another message") {
        CHECK(sent(renewal, "10.0.0.8") == DropReason::kIpSpoof);
        CHECK(sent(renewal, "10.0.0.7", 99) == DropReason::kIpSpoof);
        CHECK(sent(renewal, "10.0.0.7", 68, 99) == DropReason::kIpSpoof);
        for (const std::uint8_t type : FrameBytes{1, 2, 4, 5, 7, 8}) {
            FrameBytes other = renewal;
            other[242] = type;
            CHECK(sent(other, "10.0.0.7") != kPasses);
        }
        FrameBytes other = renewal;
        other[28 + 5] ^= 0xFF;  // chaddr
        CHECK(sent(other, "10.0.0.7") == DropReason::kIpSpoof);
        other = renewal;
        other[24] = 10;  // giaddr: a relay's
        CHECK(sent(other, "10.0.0.7") == DropReason::kIpSpoof);
        FrameBytes part = frame_from("10.0.0.7", kUdp, udp_between(68, 67, renewal));
        write16(part, 20, 0x2000);
        CHECK(client.send(part) == DropReason::kIpSpoof);
        const FrameBytes whole = frame_from("10.0.0.7", kUdp, udp_between(68, 67, renewal));
        for (std::size_t bytes = 42; bytes < whole.size(); ++bytes)
            REQUIRE(client.send(FrameBytes(whole.begin(),
                                           whole.begin() + static_cast<std::ptrdiff_t>(bytes))) != kPasses);
        client.rules.learns = false;
        CHECK(sent(renewal, "10.0.0.7") == DropReason::kIpSpoof);
    }
    SECTION("and is answered") {
        client.receive(dhcp_ack(mac(1), "10.0.0.7", 60));
        CHECK(client.may_use("10.0.0.7"));
        client.receive(server_message(dhcp(2, 6, mac(1), "0.0.0.0")));  // a NAK
        CHECK_FALSE(client.may_use("10.0.0.7"));
    }
}

TEST_CASE("a restored guard knows what the one before had learned, until it ends, and nothing else") {
    Client before;
    before.receive(dhcp_ack(mac(1), "10.0.0.7", 60));
    before.receive(dhcp6_reply(kClientLink, "fd00::7", 90));
    before.receive(advertised(prefix_option("fd00:1::", 600) + prefix_option("fd00:2::", 30)));
    Client client;
    const LearnedAddresses learned = before.guard.learned();
    client.guard.restore(client.rules, learned);
    CHECK((client.guard.learned() == learned));
    for (const char* own : {"10.0.0.7", "fd00::7", "fd00:1::5054:ff:fe00:1", "fd00:2::5054:ff:fe00:1"})
        CHECK(client.may_use(own));
    client.pass(30);
    CHECK_FALSE(client.may_use("fd00:2::5054:ff:fe00:1"));
    client.pass(30);
    CHECK_FALSE(client.may_use("10.0.0.7"));
    CHECK(client.may_use("fd00::7"));
    SECTION("not with another MAC address, as far as the addresses are derived from it") {
        Client other;
        other.rules.set_mac(mac(2));
        other.guard.restore(other.rules, learned);
        CHECK_FALSE(other.guard.learned()[2].from == From::kRouter);
    }
    SECTION("not of a kind that cannot be") {
        Client other;
        std::array<LearnedAddress, 4> wrong{learned[0], learned[1], learned[2], learned[2]};
        wrong[0].from = From::kDhcp6;
        wrong[1].from = From::kDhcp;
        wrong[2].from = From::kNone;
        wrong[3].address = IpAddress::parse("fe80::5054:ff:fe00:1").value();
        other.guard.restore(other.rules, wrong);
        CHECK((other.guard.learned() == LearnedAddresses{}));
    }
    SECTION("not without the role") {
        Client other;
        other.rules.learns = false;
        other.guard.restore(other.rules, learned);
        CHECK((other.guard.learned() == LearnedAddresses{}));
    }
}

TEST_CASE("what was learned is forgotten together") {
    Client client;
    client.receive(dhcp_ack(mac(1), "10.0.0.7", 3600));
    client.receive(advertised(prefix_option("fd00:1::", 600)));
    client.guard.forget();
    CHECK_FALSE(client.may_use("10.0.0.7"));
    CHECK_FALSE(client.may_use("fd00:1::5054:ff:fe00:1"));
    CHECK(client.may_use(kClientLink));
}
