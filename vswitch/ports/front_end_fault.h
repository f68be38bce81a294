// front_end_fault.h - why the front-end of a vNIC was disconnected, until one is served.
// Source: docs/design.md 7. Units: ns of the steady clock. Threads: any.
//
// A front-end that is refused comes back in a moment and is refused again. So the fault outlasts the
// connections between: only one that lasts a second after its first message ends it.
#pragma once

#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace weir {

class FrontEndFault {
  public:
    using Clock = std::chrono::steady_clock;
    static constexpr std::chrono::seconds kServed{1};

    /// A front-end is not served, or was disconnected. @param why in one line, with the value found and the
    /// allowed ones
    void refuse(std::string why) {
        const std::scoped_lock lock(mutex_);
        why_ = std::move(why);
        since_.reset();
    }
    /// The first message of a connection has passed.
    void serve(Clock::time_point now) {
        const std::scoped_lock lock(mutex_);
        since_ = now;
    }
    /// The connection has ended.
    void end(Clock::time_point now) {
        const std::scoped_lock lock(mutex_);
        forget_if_served(now);
        since_.reset();
    }
    /// @return the last fault; empty: none, or a later front-end has been served
    [[nodiscard]] std::string text(Clock::time_point now) {
        const std::scoped_lock lock(mutex_);
        forget_if_served(now);
        return why_;
    }

  private:
    void forget_if_served(Clock::time_point now) {
        if (since_ && now - *since_ >= kServed)
            why_.clear();
    }

    std::mutex mutex_;
    std::string why_;
    std::optional<Clock::time_point> since_;  ///< of the connection that is served
};

}  // namespace weir
