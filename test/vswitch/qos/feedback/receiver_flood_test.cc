// receiver_flood_test.cc - floods from made-up sources: other vNICs' senders, the flooded vNIC's total, work.
#include <algorithm>
#include <set>

#include "test/support/amounts.h"
#include "test/support/catch.h"
#include "test/support/random.h"
#include "vswitch/qos/feedback/receiver.h"

using namespace weir;
using weir::testing::kGbit;
using weir::testing::kMs;
using weir::testing::kWireFrame;

namespace {

constexpr VnicId kFlooded = 0;
constexpr VnicId kQuiet = 1;
constexpr Nanos kFloodStep = 1'000;

/// A receiver with 9 Gbit/s, and frames of 84 bytes from 10,000 addresses in random order to one vNIC.
class Flood {
  public:
    explicit Flood(double gbit) : per_step_(gbit / 8 * kFloodStep) {
        receiver_.add(kFlooded, {.reservation = kGbit});
        receiver_.add(kQuiet, {.reservation = kGbit, .limit = kGbit});
    }

    /// One step of the flood, of the clock and of the sweep.
    void step() {
        for (credit_ += per_step_; credit_ >= 84; credit_ -= 84) {
            Feedback feedback{};
            const std::uint64_t address = 0x0200'0000'0000 + random_() % 10'000 * 0x9E37'79B1;
            advertised_ += receiver_.received(kFlooded, address, 84, 0, now_, feedback);
        }
        now_ += kFloodStep;
        if (receiver_.due(now_))
            receiver_.sweep(now_);
    }
    void run(Nanos duration) {
        for (const Nanos end = now_ + duration; now_ < end;)
            step();
    }
    /// A frame of a sender that is not part of the flood. @return the advertised rate, 0 without feedback
    std::uint64_t send(VnicId vnic, std::uint64_t sender) {
        Feedback feedback{};
        return receiver_.received(vnic, sender, kWireFrame, 0, now_, feedback) ? feedback.rate : 0;
    }

    [[nodiscard]] Nanos now() const { return now_; }
    [[nodiscard]] const Receiver& receiver() const { return receiver_; }
    [[nodiscard]] std::uint64_t advertised() const { return advertised_; }

  private:
    Receiver receiver_{{},
                       {.capacity = 9 * kGbit,
                        .line_rate = 10 * kGbit,
                        .period = ReceiverProfile{}.period,
                        .law = {.rate_min = kGbit / 100}}};
    weir::testing::Random32 random_{1};
    double per_step_;
    double credit_ = 0;
    Nanos now_ = ReceiverProfile{}.period;
    std::uint64_t advertised_ = 0;
};

}  // namespace

TEST_CASE(
    "10,000 made-up sources of one vNIC leave another vNIC's senders metered and advertised to in time") {
    std::uint64_t undisturbed = 0;
    for (const double gbit : {0.0, 1.0, 5.0}) {
        Flood flood(gbit);
        flood.run(50 * kMs);
        // Ten senders of 400 Mbit/s each, that is, a frame each 30 us, to a vNIC with 1 Gbit/s.
        std::set<std::uint64_t> limited;
        const Nanos from = flood.now();
        for (std::uint64_t step = 0; flood.now() < from + 2 * kMs; ++step) {
            flood.step();
            if (step % 3 != 0)
                continue;
            const std::uint64_t sender = 1 + step / 3 % 10;
            const std::uint64_t rate = flood.send(kQuiet, sender);
            if (rate != 0 && rate < kGbit / 5)
                limited.insert(sender);
        }
        INFO(gbit << " Gbit/s of flood");
        CHECK(limited.size() == 10);
        CHECK(static_cast<double>(flood.receiver().read(kQuiet).received) ==
              Approx(4.0 * kGbit * kWireFrame / 1500).epsilon(0.1));
        CHECK(flood.receiver().read(kQuiet).advertised < kGbit / 10);
        if (gbit == 0)
            undisturbed = flood.receiver().read(kQuiet).advertised;
        CHECK(flood.receiver().read(kQuiet).advertised == undisturbed);
    }
}

TEST_CASE(
    "what sources without an entry send counts in the vNIC's total: the senders with one get the rest") {
    Flood flood(3);
    flood.run(50 * kMs);
    double rate = 10.0 * kGbit;  // bytes/s of one sender: the line rate, then each advertised rate
    double credit = 0;
    double sent = 0;
    double peak = 0;
    std::uint64_t total = 0;
    for (const Nanos from = flood.now(); flood.now() < from + 60 * kMs;) {
        flood.step();
        for (credit += rate * kFloodStep / 1e9; credit >= kWireFrame; credit -= kWireFrame) {
            if (const std::uint64_t advertised = flood.send(kFlooded, 7); advertised != 0)
                rate = static_cast<double>(std::min(advertised, 10 * kGbit));
            sent += flood.now() >= from + 20 * kMs ? kWireFrame : 0;
        }
        if (flood.now() >= from + 20 * kMs && flood.now() % kMs == 0) {
            if (total != 0)
                peak = std::max(peak, static_cast<double>(flood.receiver().received_total() - total) / 1e-3);
            total = flood.receiver().received_total();
        }
    }
    CHECK(sent / 0.04 == Approx(6.0 * kGbit).epsilon(0.05));
    CHECK(peak < 9.5 * kGbit);
}
