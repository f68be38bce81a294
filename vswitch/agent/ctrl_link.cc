// ctrl_link.cc - what ZeroMQ cannot take now is lost, counted, and made up for by the next snapshot.
#include "vswitch/agent/ctrl_link.h"

#include <array>
#include <fstream>
#include <functional>
#include <iterator>
#include <random>
#include <zmq_addon.hpp>

#include "common/config/field_kinds.h"
#include "common/error.h"

namespace weir {
namespace {

constexpr int kMessagesInFlight = 4;  // older ones are worth less than the next
constexpr int kMessagesPerTurn = 64;
constexpr Nanos kLookAgain = 500'000'000;  // whether vNICs came or went
constexpr Nanos kComesBack = 2'000'000'000;

std::string read_secret(const std::string& path) {
    std::ifstream file(path);
    std::string key;
    if (!(file >> key) || !is_curve_key(key))
        throw HostError("controller.secret_key_file: " + path +
                        " holds no key of 40 characters; `weir-ctrl --make-key FILE` makes one");
    return key;
}

std::uint32_t random_number() {
    return static_cast<std::uint32_t>(std::random_device{}());
}

std::array<std::uint64_t, wire::kParts> by_part(const std::array<std::uint64_t, kPathResources>& values) {
    std::array<std::uint64_t, wire::kParts> parts{};
    parts[wire::kThere] = values[static_cast<std::size_t>(PathResource::kUplink)];
    parts[wire::kTokens] = values[static_cast<std::size_t>(PathResource::kAppliance)];
    parts[wire::kBack] = values[static_cast<std::size_t>(PathResource::kDownlink)];
    return parts;
}

RequestRates by_resource(const PartRates& parts) {
    RequestRates rates{};
    rates[static_cast<std::size_t>(PathResource::kUplink)] = parts[wire::kThere];
    rates[static_cast<std::size_t>(PathResource::kAppliance)] = parts[wire::kTokens];
    rates[static_cast<std::size_t>(PathResource::kDownlink)] = parts[wire::kBack];
    return rates;
}

wire::Hello hello_of(const SwitchConfig& config) {
    wire::Hello hello{.host = config.host, .version = WEIR_VERSION};
    if (!config.uplink.device.empty())
        hello.uplink_bps = config.uplink.capacity_bps();
    for (const VnicConfig& vnic : config.vnics)
        hello.vnics.push_back({vnic.name, is_name(vnic.tenant) ? vnic.tenant : "",
                               vnic.mac ? vnic.mac->to_string() : "", vnic.vlan});
    for (const ApplianceConfig& appliance : config.appliances)
        hello.appliances.push_back({appliance.name, appliance.address, appliance.port});
    return hello;
}

}  // namespace

CtrlLink::CtrlLink(SwitchControl& control, const ControllerConfig& config)
    : control_(control),
      socket_(context_, zmq::socket_type::dealer),
      session_(random_number(), random_number()) {
    socket_.set(zmq::sockopt::linger, 0);
    socket_.set(zmq::sockopt::immediate, true);
    socket_.set(zmq::sockopt::sndhwm, kMessagesInFlight);
    socket_.set(zmq::sockopt::rcvhwm, kMessagesPerTurn);
    socket_.set(zmq::sockopt::maxmsgsize, static_cast<std::int64_t>(wire::kBodyBytesMax));
    socket_.set(zmq::sockopt::reconnect_ivl, 100);
    socket_.set(zmq::sockopt::reconnect_ivl_max, 2'000);
    socket_.set(zmq::sockopt::handshake_ivl, 5'000);
    socket_.set(zmq::sockopt::heartbeat_ivl, 1'000);
    socket_.set(zmq::sockopt::heartbeat_timeout, 3'000);
    if (config.connect.starts_with("tcp://")) {
        const std::string secret = read_secret(config.secret_key_file);
        std::array<char, 41> open{};
        if (zmq_curve_public(open.data(), secret.c_str()) != 0)
            throw HostError(
                "controller: this libzmq has no CURVE; install one that was built with libsodium");
        socket_.set(zmq::sockopt::curve_serverkey, config.server_key);
        socket_.set(zmq::sockopt::curve_publickey, open.data());
        socket_.set(zmq::sockopt::curve_secretkey, secret);
    }
    try {
        socket_.connect(config.connect);
    } catch (const zmq::error_t& fault) {
        throw HostError("controller.connect: " + config.connect + ": " + fault.what());
    }
}

void CtrlLink::refresh_hello(Nanos now) {
    if (greeted_ && now - hello_at_ < kLookAgain)
        return;
    greeted_ = true;
    hello_at_ = now;
    wire::Hello hello = hello_of(control_.config());
    linger(hello, now);
    session_.set_hello(hello);
}

/// A vNIC that goes and comes again at once, as one does whose port changes, keeps its rates: it is told as
/// gone when it has stayed away.
void CtrlLink::linger(wire::Hello& hello, Nanos now) {
    for (const wire::HelloVnic& vnic : hello.vnics)
        seen_[vnic.name] = {vnic, now};
    std::erase_if(seen_, [&](const auto& each) { return now - each.second.at >= kComesBack; });
    hello.vnics.clear();
    for (const auto& [name, seen] : seen_)
        hello.vnics.push_back(seen.vnic);
}

void CtrlLink::receive(Nanos now) {
    for (int taken = 0; taken < kMessagesPerTurn; ++taken) {
        std::vector<zmq::message_t> parts;
        if (!zmq::recv_multipart(socket_, std::back_inserter(parts), zmq::recv_flags::dontwait))
            return;
        // Of another number of frames: no header of ours, and counted as such.
        const bool two = parts.size() == 2;
        session_.receive({parts[0].data<std::uint8_t>(), two ? parts[0].size() : 0},
                         {parts.back().data<std::uint8_t>(), two ? parts[1].size() : 0}, now);
    }
}

void CtrlLink::sample(Nanos now) {
    if (billing_period_ != session_.billing_period())
        control_.set_billing_period(billing_period_ = session_.billing_period());
    for (const UsageReport& each : control_.take_usage())
        session_.add_usage({each.vnic,
                            {.guarantee = each.kind,
                             .began = each.began,
                             .ended = each.ended,
                             .promised = each.promised,
                             .delivered = each.delivered}});
    std::vector<FlowSample> samples;
    for (const RequestSample& each : control_.sample_requests()) {
        const RequestFlowStats& stats = each.flow.stats;
        samples.push_back({.flow = {each.vnic, each.flow.appliance},
                           .used = by_part(stats.used),
                           .queued = by_part(stats.queued),
                           .outstanding_tokens = stats.outstanding_tokens,
                           .outstanding = stats.outstanding,
                           .responses = stats.responses});
    }
    for (const PeerSample& each : control_.sample_peers())
        samples.push_back({.flow = {each.vnic, 0, MacAddress{each.peer.address}.to_string()},
                           .used = {each.peer.bytes, 0, 0},
                           .queued = {each.peer.queued, 0, 0}});
    session_.sample(samples, now);
}

void CtrlLink::apply() {
    if (!session_.take_rates(rates_))
        return;
    RequestRatesByVnic rates;
    PeerRates peers;
    for (const auto& [flow, parts] : rates_) {
        if (flow.peer.empty())
            rates[flow.vnic][flow.appliance] = by_resource(parts);
        else if (const auto mac = MacAddress::parse(flow.peer))
            peers[flow.vnic][mac->bits] = parts[wire::kThere];
    }
    control_.set_request_rates(rates);
    const HostWindows told = session_.windows();
    RequestWindows windows{.tokens = told.tokens, .reservations = {}};
    for (const auto& [flow, part] : told.reservations)
        windows.reservations[flow.vnic][flow.appliance] = part;
    control_.set_request_windows(windows);
    control_.set_peer_rates(peers);
}

void CtrlLink::send() {
    for (const LinkMessage& message : session_.take_outgoing()) {
        constexpr auto kMore = zmq::send_flags::sndmore | zmq::send_flags::dontwait;
        if (!socket_.send(zmq::buffer(message.header), kMore)) {
            ++unsent_;
            continue;
        }
        socket_.send(zmq::buffer(message.body), zmq::send_flags::dontwait);
    }
}

void CtrlLink::note() const {
    const LinkCounters& counters = session_.counters();
    control_.note_controller({.state = name_of(session_.state()),
                              .refusal = session_.refusal(),
                              .cluster = session_.cluster(),
                              .epoch = session_.epoch(),
                              .interval = session_.interval(),
                              .flows = rates_.size(),
                              .demands = counters.demands,
                              .allocations = counters.allocations,
                              .malformed = counters.malformed + counters.bad_json,
                              .stale = counters.stale,
                              .foreign = counters.foreign,
                              .refused_records = counters.refused_records,
                              .unsent = unsent_});
}

void CtrlLink::turn(Nanos now) {
    try {
        refresh_hello(now);
        receive(now);
        sample(now);
        session_.turn(now);
        send();
        apply();
        note();
    } catch (const HostError&) {  // a worker that does not answer; show_life() tells
    } catch (const zmq::error_t& fault) {
        if (fault.num() != EINTR)
            throw;
    }
}

}  // namespace weir
