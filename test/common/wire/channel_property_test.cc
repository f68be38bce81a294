// channel_property_test.cc - a changing table, sent over a link that loses, repeats and reorders messages.
#include <deque>

#include "common/wire/channel.h"
#include "test/common/wire/wire_support.h"
#include "test/support/catch.h"
#include "test/support/random.h"

using namespace weir;
using namespace weir::wire;

namespace {

constexpr std::uint64_t kEpoch = 9;
constexpr std::uint32_t kSession = 77;

struct Message {
    Header header;
    std::vector<FlowDemand> records;
};

// A table whose flows appear, change and disappear, its sender, and the receiver's copy.
struct Link {
    testing::Random32 random;
    std::map<FlowKey, FlowDemand> flows;
    Sequencer sequencer{kEpoch, kSession};
    TableSender<FlowDemand> sender;
    MessageFilter filter;
    std::map<FlowKey, FlowDemand> received;
    std::uint32_t interval = 0;
    std::size_t records_sent = 0;

    explicit Link(std::uint32_t seed) : random(seed) { filter = MessageFilter(kEpoch, kSession); }

    void change() {
        for (int i = 0; i < 3; ++i) {
            const FlowKey key{random() % 8, 100 + random() % 8};
            if (random() % 4 == 0)
                flows.erase(key);
            else
                flows[key] = test::demand(key.source, key.destination, static_cast<float>(random() % 1000));
        }
    }
    Message send() {
        std::vector<FlowDemand> all;
        for (const auto& [key, record] : flows)
            all.push_back(record);
        Message message;
        message.header = sequencer.next(Type::kDemand, ++interval);
        if (sender.changes(all, message.records))
            message.header.flags |= flags::kSnapshot;
        message.header.count = static_cast<std::uint32_t>(message.records.size());
        records_sent += message.records.size();
        return message;
    }
    Acceptance receive(const Message& message) {
        const Acceptance accepted = filter.accept(message.header);
        if (accepted == Acceptance::kAccepted)
            apply(message.header.has(flags::kSnapshot), message.records, received);
        return accepted;
    }
    // The opposite direction loses nothing: the sender learns of every gap.
    void report_gap() {
        if (filter.gap())
            sender.send_snapshot();
    }
    [[nodiscard]] bool agree() const {
        std::map<FlowKey, FlowDemand> sent;
        for (const FlowDemand& record : sender.sent())
            sent.emplace(record.flow, record);
        return sent == received;
    }
};

}  // namespace

TEST_CASE("without losses the receiver has the sender's table after every interval") {
    Link link(1);
    for (int i = 0; i < 300; ++i) {
        link.change();
        CHECK(link.receive(link.send()) == Acceptance::kAccepted);
        REQUIRE(link.agree());
        REQUIRE(link.received.size() == link.flows.size());
    }
}

TEST_CASE("a table without changes is sent once in 30 intervals") {
    Link link(2);
    for (int i = 0; i < 20; ++i)
        link.change();
    (void)link.receive(link.send());
    link.records_sent = 0;
    for (int i = 0; i < 29; ++i)
        (void)link.receive(link.send());
    CHECK(link.records_sent == 0);
    CHECK(link.receive(link.send()) == Acceptance::kAccepted);
    CHECK(link.records_sent == link.flows.size());
}

TEST_CASE("after losses, repetitions and reorderings both sides agree again within two messages") {
    for (std::uint32_t seed = 1; seed <= 50; ++seed) {
        Link link(seed);
        std::deque<Message> late;
        for (int i = 0; i < 100; ++i) {
            link.change();
            const Message message = link.send();
            switch (link.random() % 6) {
                case 0:  // lost
                    break;
                case 1:  // repeated
                    (void)link.receive(message);
                    CHECK(link.receive(message) == Acceptance::kStale);
                    break;
                case 2:  // arrives later
                    late.push_back(message);
                    break;
                default:
                    (void)link.receive(message);
            }
            if (!late.empty() && link.random() % 3 == 0) {
                (void)link.receive(late.front());
                late.pop_front();
            }
        }
        while (!late.empty()) {
            (void)link.receive(late.front());
            late.pop_front();
        }
        // From here on nothing is lost.
        (void)link.receive(link.send());
        link.report_gap();
        (void)link.receive(link.send());
        REQUIRE(link.agree());
        REQUIRE_FALSE(link.filter.gap());
    }
}

TEST_CASE("the next periodic snapshot repairs a loss that the receiver cannot report") {
    Link link(3);
    (void)link.receive(link.send());
    link.change();
    (void)link.send();  // lost
    for (std::uint32_t i = 0; i < kSnapshotIntervals; ++i)
        (void)link.receive(link.send());
    CHECK(link.agree());
}

TEST_CASE("messages of another session or epoch are not applied") {
    Link link(4);
    link.change();
    Message message = link.send();
    message.header.session ^= 1;
    CHECK(link.receive(message) == Acceptance::kForeign);
    message.header.session ^= 1;
    message.header.epoch -= 1;
    CHECK(link.receive(message) == Acceptance::kForeign);
    CHECK(link.received.empty());
    CHECK(link.filter.sequence() == 0);
    message.header.epoch += 1;
    CHECK(link.receive(message) == Acceptance::kAccepted);
    CHECK(link.agree());
}
