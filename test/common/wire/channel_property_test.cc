// channel_property_test.cc - a table that changes, told over a channel that loses, repeats and reorders.
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

// A switch whose flows come, change and go, and the other side's belief.
struct Talk {
    testing::Random32 random;
    std::map<FlowKey, FlowDemand> flows;
    Origin origin{kEpoch, kSession};
    Teller<FlowDemand> teller;
    Listener listener;
    std::map<FlowKey, FlowDemand> believed;
    std::uint32_t interval = 0;
    std::size_t said = 0;

    explicit Talk(std::uint32_t seed) : random(seed) { listener = Listener(kEpoch, kSession); }

    void change() {
        for (int i = 0; i < 3; ++i) {
            const FlowKey key{random() % 8, 100 + random() % 8};
            if (random() % 4 == 0)
                flows.erase(key);
            else
                flows[key] = test::demand(key.source, key.destination, static_cast<float>(random() % 1000));
        }
    }
    Message tell() {
        std::vector<FlowDemand> all;
        for (const auto& [key, record] : flows)
            all.push_back(record);
        Message message;
        message.header = origin.next(Type::kDemand, ++interval);
        if (teller.changes(all, message.records))
            message.header.flags |= flags::kSnapshot;
        message.header.count = static_cast<std::uint32_t>(message.records.size());
        said += message.records.size();
        return message;
    }
    Accepted hear(const Message& message) {
        const Accepted accepted = listener.accept(message.header);
        if (accepted == Accepted::kYes)
            apply(message.header.has(flags::kSnapshot), message.records, believed);
        return accepted;
    }
    // The way back is whole: who misses something is heard.
    void answer() {
        if (listener.gap())
            teller.start_over();
    }
    [[nodiscard]] bool agree() const {
        std::map<FlowKey, FlowDemand> said_table;
        for (const FlowDemand& record : teller.said())
            said_table.emplace(record.flow, record);
        return said_table == believed;
    }
};

}  // namespace

TEST_CASE("with nothing lost the other side knows what was said, interval by interval") {
    Talk talk(1);
    for (int i = 0; i < 300; ++i) {
        talk.change();
        CHECK(talk.hear(talk.tell()) == Accepted::kYes);
        REQUIRE(talk.agree());
        REQUIRE(talk.believed.size() == talk.flows.size());
    }
}

TEST_CASE("a table that stands still is said once in 30 intervals") {
    Talk talk(2);
    for (int i = 0; i < 20; ++i)
        talk.change();
    (void)talk.hear(talk.tell());
    talk.said = 0;
    for (int i = 0; i < 29; ++i)
        (void)talk.hear(talk.tell());
    CHECK(talk.said == 0);
    CHECK(talk.hear(talk.tell()) == Accepted::kYes);
    CHECK(talk.said == talk.flows.size());
}

TEST_CASE("after losses, repetitions and reorderings both agree again within two messages") {
    for (std::uint32_t seed = 1; seed <= 50; ++seed) {
        Talk talk(seed);
        std::deque<Message> late;
        for (int i = 0; i < 100; ++i) {
            talk.change();
            const Message message = talk.tell();
            switch (talk.random() % 6) {
                case 0:  // lost
                    break;
                case 1:  // twice
                    (void)talk.hear(message);
                    CHECK(talk.hear(message) == Accepted::kStale);
                    break;
                case 2:  // overtaken
                    late.push_back(message);
                    break;
                default:
                    (void)talk.hear(message);
            }
            if (!late.empty() && talk.random() % 3 == 0) {
                (void)talk.hear(late.front());
                late.pop_front();
            }
        }
        while (!late.empty()) {
            (void)talk.hear(late.front());
            late.pop_front();
        }
        // The line is good again.
        (void)talk.hear(talk.tell());
        talk.answer();
        (void)talk.hear(talk.tell());
        REQUIRE(talk.agree());
        REQUIRE_FALSE(talk.listener.gap());
    }
}

TEST_CASE("a lost message alone, with nobody to ask, is made up for by the next snapshot") {
    Talk talk(3);
    (void)talk.hear(talk.tell());
    talk.change();
    (void)talk.tell();  // lost
    for (std::uint32_t i = 0; i < kSnapshotIntervals; ++i)
        (void)talk.hear(talk.tell());
    CHECK(talk.agree());
}

TEST_CASE("what belongs to another session or epoch counts for nothing") {
    Talk talk(4);
    talk.change();
    Message message = talk.tell();
    message.header.session ^= 1;
    CHECK(talk.hear(message) == Accepted::kForeign);
    message.header.session ^= 1;
    message.header.epoch -= 1;
    CHECK(talk.hear(message) == Accepted::kForeign);
    CHECK(talk.believed.empty());
    CHECK(talk.listener.sequence() == 0);
    message.header.epoch += 1;
    CHECK(talk.hear(message) == Accepted::kYes);
    CHECK(talk.agree());
}
