// fall_asleep_test.cc - a worker that falls asleep while a guest sends and another worker posts: every order
// of their steps. The guest's steps come before any read of its memory by the worker, which WEIR_FUZZ makes a
// hook of; the rings, the wakeups and the hand-over are those of the switch.
#include "vswitch/datapath/loop/fall_asleep.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <functional>
#include <utility>
#include <vector>

#include "test/support/catch.h"
#include "test/vswitch/ports/virtio/guest_area.h"
#include "vswitch/ports/wakeups.h"

using namespace weir;
using namespace weir::testing;
using namespace weir::virtio;

namespace {

constexpr std::uint16_t kEntries = 4;

/// All sequences of choices, one after the other: the last choice that has a further option takes it.
class Choices {
  public:
    std::size_t choose(std::size_t options) {
        if (at_ == made_.size())
            made_.push_back({0, options});
        return made_[at_++].taken;
    }
    bool next() {
        while (!made_.empty() && made_.back().taken + 1 == made_.back().options)
            made_.pop_back();
        at_ = 0;
        if (made_.empty())
            return false;
        ++made_.back().taken;
        return true;
    }

  private:
    struct Choice {
        std::size_t taken;
        std::size_t options;
    };
    std::vector<Choice> made_;
    std::size_t at_ = 0;
};

using Steps = std::vector<std::function<void()>>;

/// Actors beside the worker, each with steps in an order of its own.
class Others {
  public:
    Others(Choices& choices, std::vector<Steps> actors) : choices_(choices), actors_(std::move(actors)) {}

    /// Any number of steps, of any of them.
    void between() {
        while (step(true)) {
        }
    }
    /// @param may_not the worker may go on first @return whether there was a step
    bool step(bool may_not) {
        std::vector<Steps*> ready;
        for (Steps& steps : actors_)
            if (!steps.empty())
                ready.push_back(&steps);
        if (ready.empty())
            return false;
        const std::size_t choice = choices_.choose(ready.size() + (may_not ? 1 : 0));
        if (choice == ready.size())
            return false;
        const auto now = ready[choice]->front();
        ready[choice]->erase(ready[choice]->begin());
        now();
        return true;
    }

  private:
    Choices& choices_;
    std::vector<Steps> actors_;
};

struct SplitDriver {
    static constexpr bool kPacked = false;
    explicit SplitDriver(GuestArea& guest_area, bool event_index)
        : area(guest_area), with_event_index(event_index) {}

    void publish() {
        avail(2 + avail(1) % kEntries) = 0;
        __atomic_store_n(&avail(1), static_cast<std::uint16_t>(avail(1) + 1), __ATOMIC_SEQ_CST);
    }
    [[nodiscard]] bool is_kick_wished() {
        const auto* used = &area.as<std::uint16_t>(parts.device);
        if (!with_event_index)
            return (used[0] & 1) == 0;
        const std::uint16_t event = used[2 + 4 * kEntries];
        return static_cast<std::uint16_t>(avail(1) - event - 1) < 1;
    }
    std::uint16_t& avail(std::size_t half) { return (&area.as<std::uint16_t>(parts.driver))[half]; }

    GuestArea& area;
    bool with_event_index;
    RingParts parts = parts_at(GuestArea::kRegionBytes, kEntries, kPacked);
    SplitRing ring{};
};

struct PackedDriver {
    static constexpr bool kPacked = true;
    explicit PackedDriver(GuestArea& guest_area, bool) : area(guest_area) {}

    void publish() {
        PackedDescriptor& next = (&area.as<PackedDescriptor>(parts.descriptors))[made++];
        __atomic_store_n(&next.flags, descriptor_flag::kAvailable, __ATOMIC_SEQ_CST);
    }
    [[nodiscard]] bool is_kick_wished() { return (&area.as<std::uint16_t>(parts.device))[1] != 1; }

    GuestArea& area;
    std::size_t made = 0;
    RingParts parts = parts_at(GuestArea::kRegionBytes, kEntries, kPacked);
    PackedRing ring{};
};

/// As fall_asleep(), but the worker looks before the guest is asked.
template <class Sleeper>
Port::Wake look_first(Sleeper& sleeper) {
    sleeper.lie_down();
    const bool found = sleeper.finds_work();
    const Port::Wake wake = sleeper.ask_for_wakes_blindly();
    return found ? Port::Wake::kReady : wake;
}

/// A worker with one ring and an inbox.
template <class Driver>
class Sleeper {
  public:
    Sleeper(Driver& driver, Wakeups& wakeups, Choices& choices, unsigned frames, unsigned posts, int kicks)
        : driver_(driver),
          wakeups_(wakeups),
          expected_(frames + posts),
          others_(choices, {guest(frames, kicks), neighbor(posts)}) {
        guest_writes = nullptr;
    }
    ~Sleeper() { guest_writes = nullptr; }
    Sleeper(const Sleeper&) = delete;
    Sleeper& operator=(const Sleeper&) = delete;

    void lie_down() {
        wakeups_.lie_down();
        others_.between();
    }
    Port::Wake ask_for_wakes() { return ask_for_kick(driver_.ring) ? Port::Wake::kWill : Port::Wake::kReady; }
    Port::Wake ask_for_wakes_blindly() {
        others_.between();
        driver_.ring.wish_kicks(true);
        return Port::Wake::kWill;
    }
    bool finds_work() { return turn() != 0; }

    /// @return whether all frames were taken
    template <class HandOver>
    bool run(HandOver&& hand_over) {
        static Others* others = nullptr;
        others = &others_;
        guest_writes = [] { others->between(); };
        while (taken_ != expected_) {
            if (turn() != 0)
                continue;
            if (hand_over(*this) != Port::Wake::kReady)
                while (!wakeups_.sleep(0))
                    if (!others_.step(false))
                        return taken_ == expected_;
            wakeups_.get_up();
            driver_.ring.wish_kicks(false);
        }
        return true;
    }

  private:
    Steps guest(unsigned frames, int kicks) {
        Steps steps;
        for (unsigned i = 0; i < frames; ++i) {
            steps.emplace_back([this] { driver_.publish(); });
            steps.emplace_back([this, kicks] {
                if (driver_.is_kick_wished())
                    eventfd_write(kicks, 1);
            });
        }
        return steps;
    }
    Steps neighbor(unsigned posts) {
        Steps steps;
        for (unsigned i = 0; i < posts; ++i) {
            steps.emplace_back([this] { ++inbox_; });
            steps.emplace_back([this] { wakeups_.ring(); });
        }
        return steps;
    }
    unsigned turn() {
        others_.between();
        unsigned moved = std::exchange(inbox_, 0);
        Chain chain;
        for (; driver_.ring.ready(1) != 0 && driver_.ring.peek(chain); ++moved) {
            driver_.ring.advance(chain);
            driver_.ring.use(chain, 0);
            (void)driver_.ring.publish();
        }
        taken_ += moved;
        return moved;
    }

    Driver& driver_;
    Wakeups& wakeups_;
    unsigned expected_;
    unsigned taken_ = 0;
    unsigned inbox_ = 0;
    Others others_;
};

struct Outcome {
    unsigned orders = 0;
    unsigned lost = 0;  ///< orders after which the worker sleeps and a frame waits
};

template <class Driver, class HandOver>
Outcome all_orders(bool event_index, unsigned frames, unsigned posts, HandOver&& hand_over) {
    GuestArea area;
    Choices choices;
    Outcome outcome;
    do {
        Driver driver(area, event_index);
        std::memset(area.host(driver.parts.descriptors), 0,
                    GuestArea::kRegionBytes - driver.parts.descriptors);
        RingPlace at = place_of(area, driver.parts, kEntries);
        at.event_index = event_index;
        if (Driver::kPacked)
            at.avail = at.used = kWrap;
        REQUIRE(driver.ring.place(at, area.memory));
        driver.ring.wish_kicks(false);
        Wakeups wakeups;
        const int kicks = eventfd(0, EFD_NONBLOCK);
        REQUIRE(wakeups.add(kicks));
        Sleeper<Driver> sleeper(driver, wakeups, choices, frames, posts, kicks);
        wakeups.sleep(0);  // files that are added may be events
        outcome.lost += sleeper.run(hand_over) ? 0 : 1;
        ++outcome.orders;
        wakeups.remove(kicks);
        close(kicks);
    } while (choices.next());
    return outcome;
}

constexpr auto kFallAsleep = [](auto& sleeper) { return fall_asleep(sleeper); };
constexpr auto kLookFirst = [](auto& sleeper) { return look_first(sleeper); };

}  // namespace

TEST_CASE("sleep: no frame of a guest waits for a sleeping worker, in any order of steps") {
    for (const bool event_index : {false, true}) {
        const Outcome split = all_orders<SplitDriver>(event_index, 2, 0, kFallAsleep);
        CHECK(split.lost == 0);
        CHECK(split.orders > 100);
        const Outcome packed = all_orders<PackedDriver>(event_index, 2, 0, kFallAsleep);
        CHECK(packed.lost == 0);
        CHECK(packed.orders > 100);
    }
}

TEST_CASE("sleep: nor does a frame of another worker, beside a guest's") {
    CHECK(all_orders<SplitDriver>(false, 0, 3, kFallAsleep).lost == 0);
    CHECK(all_orders<SplitDriver>(true, 1, 1, kFallAsleep).lost == 0);
    CHECK(all_orders<PackedDriver>(true, 1, 1, kFallAsleep).lost == 0);
}

TEST_CASE("sleep: a worker that looks before it asks would lose frames") {
    CHECK(all_orders<SplitDriver>(false, 2, 0, kLookFirst).lost > 0);
    CHECK(all_orders<PackedDriver>(false, 2, 0, kLookFirst).lost > 0);
}
