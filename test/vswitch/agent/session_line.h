// session_line.h - a controller's messages to one session of a switch, by hand. Threads: tests only.
#pragma once

#include <string>

#include "common/wire/messages.h"
#include "test/support/catch.h"
#include "vswitch/agent/controller_session.h"

namespace weir::test {

inline wire::Hello hello_of_h1() {
    return {.host = "h1",
            .vnics = {{"a1", "A", "52:54:00:00:00:01", 0}},
            .appliances = {{.name = "disk"}},
            .capabilities = {std::string(wire::capability::kPairFloors)}};
}

inline wire::Tables tables_of_h1(std::uint64_t tokens) {
    return {
        .endpoints =
            {{.id = 1, .name = "a1", .tenant = "A", .host = "h1", .mac = "52:54:00:00:00:01", .floor = 500},
             {.id = 2, .name = "a2", .tenant = "A", .host = "h2", .mac = "52:54:00:00:00:02", .floor = 300},
             {.id = 9, .kind = wire::Endpoint::Kind::kAppliance, .name = "disk"}},
        .guarantees = {{.flow = {1, 9}, .rate = {wire::kNoStatement, tokens, wire::kNoStatement}}}};
}

/// A controller's messages to one session, by hand.
struct Line {
    ControllerSession session{100, 0};
    wire::Sequencer sequencer{.epoch = 1'000};

    Line() { session.set_hello(hello_of_h1()); }
    void send(wire::Type type, const std::string& text, Nanos now, std::uint16_t flags = 0) {
        wire::Header header = sequencer.next(type, 1);
        header.flags = flags;
        header.count = static_cast<std::uint32_t>(text.size());
        session.on_message(wire::encode_header(header), wire::Bytes(text.begin(), text.end()), now);
    }
    /// Answers the HELLO that is due with a WELCOME.
    void welcome(Nanos now, const wire::Capabilities& capabilities = {}) {
        session.tick(now);
        for (const auto& message : session.take_outgoing()) {
            wire::Header hello;
            REQUIRE(wire::decode_header(message.header, message.body.size(), hello) == wire::Malformed::kNo);
            if (hello.type != wire::Type::kHello)
                continue;
            sequencer = {.epoch = sequencer.epoch, .session = hello.session};
            send(wire::Type::kWelcome,
                 wire::to_text(wire::Welcome{
                     .cluster = "c1", .interval = kNanosPerSec, .validity = 3, .capabilities = capabilities}),
                 now);
        }
        REQUIRE(session.state() == ControllerSession::State::kWelcomed);
    }
    void tables(std::uint64_t tokens, Nanos now) {
        send(wire::Type::kTables, wire::to_text(tables_of_h1(tokens)), now);
    }
    FlowRates rates() {
        FlowRates rates;
        (void)session.update_rates(rates);
        return rates;
    }
};

}  // namespace weir::test
