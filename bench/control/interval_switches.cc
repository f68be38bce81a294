// interval_switches.cc - the messages that a switch must send and understand. Threads: one.
#include "bench/control/interval_switches.h"

#include <algorithm>
#include <chrono>
#include <map>

namespace weir::bench {
namespace {

constexpr auto kPatience = std::chrono::minutes(1);
constexpr std::uint32_t kSession = 1;
/// A token's bytes: so many that flows between VMs demand more than the rate that they may always have, or no
/// rate would ever be sent for them.
constexpr float kBytes = 5e5F;

void send(zmq::socket_t& socket, const wire::Header& header, const wire::Bytes& body) {
    const wire::HeaderBytes head = wire::encode_header(header);
    socket.send(zmq::buffer(head), zmq::send_flags::sndmore);
    socket.send(zmq::buffer(body), zmq::send_flags::none);
}

}  // namespace

Switches::Switches(const std::string& endpoint, const std::string& server_key,
                   std::vector<SwitchPlan> plans) {
    context_.set(zmq::ctxopt::max_sockets, static_cast<int>(plans.size()) + 16);
    for (SwitchPlan& plan : plans) {
        One& one = all_.emplace_back();
        one.socket = zmq::socket_t(context_, zmq::socket_type::dealer);
        one.socket.set(zmq::sockopt::linger, 0);
        if (!server_key.empty()) {
            one.socket.set(zmq::sockopt::curve_serverkey, server_key);
            one.socket.set(zmq::sockopt::curve_publickey, plan.public_key);
            one.socket.set(zmq::sockopt::curve_secretkey, plan.secret_key);
        }
        one.socket.connect(endpoint);
        one.plan = std::move(plan);
        send_hello(one);
    }
}

void Switches::send_hello(One& one) {
    wire::Hello hello;
    hello.host = one.plan.host;
    for (const std::string& name : one.plan.vnics)
        hello.vnics.push_back({.name = name});
    const std::string text = wire::to_text(hello);
    one.sequencer = {.epoch = 0, .session = kSession};
    wire::Header header = one.sequencer.next(wire::Type::kHello, 0);
    header.count = static_cast<std::uint32_t>(text.size());
    send(one.socket, header, {text.begin(), text.end()});
}

bool Switches::receive(One& one) {
    zmq::message_t head;
    zmq::message_t body;
    if (!one.socket.recv(head, zmq::recv_flags::dontwait))
        return false;
    (void)one.socket.recv(body, zmq::recv_flags::none);
    bytes_down_ += head.size() + body.size();
    wire::Header header;
    if (wire::decode_header({head.data<std::uint8_t>(), head.size()}, body.size(), header) !=
        wire::Malformed::kNo)
        return true;
    one.sequencer.epoch = std::max(one.sequencer.epoch, header.epoch);
    one.welcomed = one.welcomed || header.type == wire::Type::kWelcome;
    one.allocated = one.allocated || header.type == wire::Type::kAllocation;
    if (header.type != wire::Type::kTables || !one.flows.empty())
        return true;
    const auto parsed = wire::parse_tables(body.to_string_view());
    std::map<std::string, std::uint32_t> ids;
    for (const wire::Endpoint& end : std::get<wire::Tables>(parsed).endpoints)
        ids[end.name] = end.id;
    for (std::size_t i = 0; i < one.plan.vnics.size(); ++i)
        one.flows.push_back({ids.at(one.plan.vnics[i]), ids.at(one.plan.destinations[i])});
    std::sort(one.flows.begin(), one.flows.end());
    return true;
}

template <typename Done>
bool Switches::receive_until(Done done) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    for (std::size_t missing = all_.size(); missing != 0;) {
        missing = 0;
        for (One& one : all_) {
            while (!done(one) && receive(one)) {
            }
            missing += !done(one);
        }
        if (missing != 0 && std::chrono::steady_clock::now() > deadline)
            return false;
    }
    return true;
}

bool Switches::settle() {
    return receive_until([](const One& one) { return one.welcomed && !one.flows.empty(); });
}

void Switches::send_demands(double scale) {
    std::uint32_t number = 0;
    for (One& one : all_) {
        while (receive(one)) {
        }
        one.allocated = false;
        wire::Bytes body;
        for (const wire::FlowKey flow : one.flows) {
            wire::FlowDemand record;
            record.flow = flow;
            const auto tokens = static_cast<float>(scale * (2 + number++ % 97));
            record.used = {tokens * kBytes, tokens, tokens * kBytes};
            record.backlog = record.used;
            wire::encode(record, body);
        }
        wire::Header header = one.sequencer.next(wire::Type::kDemand, 0);
        header.count = static_cast<std::uint32_t>(one.flows.size());
        bytes_up_ += wire::kHeaderBytes + body.size();
        send(one.socket, header, body);
    }
}

bool Switches::receive_allocations() {
    return receive_until([](const One& one) { return one.allocated; });
}

}  // namespace weir::bench
