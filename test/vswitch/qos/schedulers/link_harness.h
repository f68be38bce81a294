// link_harness.h - a link with a scheduler and sources on a manual clock, for the scheduler's tests and
// benches. Threads: one.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "test/support/amounts.h"
#include "vswitch/qos/schedulers/link_scheduler.h"
#include "vswitch/qos/schedulers/registry.h"

namespace weir::testing {

[[nodiscard]] inline ClassProfile shares(std::uint32_t n) {
    return {.shares = n};
}
[[nodiscard]] inline ClassProfile reserved(std::uint64_t rate, std::uint32_t n = 100) {
    return {.reservation = rate, .shares = n};
}

struct Source {
    ClassProfile profile = {};
    std::uint64_t limit = 0;           ///< bytes/s; 0 = none
    std::uint32_t frame = kWireFrame;  ///< wire bytes of each packet
    bool greedy = true;                ///< always backlogged while on
    std::uint64_t offered = 0;         ///< bytes so far; refused packets do not count
    std::uint64_t sent = 0;
    std::uint64_t next_in = 0;  ///< sequence numbers, to see that order is kept
    std::uint64_t next_out = 0;
    bool in_order = true;
    Nanos delay_max = 0;
};

class LinkHarness {
  public:
    explicit LinkHarness(std::uint64_t capacity, std::vector<Source> list, std::string_view scheduler = "wrr")
        : sources(std::move(list)),
          wheel(static_cast<std::uint32_t>(sources.size())),
          limiters(sources.size()),
          link(make_scheduler(*find_scheduler(scheduler),
                              {.classes = sources.size(), .queue_packets = 256, .wheel = &wheel})) {
        link->set_capacity(capacity, 0);
        for (std::size_t i = 0; i < sources.size(); ++i) {
            if (sources[i].limit != 0)
                limiters[i].set_profiles(make_profile(sources[i].limit, burst_for_rate(sources[i].limit)),
                                         unlimited_profile(), 0);
            link->add(static_cast<VnicId>(i), sources[i].profile, &limiters[i], 0);
        }
    }

    /// One packet from a source. @return false when the class had no room
    bool offer(std::size_t i) {
        Source& s = sources[i];
        const auto id = static_cast<VnicId>(i);
        if (link->room(id) == 0)
            return false;
        // NOLINTNEXTLINE(performance-no-int-to-ptr): the pointer is opaque to the scheduler
        void* const tag = reinterpret_cast<void*>((static_cast<std::uintptr_t>(i) << 48) | s.next_in);
        if (!link->enqueue(id, {tag, now, s.frame, 1, 1}, now))
            return false;
        ++s.next_in;
        s.offered += s.frame;
        return true;
    }

    /// Fires the wheel, lets the scheduler send all it can, moves the clock. @return bytes sent
    std::uint64_t poll(Nanos step) {
        if (wheel.next_due() <= now)
            wheel.advance(now, 1024, [this](TimingWheel::Ids ids) {
                for (const std::uint32_t id : ids)
                    link->wake(static_cast<VnicId>(id), now);
            });
        std::uint64_t bytes = 0;
        std::array<PacketRef, 32> out;
        for (std::size_t n = out.size(); n == out.size();) {
            n = link->dequeue_burst(now, out);
            for (std::size_t k = 0; k < n; ++k)
                bytes += receive(out[k]);
        }
        now += step;
        return bytes;
    }

    /// Keeps greedy sources backlogged. @return bytes sent
    std::uint64_t run(Nanos duration, Nanos step) {
        std::uint64_t bytes = 0;
        for (const Nanos end = now + duration; now < end;) {
            for (std::size_t i = 0; i < sources.size(); ++i)
                while (sources[i].greedy && offer(i)) {
                }
            bytes += poll(step);
        }
        return bytes;
    }

    /// A source that sends past the queues whenever it may: a packet every `gap`.
    void run_past(std::size_t i, int packets, Nanos gap) {
        const auto id = static_cast<VnicId>(i);
        for (; packets > 0; --packets, now += gap)
            if (link->can_bypass(id, sources[i].frame, now))
                link->bypass(id, sources[i].frame, now);
    }

    /// Bytes/s of a source since the last call of forget().
    [[nodiscard]] double rate(std::size_t i) const {
        return static_cast<double>(sources[i].sent) * 1e9 / static_cast<double>(now - since);
    }
    void forget() {
        since = now;
        for (Source& s : sources)
            s.sent = 0;
    }

    Nanos now = 1'000'000;  ///< the link started empty at 0; its bucket is full now
    Nanos since = now;
    std::vector<Source> sources;
    TimingWheel wheel;
    std::vector<Limiter> limiters;
    std::unique_ptr<LinkScheduler> link;

  private:
    std::uint64_t receive(const PacketRef& packet) {
        const auto tag = reinterpret_cast<std::uintptr_t>(packet.packet);
        Source& s = sources[tag >> 48];
        s.in_order &= (tag & 0xFFFF'FFFF'FFFF) == s.next_out;
        ++s.next_out;
        s.sent += packet.bytes;
        s.delay_max = std::max(s.delay_max, now - packet.enqueued);
        return packet.bytes;
    }
};

}  // namespace weir::testing
