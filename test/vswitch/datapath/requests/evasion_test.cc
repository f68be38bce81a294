// evasion_test.cc - in every shape of packets that a guest can choose, its appliance works for no more tokens
// than were sold to the guest, and a guest that never slows down gets all of them.
//
// Each shape offers about nine times the limit through a whole switch to a model of a real server, which
// counts the bytes of the requests that its application read, and of its answers.
#include <rte_mbuf.h>

#include <functional>
#include <string>

#include "cost_functions/protocols/registry.h"
#include "test/support/amounts.h"
#include "test/support/catch.h"
#include "test/vswitch/datapath/loop/switch_harness.h"
#include "test/vswitch/datapath/requests/real_server.h"

using namespace weir;
using namespace weir::testing;

namespace {

constexpr std::uint64_t kSold = 200'000;  // tokens per second
constexpr std::uint64_t kOfferedPerMs = 9 * kSold / 1000;
constexpr std::uint8_t kSynBit = 0x02;
constexpr std::uint8_t kRstBit = 0x04;
constexpr std::size_t kFull = 1400;
const FrameBytes kClientIp6{0xFD, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
const FrameBytes kServerIp6{0xFD, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9};

/// Headers around a TCP segment.
enum class Wrap {
    kIp4,
    kIp4Options,
    kIp4Fragments,
    kIp6,
    kHopByHop,
    kDestination,
    kRouting,
    kMany,  ///< destination options, eight times
    kAtomic,
    kIp6Fragments,
    kPriorityTag,
    kTcpOptions
};
constexpr bool is_ip6(Wrap wrap) {
    return wrap >= Wrap::kIp6 && wrap <= Wrap::kIp6Fragments;
}

struct Sent {
    std::uint16_t port;
    std::uint32_t seq;
    std::string payload;
    std::uint8_t flags = kAck;
    bool broken = false;
};

FrameBytes joined(FrameBytes a, const FrameBytes& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

FrameBytes ip4_to_server(const FrameBytes& content, bool to_server, std::uint16_t fragment = 0,
                         std::uint16_t id = 1, std::size_t options = 0) {
    FrameBytes packet = ipv4(kTcp, content, id);
    write16(packet, 6, fragment);
    write32(packet, 12, to_server ? 0x0A00'0001 : 0x0A00'0009);
    write32(packet, 16, to_server ? 0x0A00'0009 : 0x0A00'0001);
    packet.insert(packet.begin() + 20, options, 1);  // no operation
    packet[0] = static_cast<std::uint8_t>(0x45 + options / 4);
    write16(packet, 2, static_cast<std::uint16_t>(packet.size()));
    return packet;
}

FrameBytes ip6_to_server(const FrameBytes& content, bool to_server, std::uint8_t next = kTcp) {
    FrameBytes packet = ipv6(next, content);
    std::ranges::copy(to_server ? kClientIp6 : kServerIp6, packet.begin() + 8);
    std::ranges::copy(to_server ? kServerIp6 : kClientIp6, packet.begin() + 24);
    return packet;
}

/// An options header of 8 bytes before `content`.
FrameBytes behind_options(std::uint8_t next, const FrameBytes& content) {
    return joined({next, 0, 1, 4, 0, 0, 0, 0}, content);
}

FrameBytes behind_fragment(std::uint16_t offset_and_more, std::uint8_t id, const FrameBytes& content) {
    FrameBytes header{kTcp, 0, 0, 0, 0, 0, 0, id};
    write16(header, 2, offset_and_more);
    return joined(header, content);
}

std::vector<FrameBytes> wrapped(Wrap wrap, const FrameBytes& segment, std::uint16_t id) {
    const auto cut = static_cast<std::uint16_t>(std::min<std::size_t>(512, segment.size() / 16 * 8));
    const FrameBytes head(segment.begin(), segment.begin() + cut);
    const FrameBytes tail(segment.begin() + cut, segment.end());
    std::vector<FrameBytes> packets;
    switch (wrap) {
        case Wrap::kIp4:
        case Wrap::kPriorityTag:
        case Wrap::kTcpOptions:
            packets = {ip4_to_server(segment, true)};
            break;
        case Wrap::kIp4Options:
            packets = {ip4_to_server(segment, true, 0, 1, 40)};
            break;
        case Wrap::kIp4Fragments:
            packets = {ip4_to_server(head, true, 0x2000, id), ip4_to_server(tail, true, cut / 8, id)};
            break;
        case Wrap::kIp6:
            packets = {ip6_to_server(segment, true)};
            break;
        case Wrap::kHopByHop:
            packets = {ip6_to_server(behind_options(kTcp, segment), true, 0)};
            break;
        case Wrap::kDestination:
            packets = {ip6_to_server(behind_options(kTcp, segment), true, 60)};
            break;
        case Wrap::kRouting:
            packets = {ip6_to_server(joined({kTcp, 0, 4, 0, 0, 0, 0, 0}, segment), true, 43)};
            break;
        case Wrap::kMany: {
            FrameBytes content = behind_options(kTcp, segment);
            for (unsigned more = 0; more < 7; ++more)
                content = behind_options(60, content);
            packets = {ip6_to_server(content, true, 60)};
            break;
        }
        case Wrap::kAtomic:
            packets = {ip6_to_server(behind_fragment(0, 1, segment), true, 44)};
            break;
        case Wrap::kIp6Fragments:
            packets = {ip6_to_server(behind_fragment(1, static_cast<std::uint8_t>(id), head), true, 44),
                       ip6_to_server(behind_fragment(cut, static_cast<std::uint8_t>(id), tail), true, 44)};
            break;
    }
    std::vector<FrameBytes> frames;
    for (const FrameBytes& packet : packets) {
        const FrameBytes frame =
            ethernet(kFar, mac(1), is_ip6(wrap) ? weir::testing::kIpv6 : weir::testing::kIpv4, packet);
        frames.push_back(wrap == Wrap::kPriorityTag ? tagged(frame, 0) : frame);
    }
    return frames;
}

std::vector<Appliance> both_families() {
    std::vector<Appliance> all(2);
    for (Appliance& appliance : all) {
        appliance.port = RealServer::kPort;
        appliance.protocol = protocol_index("memcached").value();
        appliance.cost = std::make_shared<CostTable>();
    }
    all[0].address = {10, 0, 0, 9};
    all[1].ip6 = true;
    std::ranges::copy(kServerIp6, all[1].address.begin());
    return all;
}

SwitchConfig config_of_both() {
    SwitchConfig config;
    config.uplink.headroom = 0;
    for (const char* name : {"kv", "kv6"}) {
        config.appliances.emplace_back().name = name;
        config.appliances.back().port = RealServer::kPort;
    }
    return config;
}

VnicConfig hostile_vm() {
    VnicConfig config = vm(1);
    config.anti_spoofing = false;
    for (const char* name : {"kv", "kv6"}) {
        VnicApplianceConfig& part = config.appliances.emplace_back();
        part.name = name;
        part.limit_tokens = kSold;
        part.burst = 10 * kMs;
    }
    return config;
}

/// The hostile guest, its switch and the server.
class Arena {
  public:
    explicit Arena(Wrap wrap = Wrap::kIp4)
        : host(config_of_both(), &nic, both_families()), vnic(host.add(hostile_vm())), wrap_(wrap) {}

    void send(const Sent& sent) {
        FrameBytes segment = tcp({sent.payload.begin(), sent.payload.end()}, sent.seq, sent.flags);
        write16(segment, 0, sent.port);
        write16(segment, 2, RealServer::kPort);
        if (sent.broken)
            write16(segment, 16, RealServer::kBroken);
        if (wrap_ == Wrap::kTcpOptions) {
            segment.insert(segment.begin() + 20, 40, 1);  // no operation
            segment[12] = 15 << 4;
        }
        ++id_;
        for (const FrameBytes& frame : wrapped(wrap_, segment, id_))
            host.port(vnic).offered.push_back(to_mbuf(buffer_pool(), frame));
    }
    /// The handshake. @return the first byte's sequence number
    std::uint32_t open(std::uint16_t port, std::uint32_t seq) {
        for (unsigned tries = 0; tries < 1000 && server.expects(port) != seq + 1; ++tries) {
            send({port, seq, "", kSynBit});
            pass_ms();
        }
        send({port, seq + 1, ""});
        pass_ms();
        return seq + 1;
    }
    void pass_ms() {
        host.run(kMs, 100'000);
        for (rte_mbuf* frame : nic.take()) {
            server.receive(bytes_of(frame));
            rte_pktmbuf_free(frame);
        }
        for (const RealServer::Answer& answer : server.take_answers()) {
            const FrameBytes packet =
                answer.ip6 ? ip6_to_server(answer.segment, false) : ip4_to_server(answer.segment, false);
            nic.arrive(to_mbuf(
                buffer_pool(),
                ethernet(mac(1), kFar, answer.ip6 ? weir::testing::kIpv6 : weir::testing::kIpv4, packet)));
        }
        host.run(100'000, 50'000);
        (void)host.port(vnic).drain();
    }
    /// Lets the shape act every millisecond. @return tokens per second that the server spent, as a part of
    /// kSold, after a first second that does not count
    double spent(const std::function<void()>& act, unsigned seconds = 4) {
        Nanos began = 0;
        std::uint64_t before = 0;
        std::uint64_t passed_before = 0;
        for (unsigned ms = 0; ms < 1000 * (1 + seconds); ++ms) {
            if (ms == 1000) {
                began = host.now;
                before = server.tokens;
                passed_before = server.payload_bytes;
            }
            act();
            pass_ms();
        }
        const double sold = static_cast<double>(kSold) * static_cast<double>(host.now - began) / kNanosPerSec;
        passed = static_cast<double>(server.payload_bytes - passed_before) / sold;
        CHECK(balanced(host.stats(vnic).from_vm));
        return static_cast<double>(server.tokens - before) / sold;
    }

    RingNic nic{1, 4096};
    SwitchHarness host;
    VnicId vnic;
    RealServer server;
    double passed = 0;  ///< payload bytes per second that reached the server, as a part of kSold

  private:
    Wrap wrap_;
    std::uint16_t id_ = 0;
};

const std::string kUnit = "set k 0 0 1000\r\n" + std::string(1000, 'x') + "\r\n";

/// A client that sends as much as it can: unacknowledged bytes again and again, or (blind) never again.
struct Greedy {
    Arena& arena;
    std::uint16_t port;
    std::uint32_t first;
    std::uint32_t next = first;
    bool blind = false;
    std::uint64_t due = 0;

    std::string content(std::uint32_t at, std::size_t bytes) const {
        std::string text;
        for (std::size_t from = (at - first) % kUnit.size(); text.size() < bytes; from = 0)
            text += kUnit.substr(from, bytes - text.size());
        return text;
    }
    void operator()(std::uint64_t bytes = kOfferedPerMs) {
        for (due += bytes; due >= kFull; due -= kFull, next += kFull) {
            const std::uint32_t expected = arena.server.expects(port);
            if (!blind && next - expected > RealServer::kWindow - 2 * kFull)
                next = expected;
            arena.send({port, next, content(next, kFull)});
        }
    }
};

std::string gets(std::size_t size, unsigned count) {
    std::string text;
    while (count-- > 0)
        text += "get " + std::to_string(size) + "\r\n";
    return text;
}

constexpr double kSpentMost = 1.05;
constexpr double kSpentLeast = 0.95;

}  // namespace

TEST_CASE("evasion: a greedy client gets what was sold, in every wrapping that a server accepts", "[long]") {
    const auto wrap = GENERATE(Wrap::kIp4, Wrap::kIp4Options, Wrap::kIp6, Wrap::kHopByHop, Wrap::kDestination,
                               Wrap::kRouting, Wrap::kPriorityTag, Wrap::kTcpOptions);
    Arena arena(wrap);
    Greedy greedy{arena, 5000, arena.open(5000, 1'000'000)};
    const double spent = arena.spent([&] { greedy(); });
    INFO("wrap " << static_cast<int>(wrap) << ", reached the server: " << arena.passed);
    CHECK(spent <= kSpentMost);
    CHECK(spent >= kSpentLeast);
}

TEST_CASE("evasion: frames that the switch cannot read do not reach the appliance", "[long]") {
    const auto wrap = GENERATE(Wrap::kIp4Fragments, Wrap::kMany, Wrap::kAtomic, Wrap::kIp6Fragments);
    Arena arena(wrap);
    Greedy greedy{arena, 5000, arena.open(5000, 1'000'000)};
    INFO("wrap " << static_cast<int>(wrap));
    CHECK(arena.spent([&] { greedy(); }) <= kSpentMost);
}

TEST_CASE("evasion: a client that goes on without its dropped bytes gets what was sold to the wire") {
    Arena arena;
    Greedy greedy{arena, 5000, arena.open(5000, 1'000'000)};
    greedy.blind = true;
    (void)arena.spent([&] { greedy(); }, 20);
    CHECK(arena.passed <= kSpentMost);
    CHECK(arena.passed >= kSpentLeast);
}

TEST_CASE(
    "a request is charged for the headers of its address family: 54 bytes, 74 over IPv6, and 24 around") {
    const bool ip6 = GENERATE(false, true);
    Arena arena(ip6 ? Wrap::kIp6 : Wrap::kIp4);
    arena.send({5000, 1'000'000, kUnit});
    std::vector<RequestPath::Reading> readings;
    readings.reserve(limits::kAppliancesPerVnic);
    arena.pass_ms();
    arena.host.post(0, command::ReadRequests{arena.vnic, &readings});
    const auto uplink = static_cast<std::size_t>(PathResource::kUplink);
    CHECK(readings.at(ip6).stats.requests == 1);
    CHECK(readings.at(ip6).stats.used[uplink] == kUnit.size() + (ip6 ? 98 : 78));
    CHECK(readings.at(!ip6).stats.used[uplink] == 0);
}

TEST_CASE("evasion: many greedy connections together get what was sold") {
    Arena arena;
    std::vector<Greedy> clients;
    for (std::uint16_t port = 5000; port < 5016; ++port)
        clients.push_back({arena, port, arena.open(port, port * 1000U)});
    unsigned turn = 0;
    const double spent = arena.spent([&] { clients[turn++ % clients.size()](); });
    CHECK(spent <= kSpentMost);
    CHECK(spent >= kSpentLeast);
}

TEST_CASE("evasion: SYNs, RSTs and FINs that the server ignores", "[long]") {
    struct Noise {
        const char* name;
        Sent sent;
    };
    const Noise noise = GENERATE(
        Noise{"SYN far ahead", {5000, 1'000'000'000, "", kSynBit}},
        Noise{"SYN behind", {5000, 0U - 500'000, "", kSynBit}},
        Noise{"SYN with data", {5000, 1'000'000'000, "set k 0 0 1000000\r\n", kSynBit}},
        Noise{"SYN and ACK", {5000, 900'000'000, "", kSynBit | kAck}},
        Noise{"RST ahead", {5000, 5'000, "", kRstBit}},
        Noise{"RST with a broken checksum", {5000, 0, "", kRstBit, true}},
        Noise{"FIN with a broken checksum", {5000, 0, "", kFin | kAck, true}},
        Noise{"FIN far ahead", {5000, 1'000'000'000, "x", kFin | kAck}},
        Noise{"data far ahead", {5000, 500'000'000, "x"}},
        Noise{"data without ACK", {5000, 0, "set k 0 0 60000\r\n", 0}},
        Noise{"a larger request with a broken checksum", {5000, 0, "set k 0 0 60000\r\n", kAck, true}});
    Arena arena;
    Greedy greedy{arena, 5000, arena.open(5000, 1'000'000)};
    unsigned ms = 0;
    const double spent = arena.spent([&] {
        if (ms++ % 40 == 0)
            for (unsigned i = 0; i < (noise.sent.payload == "x" ? 300 : 1); ++i) {
                Sent sent = noise.sent;
                sent.seq += arena.server.expects(5000) + 10 * i;
                arena.send(sent);
            }
        greedy();
    });
    INFO(noise.name);
    CHECK(spent <= kSpentMost);
}

TEST_CASE("evasion: a port used again, with a lower or a higher sequence number", "[long]") {
    const std::uint32_t again = GENERATE(1'000U, 2'500'000'000U);
    Arena arena;
    (void)arena.open(5000, 1'000'000'000);
    arena.send({5000, 1'000'000'001, kUnit});
    arena.pass_ms();
    arena.server.forget(5000);
    Greedy greedy{arena, 5000, arena.open(5000, again)};
    const double spent = arena.spent([&] { greedy(); });
    INFO("again at " << again);
    CHECK(spent <= kSpentMost);
    CHECK(spent >= kSpentLeast);
}

TEST_CASE("evasion: a first copy that the server ignores, and another request in the same bytes", "[long]") {
    const std::string decoy = GENERATE(std::string("set k 0 0 50000\r\n"), std::string("get 1\r\n"),
                                       std::string("version\r\n"), std::string("set k 0 0 50000 noreply\r\n"),
                                       std::string("set k 0 0 50000\r\n") + std::string(1300, 'x'));
    Arena arena;
    std::uint32_t next = arena.open(5000, 1'000'000);
    const std::string real = gets(2000, 8);
    const double spent = arena.spent(
        [&] {
            const std::uint32_t expected = arena.server.expects(5000);
            if (expected == next) {
                arena.send({5000, next, decoy, kAck, true});
                next += static_cast<std::uint32_t>(real.size());
            }
            arena.send({5000, next - static_cast<std::uint32_t>(real.size()), real});
        },
        10);
    INFO(decoy.substr(0, 24));
    CHECK(spent <= kSpentMost);
}

TEST_CASE("evasion: bytes beyond a hole, twice and in another order") {
    const bool twice = GENERATE(false, true);
    Arena arena;
    std::uint32_t at = arena.open(5000, 1'000'000);
    const double spent = arena.spent(
        [&] {
            if (arena.server.expects(5000) != at)
                return;
            std::string block = gets(500, 300);
            const std::string other = "set k 0 0 40000 noreply\r\n" + std::string(block.size(), 'x');
            if (twice)
                for (std::size_t from = 1; from < block.size(); from += kFull)
                    arena.send({5000, at + static_cast<std::uint32_t>(from),
                                other.substr(from, std::min(kFull, block.size() - from)), kAck, true});
            for (std::size_t from = 1; from < block.size(); from += kFull)
                arena.send({5000, at + static_cast<std::uint32_t>(from), block.substr(from, kFull)});
            arena.send({5000, at, block.substr(0, 1)});
            at += static_cast<std::uint32_t>(block.size());
        },
        10);
    INFO((twice ? "twice" : "once"));
    CHECK(spent <= kSpentMost);
}

TEST_CASE("evasion: small values make large ones look cheap") {
    Arena arena;
    std::uint32_t next = arena.open(5000, 1'000'000);
    unsigned round = 0;
    std::uint64_t responses = 1;
    const double spent = arena.spent(
        [&] {
            if (arena.server.expects(5000) != next || arena.server.tokens == responses)
                return;
            responses = arena.server.tokens;
            const std::string text = round++ % 2 == 0 ? gets(1, 24) : gets(2000, 10);
            arena.send({5000, next, text});
            next += static_cast<std::uint32_t>(text.size());
        },
        10);
    CHECK(spent <= kSpentMost);
}

TEST_CASE("evasion: more requests outstanding than there are records") {
    Arena arena;
    std::uint32_t next = arena.open(5000, 1'000'000);
    const double spent = arena.spent(
        [&] {
            if (arena.server.expects(5000) != next)
                return;
            const std::string text = gets(20, 1000);
            for (std::size_t from = 0; from < text.size(); from += kFull)
                arena.send({5000, next + static_cast<std::uint32_t>(from), text.substr(from, kFull)});
            next += static_cast<std::uint32_t>(text.size());
        },
        10);
    CHECK(spent <= kSpentMost);
    CHECK(spent >= kSpentLeast);
}

TEST_CASE("evasion: responses that pass after the connection seems to have ended") {
    Arena arena;
    std::uint32_t next = arena.open(5000, 1'000'000);
    const double spent = arena.spent(
        [&] {
            if (arena.server.expects(5000) != next)
                return;
            arena.send({5000, next, gets(20'000, 1)});
            next += static_cast<std::uint32_t>(gets(20'000, 1).size());
            arena.send({5000, next + 70'000, "", kRstBit});
        },
        10);
    CHECK(spent <= kSpentMost);
}
