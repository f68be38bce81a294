// ctrl_link.cc - the DEALER socket. A message that ZeroMQ has no room for is lost and counted; the next
// snapshot makes up for it.
#include "vswitch/agent/ctrl_link.h"

#include <spdlog/spdlog.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <iterator>
#include <random>
#include <sstream>
#include <utility>
#include <zmq_addon.hpp>

#include "common/config/field_kinds.h"
#include "common/error.h"
#include "common/private_file.h"
#include "common/unix_clock.h"
#include "vswitch/config/promised_vnic.h"

namespace weir {
namespace {

/// Messages that wait in the socket: a few, because the newest makes older ones worthless.
constexpr int kMessagesInFlight = 4;
constexpr int kMessagesPerTick = 64;
/// Whole messages that wait in the socket. With 1, ZeroMQ shows none at all.
constexpr int kReceivedMax = 4;
/// Four messages of the largest size wait in ZeroMQ's queue, and one in its decoder.
constexpr std::uint64_t kUnfinishedMax = 20 << 20;
/// How often the configuration is compared with the last HELLO.
constexpr Nanos kHelloRefresh = 500'000'000;
/// Time between an attempt with an address of one family and the next one with the other.
constexpr Nanos kFamilyPause = 250'000'000;

std::string read_secret(const std::string& path) {
    std::istringstream text(read_private_file(path, "controller.secret_key_file"));
    std::string key;
    if (!(text >> key) || !is_curve_key(key))
        throw HostError("controller.secret_key_file: " + path +
                        " holds no key of 40 characters; `weir-ctrl --make-key FILE` makes one");
    return key;
}

Nanos real_time() {
    return static_cast<Nanos>(
        std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count());
}

std::int64_t unix_seconds() {
    return static_cast<std::int64_t>(unix_clock_ns() / kNanosPerSec);
}

std::optional<LinkFault::Event> event_of(std::uint16_t number) {
    using Event = LinkFault::Event;
    switch (number) {
        case ZMQ_EVENT_CONNECT_DELAYED:
            return Event::kSocket;
        case ZMQ_EVENT_CLOSED:
            return Event::kClosed;
        case ZMQ_EVENT_CONNECT_RETRIED:
            return Event::kRetried;
        case ZMQ_EVENT_CONNECTED:
            return Event::kConnected;
        case ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL:
        case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL:
            return Event::kHandshakeFailed;
        case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH:
            return Event::kKeyRefused;
        case ZMQ_EVENT_HANDSHAKE_SUCCEEDED:
            return Event::kReady;
        case ZMQ_EVENT_DISCONNECTED:
            return Event::kDisconnected;
        default:
            return std::nullopt;
    }
}

/// The values of its file that a promise replaces; none where all are the defaults.
std::optional<VnicPromise> stated_part(const VnicConfig& vnic) {
    const VnicPromise stated = stated_promise(vnic);
    return stated == VnicPromise{} ? std::nullopt : std::optional(stated);
}

/// @param removed vNICs that are stated besides the configuration's, so that they keep their rates
wire::Hello hello_of(const SwitchConfig& config, const std::vector<VnicConfig>& removed) {
    wire::Hello hello{.host = config.host, .version = WEIR_VERSION};
    for (const std::string_view capability :
         {wire::capability::kPairFloors, wire::capability::kRefusals, wire::capability::kTablesByNeed,
          wire::capability::kVnicPromises, wire::capability::kWorkerPromises})
        hello.capabilities.emplace_back(capability);
    if (!config.uplink.device.empty())
        hello.uplink_bps = config.uplink.capacity_bps();
    for (const auto* vnics : {&config.vnics, &removed})
        for (const VnicConfig& vnic : *vnics)
            hello.vnics.push_back({vnic.name, is_name(vnic.tenant) ? vnic.tenant : "",
                                   vnic.mac ? vnic.mac->to_string() : "", vnic.vlan, stated_part(vnic)});
    // In an order that stays when a vNIC is removed and added again: another HELLO starts a new session.
    std::ranges::sort(hello.vnics, {}, &wire::HelloVnic::name);
    for (const ApplianceConfig& appliance : config.appliances)
        hello.appliances.push_back({appliance.name, appliance.address, appliance.port});
    return hello;
}

}  // namespace

CtrlLink::CtrlLink(SwitchControl& control, const ControllerConfig& config, const std::string& control_socket)
    : control_(control),
      config_(config),
      endpoint_(SocketEndpoint::parse(config.connect).value_or(SocketEndpoint{})),
      fault_(config.connect, endpoint_.kind),
      session_(std::random_device{}(), std::random_device{}()),
      promises_(config.promises_file.empty() ? control_socket + ".promises" : config.promises_file,
                control.config().host) {
    if (endpoint_.kind != SocketEndpoint::Kind::kIpc)
        secret_ = read_secret(config.secret_key_file);
    open(endpoint_.kind == SocketEndpoint::Kind::kIpv6);
    session_.set_hello(hello_of(control_.config(), {}));
    promises_.restore(session_, unix_seconds());
}

void CtrlLink::open(bool ip6) {
    ip6_ = ip6;
    fault_.set_family(ip6);
    if (events_.handle() != nullptr) {
        zmq_socket_monitor(socket_.handle(), nullptr, 0);
        events_.close();
    }
    socket_ = zmq::socket_t(context_, zmq::socket_type::dealer);
    socket_.set(zmq::sockopt::linger, 0);
    socket_.set(zmq::sockopt::immediate, true);
    socket_.set(zmq::sockopt::sndhwm, kMessagesInFlight);
    socket_.set(zmq::sockopt::rcvhwm, kReceivedMax);
    socket_.set(zmq::sockopt::maxmsgsize, static_cast<std::int64_t>(wire::kBodyBytesMax));
    socket_.set(zmq::sockopt::reconnect_ivl, 100);
    socket_.set(zmq::sockopt::reconnect_ivl_max, 2'000);
    socket_.set(zmq::sockopt::handshake_ivl, 5'000);
    socket_.set(zmq::sockopt::heartbeat_ivl, 1'000);
    socket_.set(zmq::sockopt::heartbeat_timeout, 3'000);
    socket_.set(zmq::sockopt::ipv6, ip6);
    if (endpoint_.kind != SocketEndpoint::Kind::kIpc)
        set_keys();
    const std::string monitor = "inproc://controller-link-" + std::to_string(++opened_);
    try {
        if (zmq_socket_monitor(socket_.handle(), monitor.c_str(), ZMQ_EVENT_ALL) != 0)
            throw zmq::error_t();
        events_ = zmq::socket_t(context_, zmq::socket_type::pair);
        events_.set(zmq::sockopt::linger, 0);
        events_.connect(monitor);
        socket_.connect(config_.connect);
    } catch (const zmq::error_t& fault) {
        throw HostError("controller.connect: " + config_.connect + ": " + fault.what());
    }
}

void CtrlLink::set_keys() {
    std::array<char, 41> open{};
    if (zmq_curve_public(open.data(), secret_.c_str()) != 0)
        throw HostError("controller: this libzmq has no CURVE; install one that was built with libsodium");
    socket_.set(zmq::sockopt::curve_serverkey, config_.server_key);
    socket_.set(zmq::sockopt::curve_publickey, open.data());
    socket_.set(zmq::sockopt::curve_secretkey, secret_);
}

/// Takes in the socket's events since the last tick.
void CtrlLink::watch() {
    for (int read = 0; read < kMessagesPerTick; ++read) {
        std::vector<zmq::message_t> frames;
        if (!zmq::recv_multipart(events_, std::back_inserter(frames), zmq::recv_flags::dontwait))
            break;
        std::uint16_t number = 0;
        std::int32_t value = -1;
        if (frames.front().size() < sizeof number + sizeof value)
            continue;
        std::memcpy(&number, frames.front().data(), sizeof number);
        std::memcpy(&value, frames.front().data<std::uint8_t>() + sizeof number, sizeof value);
        const auto event = event_of(number);
        if (!event)
            continue;
        fault_.on_event(*event);
        if (*event == LinkFault::Event::kReady)
            named_.clear();
        if (*event == LinkFault::Event::kConnected) {
            reopen_at_.reset();
            descriptor_ = endpoint_.kind == SocketEndpoint::Kind::kIpc ? -1 : value;
            unfinished_ = zmtp::UnfinishedBytes(zmtp::read_bytes(descriptor_).value_or(0));
        }
        if (*event == LinkFault::Event::kDisconnected)
            descriptor_ = -1;
        if (*event == LinkFault::Event::kRetried && endpoint_.kind == SocketEndpoint::Kind::kName &&
            !reopen_at_)
            reopen_at_ = real_time() + kFamilyPause;
    }
}

/// ZeroMQ keeps the parts of a message until the last one has come, without a bound.
void CtrlLink::bound_unfinished() {
    if (descriptor_ < 0)
        return;
    const auto read = zmtp::read_bytes(descriptor_);
    if (!read || unfinished_.of(*read) <= kUnfinishedMax)
        return;
    name_once(config_.connect + " sent more than " + std::to_string(kUnfinishedMax) +
              " bytes of a message that does not end; the connection was ended");
    (void)::shutdown(std::exchange(descriptor_, -1), SHUT_RDWR);
}

void CtrlLink::reopen_when_due() {
    if (!reopen_at_ || real_time() < *reopen_at_)
        return;
    reopen_at_.reset();
    open(!ip6_);
}

/// A line of the log for each cause, until there was a connection again.
void CtrlLink::name_once(const std::string& fault) {
    if (!fault.empty() && named_.insert(fault).second)
        spdlog::warn("controller: {}", fault);
}

void CtrlLink::refresh_hello(Nanos now) {
    if (now < hello_due_)
        return;
    hello_due_ = now + kHelloRefresh;
    session_.set_hello(hello_of(control_.config(), control_.recently_removed()));
}

void CtrlLink::receive(Nanos now) {
    for (int received = 0; received < kMessagesPerTick; ++received) {
        std::vector<zmq::message_t> frames;
        if (!zmq::recv_multipart(socket_, std::back_inserter(frames), zmq::recv_flags::dontwait))
            return;
        std::size_t bytes = 0;
        for (const zmq::message_t& frame : frames)
            bytes += zmtp::curve_bytes(frame.size());
        if (const auto read = descriptor_ < 0 ? std::nullopt : zmtp::read_bytes(descriptor_))
            unfinished_.on_message(bytes, *read);
        // Another number of frames counts as malformed, as an empty header does.
        const bool is_whole = frames.size() == 2;
        session_.on_message({frames[0].data<std::uint8_t>(), is_whole ? frames[0].size() : 0},
                            {frames.back().data<std::uint8_t>(), is_whole ? frames[1].size() : 0}, now);
    }
}

void CtrlLink::sample(Nanos now) {
    if (billing_period_ != session_.billing_period())
        control_.set_billing_period(billing_period_ = session_.billing_period());
    for (const UsageReport& usage : control_.take_usage())
        session_.add_usage(usage);
    // Samples have the same weight each: a stepped clock that stands still gives one, not one a tick.
    if (now == std::exchange(sampled_, now))
        return;
    session_.add_samples(control_.sample_flows(), now);
    if (session_.wants_destinations())
        session_.add_destinations(control_.take_destinations(), now);
}

void CtrlLink::send() {
    for (const ControllerSession::Message& message : session_.take_outgoing()) {
        constexpr auto kMore = zmq::send_flags::sndmore | zmq::send_flags::dontwait;
        if (!socket_.send(zmq::buffer(message.header), kMore)) {
            ++unsent_;
            continue;
        }
        socket_.send(zmq::buffer(message.body), zmq::send_flags::dontwait);
    }
}

/// Again and again while a worker does not take them.
void CtrlLink::apply_allocations() {
    applied_ = !session_.update_rates(rates_) && applied_;
    if (applied_)
        return;
    try {
        control_.set_promises(session_.promises());
        control_.set_refusals(session_.refusals());
        control_.set_rates(rates_);
        control_.set_windows(session_.windows());
        applied_ = true;
    } catch (const HostError&) {  // the worker did not answer
    }
}

void CtrlLink::note_state() {
    name_once(fault_.text());
    if (!session_.refusal().empty())
        name_once(config_.connect + " refuses this switch: " + session_.refusal());
    name_once(session_.ignored());
    control_.note_controller({.state = name_of(session_.state()),
                              .refusal = session_.refusal(),
                              .fault = fault_.text(),
                              .ignored = session_.ignored(),
                              .cluster = session_.cluster(),
                              .epoch = session_.epoch(),
                              .interval = session_.interval(),
                              .flows = rates_.size(),
                              .counters = session_.counters(),
                              .unsent = unsent_,
                              .unbilled_periods = session_.usage().unbilled().periods,
                              .unbilled_bytes = session_.usage().unbilled().bytes,
                              .promises = promises_.report(session_, unix_seconds()),
                              .peers_left_out = session_.peers_left_out()});
}

void CtrlLink::tick(Nanos now) {
    try {
        watch();
        reopen_when_due();
        refresh_hello(now);
        receive(now);
        bound_unfinished();
        sample(now);
        session_.tick(now);
        send();
        apply_allocations();
        promises_.tick(session_, now, unix_seconds());
        note_state();
    } catch (const HostError&) {  // a worker does not answer: the agent stops feeding the watchdog
    } catch (const zmq::error_t& fault) {
        if (fault.num() != EINTR)
            throw;
    }
}

}  // namespace weir
