// destination_limits_property_test.cc - any rates arrive, in any order and however late: rates stay between
// floor and line, stale feedback changes nothing, silence halves a rate, and no flow sends more than the
// rates that held have paid.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "test/support/amounts.h"
#include "test/support/catch.h"
#include "test/support/random.h"
#include "test/support/sanitized.h"
#include "vswitch/qos/feedback/destination_limits.h"

using namespace weir;
using weir::testing::kMs;
using Change = DestinationLimits::Change;

namespace {

constexpr std::uint64_t kFloor = 125'000;
constexpr std::uint64_t kLine = 1'250'000'000;
constexpr std::uint32_t kTableFlows = 16;
constexpr VnicId kTableVnics = 4;
constexpr std::uint64_t kPeers = 6;  // more flows than there is room for
constexpr Nanos kSilence = 100 * kMs;
constexpr Nanos kIdle = 2000 * kMs;
constexpr Nanos kIdleSlack = 2 << 20;  // used_at is coarse
/// Where the table's coarse time wraps.
constexpr Nanos kWrap = Nanos{1} << 52;
constexpr std::uint32_t kFrameMax = 9024;
constexpr double kBurstMax = kLine * 151e-6;

using Key = std::pair<VnicId, std::uint64_t>;

/// The state that a flow must have by the plainest model.
struct Expected {
    Key key;
    std::uint64_t rate;
    std::uint32_t sequence;
    Nanos feedback_at;
    Nanos used_at;
    bool silent = false;
    double paid;  ///< tokens that it began with and has earned at the rates that held
    Nanos paid_at;
    std::uint64_t sent = 0;

    void earn(Nanos now) {
        paid += static_cast<double>(rate) * static_cast<double>(now - paid_at) / 1e9;
        paid_at = now;
    }
};

class Hostile {
  public:
    Hostile(unsigned seed, Nanos start)
        : now(start),
          random_(seed),
          flows_(kTableFlows, kTableVnics,
                 {.rate_min = kFloor, .line_rate = kLine, .silence = kSilence, .idle = kIdle}),
          expected_(kTableFlows) {}

    void step() {
        constexpr Nanos kPauses[] = {1000, kMs / 10, 3 * kMs, 30 * kMs};
        if (random_() % 4 == 0)
            now += random_() % (random_() % 200 == 0 ? 2 * kIdle : kPauses[random_() % 4]);
        const Key key{static_cast<VnicId>(random_() % kTableVnics), random_() % kPeers};
        const std::uint32_t what = random_() % 16;
        if (what < 6)
            on_feedback(key, any_rate(), any_sequence(key));
        else if (what < 14)
            send(key);
        else if (what == 14)
            sweep(random_() % 2 == 0 ? kTableFlows : random_() % 8);
        else if (random_() % 64 == 0)
            remove(key.first);
        check(key);
    }

    void on_feedback(const Key& key, std::uint64_t rate, std::uint32_t sequence) {
        const DestinationId before = id(key);
        const auto [change, flow] = flows_.on_feedback(key.first, key.second, rate, sequence, now);
        if (before == kNoDestination) {
            const Change right = rate >= kLine                ? Change::kNotNeeded
                                 : ids_.size() == kTableFlows ? Change::kFull
                                                              : Change::kOpened;
            wrong += change != right;
            if (change == Change::kOpened)
                opened(key, flow, rate, sequence);
            return;
        }
        Expected& it = *expected_[before];
        if (static_cast<std::int32_t>(sequence - it.sequence) <= 0 && !it.silent) {
            wrong += change != Change::kStale || flow != kNoDestination;
            ++stale;
            return;
        }
        wrong += change != Change::kChanged || flow != before;
        it.earn(now);
        it.rate = std::clamp(rate, kFloor, kLine);
        it.sequence = sequence;
        it.feedback_at = now;
        it.used_at = now;
        it.silent = false;
    }

    /// As much as the limiter lets through at once.
    void send(const Key& key) {
        const DestinationId flow = id(key);
        if (flow == kNoDestination)
            return;
        Expected& it = *expected_[flow];
        flows_.touch(flow, now);
        it.used_at = now;
        it.earn(now);
        TokenBucket& limiter = flows_.limiter(flow);
        const auto most = static_cast<std::uint64_t>(it.paid * (1 + 1e-4)) + kFrameMax;
        for (std::uint32_t bytes = any_frame(); it.sent <= most && limiter.can_pay(bytes, now);
             bytes = any_frame()) {
            limiter.pay(bytes, now);
            it.sent += bytes;
        }
        wrong += it.sent > most;
    }

    void sweep(unsigned budget) {
        unsigned looked_at = 0;
        std::set<DestinationId> idle;
        std::set<DestinationId> silent;
        for (const auto& [key, flow] : ids_) {
            if (now >= expected_[flow]->used_at + kIdle + kIdleSlack)
                idle.insert(flow);
            if (now >= expected_[flow]->feedback_at + kSilence && expected_[flow]->rate < kLine)
                silent.insert(flow);
        }
        flows_.sweep(
            now, budget,
            [&](DestinationId flow) {
                ++looked_at;
                idle.erase(flow);
                const Expected& it = *expected_[flow];
                wrong += it.rate < kLine && now < it.used_at + kIdle;
                if (random_() % 2 == 0)
                    return false;
                silent.erase(flow);
                forget(flow);
                return true;
            },
            [&](DestinationId flow) {
                silent.erase(flow);
                halved(flow);
            });
        wrong += looked_at > budget;
        if (budget == kTableFlows)  // every place was looked at
            wrong += idle.size() + silent.size();
    }

    [[nodiscard]] bool all_at_the_floor() const {
        return std::all_of(ids_.begin(), ids_.end(),
                           [this](const auto& pair) { return flows_.rate(pair.second) == kFloor; });
    }
    [[nodiscard]] const std::map<Key, DestinationId>& open() const { return ids_; }

    Nanos now;
    std::uint64_t wrong = 0;
    std::uint64_t stale = 0;
    std::uint64_t halvings = 0;

  private:
    [[nodiscard]] DestinationId id(const Key& key) const {
        const auto found = ids_.find(key);
        return found == ids_.end() ? kNoDestination : found->second;
    }
    std::uint64_t any_rate() {
        const std::uint64_t rates[] = {0, 1, kFloor, random_(), kLine - 1, kLine, UINT64_MAX};
        return rates[random_() % std::size(rates)];
    }
    /// Mostly the next; else a replay, a leap, half way round, or anything.
    std::uint32_t any_sequence(const Key& key) {
        const DestinationId flow = id(key);
        const std::uint32_t last = flow == kNoDestination ? random_() : expected_[flow]->sequence;
        const std::uint32_t sequences[] = {
            last + 1,           last + 1,           last,     last - random_() % 1000,
            last + 0x7FFF'FFFF, last + 0x8000'0000, random_()};
        return sequences[random_() % std::size(sequences)];
    }
    std::uint32_t any_frame() { return 84 + random_() % (kFrameMax - 84); }

    void opened(const Key& key, DestinationId flow, std::uint64_t rate, std::uint32_t sequence) {
        const auto burst = static_cast<double>(flows_.limiter(flow).level(now));
        wrong += flow >= kTableFlows || expected_[flow].has_value() || burst > kBurstMax;
        expected_[flow] = Expected{.key = key,
                                   .rate = std::clamp(rate, kFloor, kLine),
                                   .sequence = sequence,
                                   .feedback_at = now,
                                   .used_at = now,
                                   .paid = std::min(burst, kBurstMax),
                                   .paid_at = now};
        ids_[key] = flow;
    }
    void halved(DestinationId flow) {
        Expected& it = *expected_[flow];
        wrong += now < it.feedback_at + kSilence;
        it.earn(now);
        it.rate = std::max(it.rate / 2, kFloor);
        it.feedback_at = now;
        it.silent = true;
        ++halvings;
    }
    void forget(DestinationId flow) {
        ids_.erase(expected_[flow]->key);
        expected_[flow].reset();
    }
    void remove(VnicId vnic) {
        flows_.erase_vnic(vnic, [this](DestinationId flow) { forget(flow); });
        wrong += flows_.has_any(vnic);
    }
    void check(const Key& key) {
        const DestinationId flow = id(key);
        wrong += flows_.find(key.first, key.second) != flow || flows_.size() != ids_.size();
        wrong += flows_.size() > kTableFlows || flows_.capacity() != kTableFlows;
        for (const auto& [other, at] : ids_)
            wrong += flows_.rate(at) != expected_[at]->rate || flows_.rate(at) < kFloor ||
                     flows_.rate(at) > kLine || flows_.vnic_of(at) != other.first;
    }

    weir::testing::Random32 random_;
    DestinationLimits flows_;
    std::vector<std::optional<Expected>> expected_;
    std::map<Key, DestinationId> ids_;
};

}  // namespace

TEST_CASE(
    "property: hostile feedback moves a rate between floor and line, and stale feedback moves nothing") {
    for (unsigned seed = 1; seed <= weir::testing::rounds(20); ++seed) {
        INFO("seed " << seed);
        Hostile run(seed, seed % 2 == 0 ? kWrap - 5'000 * kMs : seed * kMs);
        for (int i = 0; i < 20'000; ++i)
            run.step();
        REQUIRE(run.wrong == 0);
        CHECK(run.stale > 1000);
        CHECK(run.halvings > 100);
    }
}

TEST_CASE("property: in silence every rate sinks to the floor, and no further, while traffic goes on") {
    for (unsigned seed = 1; seed <= weir::testing::rounds(20); ++seed) {
        INFO("seed " << seed);
        Hostile run(seed, kWrap - 3000 * kMs);
        for (int i = 0; i < 2000; ++i)
            run.step();
        for (int i = 0; i < 40; ++i) {  // 2^14 lie between line and floor
            const auto open = run.open();
            for (const auto& [key, flow] : open)
                run.send(key);
            run.sweep(kTableFlows);
            run.now += kSilence;
        }
        REQUIRE(run.wrong == 0);
        CHECK(run.all_at_the_floor());
    }
}
