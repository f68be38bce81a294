// engine.h - virtual time: a queue of events, fired in order of time and, at equal times, of insertion.
// Source: LaMarca and Ladner (JEA'96); docs/algorithms.md 13.1.
// Units: ns.
// Threads: one.
//
// The queue is a heap with four children per node. The event that fires leaves a hole at the top, which the
// first event that its handler adds fills: most handlers add one event, and filling the hole costs one walk
// down instead of a walk up and one down.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/clock.h"

namespace weir::sim {

/// The object that an event calls. `what` is the handler's own word for one of its reasons.
class Handler {
  public:
    virtual void fire(std::uint32_t what) = 0;

  protected:
    ~Handler() = default;
};

class Engine {
  public:
    explicit Engine(std::size_t events_expected = 4096) { heap_.reserve(events_expected); }
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    [[nodiscard]] Nanos now() const { return now_; }
    /// How many events have fired.
    [[nodiscard]] std::uint64_t fired() const { return fired_; }

    /// @param when not before now; kNever is not an event
    void at(Nanos when, Handler& target, std::uint32_t what = 0) {
        assert(when >= now_ && when != kNever);
        const Event event{when, &target, order_++, what};
        if (hole_) {
            hole_ = false;
            sink(event);
            return;
        }
        heap_.push_back(event);
        rise(heap_.size() - 1, event);
    }
    void after(Nanos delay, Handler& target, std::uint32_t what = 0) { at(now_ + delay, target, what); }

    /// Fires everything before `end`, then stands there.
    void run_until(Nanos end) {
        while (!heap_.empty() && heap_.front().at < end) {
            const Event event = heap_.front();
            now_ = event.at;
            ++fired_;
            hole_ = true;
            event.target->fire(event.what);
            if (hole_)
                close_hole();
        }
        now_ = end;
    }

  private:
    struct Event {
        Nanos at;
        Handler* target;
        std::uint32_t order;  // wraps; equal times lie much closer than half its range
        std::uint32_t what;

        [[nodiscard]] bool before(const Event& other) const {
            return at != other.at ? at < other.at : static_cast<std::int32_t>(order - other.order) < 0;
        }
    };
    static_assert(sizeof(Event) == 24);
    static constexpr std::size_t kArity = 4;

    void rise(std::size_t i, const Event& event) {
        while (i != 0) {
            const std::size_t parent = (i - 1) / kArity;
            if (!event.before(heap_[parent]))
                break;
            heap_[i] = heap_[parent];
            i = parent;
        }
        heap_[i] = event;
    }

    /// Puts an event in at the top, where the hole is.
    void sink(const Event& event) {
        const std::size_t size = heap_.size();
        std::size_t i = 0;
        for (std::size_t child = 1; child < size; child = kArity * i + 1) {
            const std::size_t end = child + kArity < size ? child + kArity : size;
            std::size_t least = child;
            for (std::size_t k = child + 1; k < end; ++k)
                least = heap_[k].before(heap_[least]) ? k : least;
            if (!heap_[least].before(event))
                break;
            heap_[i] = heap_[least];
            i = least;
        }
        heap_[i] = event;
    }

    void close_hole() {
        hole_ = false;
        const Event last = heap_.back();
        heap_.pop_back();
        if (!heap_.empty())
            sink(last);
    }

    std::vector<Event> heap_;
    Nanos now_ = 0;
    std::uint64_t fired_ = 0;
    std::uint32_t order_ = 0;
    bool hole_ = false;  // the top is the event that fires now
};

}  // namespace weir::sim
