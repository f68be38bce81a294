// fake_switch.h - a switch without sockets: makes its messages, and keeps the content of those received.
// Threads: tests only.
#pragma once

#include <map>
#include <string>

#include "common/wire/channel.h"
#include "common/wire/messages.h"
#include "ctrl/daemon/controller.h"

namespace weir::test {

struct FakeSwitch {
    Peer peer;
    wire::Hello hello;
    std::uint32_t session = 0;
    wire::Sequencer sequencer;
    wire::TableSender<wire::FlowDemand> sender;
    wire::MessageFilter filter;
    std::uint32_t interval = 0;
    std::vector<wire::FlowDemand> demands;  ///< ordered by flow
    // Received.
    std::optional<wire::Welcome> welcome;
    wire::Tables tables;  ///< with all changes
    unsigned tables_messages = 0;
    std::vector<wire::PeerAddress> unknown;  ///< all that TABLES had
    std::map<wire::FlowKey, wire::FlowAllocation> rates;
    bool asked_hello = false;
    unsigned stale = 0;
    unsigned foreign = 0;

    FakeSwitch(std::string host, std::vector<std::string> vnics, std::string route) {
        peer.route = std::move(route);
        hello.host = std::move(host);
        hello.version = "test";
        for (std::string& vnic : vnics)
            hello.vnics.push_back({.name = std::move(vnic)});
    }

    struct Message {
        wire::HeaderBytes header;
        wire::Bytes body;
    };

    Message send_hello() {
        ++session;
        sequencer = {.epoch = 0, .session = session};
        sender.send_snapshot();
        const std::string text = wire::to_text(hello);
        wire::Header header = sequencer.next(wire::Type::kHello, 0);
        header.count = static_cast<std::uint32_t>(text.size());
        return {wire::encode_header(header), {text.begin(), text.end()}};
    }
    Message send_demands() {
        std::vector<wire::FlowDemand> changes;
        wire::Header header = sequencer.next(wire::Type::kDemand, interval);
        if (sender.changes(demands, changes))
            header.flags |= wire::flags::kSnapshot;
        if (filter.gap())
            header.flags |= wire::flags::kAskSnapshot;
        header.count = static_cast<std::uint32_t>(changes.size());
        wire::Bytes body;
        for (const wire::FlowDemand& record : changes)
            wire::encode(record, body);
        return {wire::encode_header(header), std::move(body)};
    }

    /// Asks for the endpoints that have these addresses, in the words of "a1" -> "52:54:00:00:00:02".
    Message send_ask(const std::vector<std::pair<std::uint32_t, std::string>>& addresses) {
        wire::Ask ask;
        for (const auto& [source, mac] : addresses)
            ask.addresses.push_back({source, mac});
        const std::string text = wire::to_text(ask);
        wire::Header header = sequencer.next(wire::Type::kAsk, interval);
        header.count = static_cast<std::uint32_t>(text.size());
        return {wire::encode_header(header), {text.begin(), text.end()}};
    }

    void receive_tables(wire::Tables received) {
        ++tables_messages;
        unknown.insert(unknown.end(), received.unknown.begin(), received.unknown.end());
        if (!received.changes) {
            tables = std::move(received);
            return;
        }
        for (const wire::Endpoint& end : received.endpoints) {
            std::erase_if(tables.endpoints, [&](const auto& each) { return each.id == end.id; });
            tables.endpoints.push_back(end);
        }
        for (const std::uint32_t id : received.removed)
            std::erase_if(tables.endpoints, [id](const auto& each) { return each.id == id; });
        tables.guarantees.insert(tables.guarantees.end(), received.guarantees.begin(),
                                 received.guarantees.end());
    }
    [[nodiscard]] const wire::Endpoint* endpoint(const std::string& name) const {
        for (const wire::Endpoint& end : tables.endpoints)
            if (end.name == name)
                return &end;
        return nullptr;
    }

    /// Receives the messages of its own route.
    void receive(const std::vector<Outgoing>& messages) {
        for (const Outgoing& message : messages)
            if (message.route == peer.route)
                receive(message);
    }
    void receive(const Outgoing& message) {
        wire::Header header;
        if (wire::decode_header(message.header, message.body.size(), header) != wire::Malformed::kNo)
            throw std::logic_error("the controller sent a malformed message");
        const std::string_view text(reinterpret_cast<const char*>(message.body.data()), message.body.size());
        if (header.type == wire::Type::kHeartbeat) {
            asked_hello = asked_hello || header.has(wire::flags::kAskHello);
            return;
        }
        if (header.type == wire::Type::kWelcome && header.session == session &&
            header.epoch >= sequencer.epoch) {
            welcome = std::get<wire::Welcome>(wire::parse_welcome(text));
            sequencer.epoch = header.epoch;
            filter = wire::MessageFilter(header.epoch, session, header.sequence);
            asked_hello = false;
            return;
        }
        const wire::Acceptance accepted = filter.accept(header);
        stale += accepted == wire::Acceptance::kStale;
        foreign += accepted == wire::Acceptance::kForeign;
        if (accepted != wire::Acceptance::kAccepted)
            return;
        interval = header.interval;
        if (header.has(wire::flags::kAskSnapshot))
            sender.send_snapshot();
        if (header.type == wire::Type::kTables)
            receive_tables(std::get<wire::Tables>(wire::parse_tables(text)));
        if (header.type == wire::Type::kAllocation) {
            std::vector<wire::FlowAllocation> records;
            wire::decode(message.body, records);
            wire::apply(header.has(wire::flags::kSnapshot), records, rates);
        }
    }

    [[nodiscard]] std::uint32_t id_of(const std::string& name) const {
        for (const wire::Endpoint& endpoint : tables.endpoints)
            if (endpoint.name == name)
                return endpoint.id;
        return 0;
    }
    [[nodiscard]] std::uint64_t rate(const std::string& source, const std::string& destination,
                                     wire::Part part) const {
        const auto found = rates.find({id_of(source), id_of(destination)});
        return found == rates.end() ? wire::kNoStatement : found->second.rate[static_cast<std::size_t>(part)];
    }
    void want(const std::string& source, const std::string& destination,
              std::array<float, wire::kParts> tokens) {
        const wire::FlowKey key{id_of(source), id_of(destination)};
        wire::FlowDemand record;
        record.flow = key;
        record.used = tokens;
        std::erase_if(demands, [key](const auto& each) { return each.flow == key; });
        demands.insert(
            std::find_if(demands.begin(), demands.end(), [key](const auto& each) { return key < each.flow; }),
            record);
    }
};

}  // namespace weir::test
