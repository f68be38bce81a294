// random_run.cc - RandomSwitch: acts by chance, and the sums that hold after each.
#include "test/vswitch/datapath/loop/random_run.h"

#include <rte_mbuf.h>

#include <algorithm>
#include <numeric>

#include "vswitch/datapath/frame/frame.h"

namespace weir::testing {
namespace {

constexpr std::uint16_t kPlanQueues = 2;
/// Frames of the wire that come at once: no more than its ring has.
constexpr unsigned kWireBurst = 48;
constexpr unsigned kRequestsBurst = 24;
constexpr unsigned kFinishTurns = 2000;
constexpr Nanos kFinishStep = 2'000'000;

bool may_be_split(const rte_mbuf* frame) {
    return (frame->ol_flags & RTE_MBUF_F_TX_TCP_SEG) != 0;
}

SwitchConfig drawn(RandomPlan& plan) {
    buffer_pool();
    return plan.switch_config();
}

}  // namespace

RandomSwitch::RandomSwitch(std::uint32_t seed, RingNic& nic)
    : plan_(seed),
      config_(drawn(plan_)),
      captured_(plan_.one_in(2)),
      nic_(nic),
      uplink_(!plan_.one_in(4)),
      tunnels_(uplink_ && plan_.one_in(2)),
      peers_(plan_, !config_.appliances.empty(), config_.workers.size()),
      host_(config_, uplink_ ? &nic : nullptr, peers_.appliances(),
            tunnels_ ? SwitchHarness::TunnelPart{RandomPeers::tunnel_ends(), RandomPeers::engines()}
                     : SwitchHarness::TunnelPart{}) {
    host_.prompt = true;
    for (const std::uint16_t vlan : {kPlanVlans[0], kPlanVlans[1], kPlanVlans[2], kForeignVlan}) {
        wire_parties_.push_back(oracle_.add({.name = "the wire", .vlan = vlan, .on_wire = true}));
        tunnel_parties_.push_back(
            oracle_.add({.name = "a tunnel", .vlan = vlan, .on_wire = true, .encrypted = true}));
    }
    for (unsigned n = 1; n <= kPlanVnics; ++n) {
        guests_[n].config = plan_.vnic(n, config_, tunnels_);
        if (!plan_.one_in(3))
            add(guests_[n]);
    }
}

std::optional<std::string> RandomSwitch::run(unsigned steps) {
    const auto judged = [this](const std::string& when) {
        check();
        if (!fault_)
            fault_ = oracle_.fault();
        return fault_ ? std::optional(when + ": " + *fault_) : std::nullopt;
    };
    for (unsigned step = 0; step < steps; ++step) {
        for (unsigned acts = 1 + plan_.pick(3); acts > 0; --acts)
            act();
        host_.turn();
        if (auto fault = judged("step " + std::to_string(step)))
            return fault;
    }
    finish();
    return judged("at the end");
}

void RandomSwitch::act() {
    Guest& guest = guests_[1 + plan_.pick(kPlanVnics)];
    const unsigned what = plan_.pick(100);
    if (what < 6)
        plan_.one_in(4) ? operate_host() : operate(guest);
    else if (what < 50 && guest.present)
        offer(guest);
    else if (what < 65 && uplink_)
        arrive();
    else if (what < 80 && guest.present)
        read(guest, plan_.one_in(3) ? plan_.pick(20) : SIZE_MAX);
    else if (what < 85)
        take_from_wire();
    else if (what < 87)
        relay_.run(host_.workers());
    else
        let_time_pass();
}

void RandomSwitch::operate(Guest& guest) {
    if (!guest.present) {
        guest.config = plan_.vnic(static_cast<unsigned>(&guest - guests_.data()), config_, tunnels_);
        return add(guest);
    }
    switch (plan_.pick(5)) {
        case 0:
        case 1:
            return remove(guest);
        case 2:
            host_.port(guest.id).attached = !host_.port(guest.id).attached;
            return;
        case 3:
            host_.port(guest.id).ring_frames = plan_.of<std::size_t>({1, 16, 256});
            return;
        default:
            plan_.change_promises(guest.config, config_);
            guest.quota = std::max(guest.quota, make_vnic_profile(guest.config, config_).buffers_max);
            host_.change(guest.id, guest.config);
    }
}

/// The link goes or comes back; the ends of a tunnel agree on keys.
void RandomSwitch::operate_host() {
    if (!tunnels_ || plan_.one_in(4))
        return nic_.set_link(!plan_.one_in(3));
    const auto tunnel = static_cast<TunnelId>(plan_.pick(RandomPeers::kTunnels));
    for (const auto& worker : host_.workers()) {
        host_.post(worker->id(), command::ReceiveSession{tunnel, &RandomPeers::session(tunnel)});
        host_.post(worker->id(), command::SendSession{tunnel, &RandomPeers::session(tunnel)});
    }
}

void RandomSwitch::add(Guest& guest) {
    const VnicConfig& config = guest.config;
    guest = {.present = true, .config = config, .quota = make_vnic_profile(config, config_).buffers_max};
    guest.party = oracle_.add(
        {.name = config.name,
         .vlan = config.vlan,
         .mac = config.mac->bits,
         .pinned = config.anti_spoofing,
         .encrypted = config.encrypt,
         .guarded = !config.addresses.empty(),
         .longest = (config.mtu != 0 ? config.mtu : config_.uplink.mtu) + limits::kEthernetHeaderBytes,
         .taken = {.checksum = config.checksum, .tso = config.tso}});
    guest.sent_whole = !config.encrypt;
    guest.client = {.address = RandomOracle::address_of(guest.party), .mac = config.mac->bits};
    for (VnicId id = 0; id < host_.ids() && guest.id == kNoVnic; ++id)
        if (!host_.has(id))
            host_.add_again(guest.id = id, config);
    if (guest.id == kNoVnic)
        guest.id = host_.add(config);
    host_.port(guest.id).taken = {.checksum = config.checksum, .tso = config.tso};
    host_.port(guest.id).leaves = true;
    if (RandomCapture* capture = capture_of(guest))
        capture->begin(host_, guest.id);
}

/// @return nullptr: none
RandomCapture* RandomSwitch::capture_of(const Guest& guest) {
    const auto number = static_cast<std::size_t>(&guest - guests_.data());
    return captured_ && number <= kCaptured ? &captures_[number - 1] : nullptr;
}

void RandomSwitch::remove(Guest& guest) {
    check_guest(guest);
    read(guest, SIZE_MAX);
    host_.remove(guest.id);
    if (RandomCapture* capture = capture_of(guest))
        capture->end(host_);
    guest.present = false;
}

void RandomSwitch::offer(Guest& guest) {
    const RandomPlan::Sender sender{guest.party, &oracle_.party(guest.party), guest.config.checksum};
    std::vector<rte_mbuf*> frames;
    if (plan_.one_in(6))
        frames.push_back(plan_.hostile(oracle_, sender));
    else if (!config_.appliances.empty() && plan_.one_in(3))
        for (unsigned i = 1 + plan_.pick(kRequestsBurst); i > 0; --i)
            frames.push_back(peers_.request(guest.client, plan_.one_in(4) ? plan_.address() : kFar));
    else
        frames = plan_.burst(oracle_, sender);
    guest.sent += frames.size();
    guest.sent_whole = guest.sent_whole && std::ranges::none_of(frames, may_be_split);
    FakePort& port = host_.port(guest.id);
    port.offered.insert(port.offered.end(), frames.begin(), frames.end());
}

/// A peer's frame that is no plain one of a host: a rate, an answer of the appliance, a frame in a tunnel.
/// @return nullptr: nothing  @param to the address that it is for
rte_mbuf* RandomSwitch::from_peers(PartyId party, std::uint64_t& to) {
    Guest& guest = guests_[1 + plan_.pick(kPlanVnics)];
    to = guest.config.mac->bits;
    if (oracle_.party(party).encrypted) {
        rte_mbuf* frame = plan_.from_wire(oracle_, party, to);
        return peers_.through_tunnel(frame, party ^ to >> 40);
    }
    if (!config_.appliances.empty() && plan_.one_in(2))
        return guest.present ? peers_.answer(guest.client) : nullptr;
    return peers_.feedback(to, guest.config.vlan, plan_.address());
}

/// A flow of the wire comes through one queue of the NIC.
void RandomSwitch::arrive() {
    const bool peers = plan_.one_in(3);
    const auto& parties = peers && tunnels_ && plan_.one_in(2) ? tunnel_parties_ : wire_parties_;
    const PartyId party = parties[plan_.pick(static_cast<unsigned>(parties.size()))];
    for (unsigned i = 1 + plan_.pick(kWireBurst); i > 0 && buffers_in_use() < kBuffers / 2; --i) {
        std::uint64_t to = 0;
        rte_mbuf* frame = peers ? from_peers(party, to) : plan_.from_wire(oracle_, party, to);
        if (frame == nullptr)
            continue;
        nic_.arrive(frame, static_cast<std::uint16_t>((party ^ to >> 40) % config_.workers.size()));
        ++arrived_wire_;
    }
    for (unsigned i = 0; i < 2; ++i)  // the NIC's ring is empty again
        host_.turn();
}

void RandomSwitch::read(Guest& guest, std::size_t most) {
    std::vector<rte_mbuf*>& received = host_.port(guest.id).received;
    const auto end = received.begin() + static_cast<std::ptrdiff_t>(std::min(most, received.size()));
    std::for_each(received.begin(), end, [&](rte_mbuf* frame) {
        guest.got.add(1, frame->pkt_len + overhead());
        oracle_.on_received(guest.party, frame);
        rte_pktmbuf_free(frame);
    });
    received.erase(received.begin(), end);
}

void RandomSwitch::take_from_wire() {
    for (std::uint16_t queue = 0; queue < kPlanQueues; ++queue)
        for (rte_mbuf* frame : nic_.take(queue)) {
            on_wire_.add(1, frame->pkt_len + overhead());
            oracle_.on_sent(frame);
            rte_pktmbuf_free(frame);
        }
}

void RandomSwitch::let_time_pass() {
    host_.now += plan_.one_in(30)  ? kNanosPerSec * (1 + plan_.pick(400))
                 : plan_.one_in(4) ? plan_.pick(20'000'000)
                                   : plan_.pick(50'000);
}

bool RandomSwitch::waits() const {
    return std::ranges::any_of(guests_,
                               [this](const Guest& guest) {
                                   return guest.present &&
                                          (host_.stats(guest.id).from_vm.queued.packets != 0 ||
                                           !host_.path(guest.id).intake.empty());
                               }) ||
           std::ranges::any_of(host_.workers(), [](const auto& worker) { return !worker->drained(); });
}

/// Every VM reads, the wire takes, and the waiting frames leave.
void RandomSwitch::finish() {
    nic_.set_link(true);
    peers_.open_window();
    for (Guest& guest : guests_) {
        if (!guest.present)
            continue;
        FakePort& port = host_.port(guest.id);
        port.attached = true;
        port.ring_frames = SIZE_MAX;
        guest.sent -= port.offered.size();
        for (rte_mbuf* frame : port.offered)
            rte_pktmbuf_free(frame);
        port.offered.clear();
    }
    for (unsigned turns = 0; turns < kFinishTurns && (turns < 3 || waits()); ++turns) {
        host_.now += kFinishStep;
        for (const auto& worker : host_.workers())
            worker->housekeeping_next();
        host_.turn();
        take_from_wire();
        for (Guest& guest : guests_)
            if (guest.present)
                read(guest, SIZE_MAX);
    }
    require(!waits(), "something waits for ever");
    for (const Guest& guest : guests_)
        if (guest.present && guest.sent_whole)
            require(host_.stats(guest.id).from_vm.offered.packets == guest.sent,
                    guest.config.name + ": a frame that was sent is not counted");
    check_wire();
    for (const Guest& guest : guests_)
        if (guest.present)
            look(guest);
    seen_.arrived = oracle_.arrived();
}

void RandomSwitch::Seen::add(const Seen& more) {
    arrived += more.arrived;
    requests += more.requests;
    into_tunnels += more.into_tunnels;
    out_of_tunnels += more.out_of_tunnels;
    rates += more.rates;
    spoofed += more.spoofed;
    in_quota += more.in_quota;
    straight += more.straight;
}

void RandomSwitch::look(const Guest& guest) {
    seen_.straight += host_.port(guest.id).straight;
    const DirectionStats& sent = host_.stats(guest.id).from_vm;
    seen_.spoofed += drops(sent, DropReason::kIpSpoof);
    seen_.in_quota += drops(sent, DropReason::kBufferQuota);
    std::vector<RequestPath::Reading> readings;
    readings.reserve(limits::kAppliancesPerVnic);
    if (!config_.appliances.empty())
        host_.post(host_.path(guest.id).fixed.owner, command::ReadRequests{guest.id, &readings});
    for (const RequestPath::Reading& reading : readings)
        seen_.requests += reading.stats.held_total;
    check_sample(guest);
}

/// A sample for the agent's history has the counters of the moment, and held-back time that still goes on.
void RandomSwitch::check_sample(const Guest& guest) {
    VnicSamples samples;
    samples.count = 1;
    VnicSample& sample = samples.vnics.front();
    sample.id = guest.id;
    host_.post(host_.path(guest.id).fixed.owner, command::SampleVnics{&samples});
    const VnicStats& stats = host_.stats(guest.id);
    const std::string& name = guest.config.name;
    require(sample.sent_bytes == stats.from_vm.delivered.bytes &&
                sample.received_bytes == stats.to_vm.delivered.bytes &&
                sample.dropped == stats.from_vm.dropped.packets + stats.to_vm.dropped.packets,
            name + ": its sample has other bytes or drops than its counters");
    for (std::size_t i = 0; i < kHoldReasons; ++i)
        require(sample.held[i] >= stats.held_ns[i] && sample.held[i] <= host_.now,
                name + ": its sample has less held-back time than was counted, or more than has passed");
}

void RandomSwitch::require(bool holds, const std::string& what) {
    if (!holds && !fault_)
        fault_ = what;
}

void RandomSwitch::check() {
    for (const Guest& guest : guests_)
        if (guest.present)
            check_guest(guest);
    check_buffers();
}

void RandomSwitch::check_guest(const Guest& guest) {
    const std::string& name = guest.config.name;
    const VnicStats& stats = host_.stats(guest.id);
    require(balanced(stats.from_vm), name + ": a frame that it offered is not accounted for");
    require(balanced(stats.to_vm), name + ": a frame offered to it is not accounted for");
    const auto& received = host_.port(guest.id).received;
    Tally got = guest.got;
    for (const rte_mbuf* frame : received)
        got.add(1, frame->pkt_len + overhead());
    require(stats.to_vm.delivered.packets == got.packets,
            name + " has got " + std::to_string(got.packets) + " frames, " +
                std::to_string(stats.to_vm.delivered.packets) + " are counted");
    require(stats.to_vm.delivered.bytes == got.bytes,
            name + " has got " + std::to_string(got.bytes) + " bytes, " +
                std::to_string(stats.to_vm.delivered.bytes) + " are counted");
    if (RandomCapture* capture = capture_of(guest))
        if (const auto fault = capture->fault(stats))
            require(false, name + ", captured: " + *fault);
    const VnicPath& path = host_.path(guest.id);
    const std::uint32_t held = path.queued_buffers + path.intake.buffers();
    const std::uint32_t quota = std::max(guest.quota, limits::kVnicBuffersMin);
    require(held <= quota, name + " holds " + std::to_string(held) + " buffers of " + std::to_string(quota));
}

/// The counters of the uplink, when nothing waits.
void RandomSwitch::check_wire() {
    if (!uplink_)
        return;
    UplinkStats sum;
    for (const auto& worker : host_.workers()) {
        WorkerSnapshot part;
        std::vector<TunnelStats> tunnels(RandomPeers::kTunnels);
        host_.post(worker->id(), command::ReadWorker{&part, tunnels_ ? &tunnels : nullptr});
        sum.tx.add(part.uplink.tx);
        sum.rx.add(part.uplink.rx);
        for (const TunnelStats& tunnel : tunnels) {
            require(balanced(tunnel.in), "a frame that came through a tunnel is not accounted for");
            seen_.into_tunnels += tunnel.out.packets;
            seen_.out_of_tunnels += tunnel.in.delivered.packets;
        }
        seen_.rates += part.feedback.received;
    }
    require(balanced(sum.tx) && balanced(sum.rx), "the uplink's frames are not accounted for");
    require(sum.rx.offered.packets == arrived_wire_, "a frame of the wire is not counted");
    require(sum.tx.delivered.packets == on_wire_.packets, "frames left that are not counted");
    require(sum.tx.delivered.bytes == on_wire_.bytes,
            "the wire has got " + std::to_string(on_wire_.bytes) + " bytes, " +
                std::to_string(sum.tx.delivered.bytes) + " are counted");
}

/// With one worker and no uplink all buffers are in rings, or held by a vNIC.
void RandomSwitch::check_buffers() {
    if (uplink_ || config_.workers.size() != 1)
        return;
    std::size_t most = 0;
    for (const Guest& guest : guests_) {
        if (!guest.present)
            continue;
        const VnicPath& path = host_.path(guest.id);
        const FakePort& port = host_.port(guest.id);
        most += path.queued_buffers + path.intake.buffers();
        for (const rte_mbuf* frame : port.offered)
            most += buffers_of(frame);
        for (const rte_mbuf* frame : port.received)
            most += buffers_of(frame);
    }
    require(buffers_in_use() <= most, std::to_string(buffers_in_use()) + " buffers are in use, " +
                                          std::to_string(most) + " are known of");
}

}  // namespace weir::testing
