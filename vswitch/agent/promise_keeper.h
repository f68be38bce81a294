// promise_keeper.h - when the promises of a session are written, and those of an earlier run put into force.
// Source: docs/operations.md. Units: Nanos of a monotonic clock, Unix seconds where a name says so.
// Threads: agent.
//
// They are written when they change, at most every 5 s, and when the session ends; while nothing changes once
// a minute, so that the file states when the controller was there last. Example: promises of 12:00:00 that
// the controller changes at 12:00:01 and 12:00:02 are written at 12:00:00 and 12:00:05.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/clock.h"
#include "vswitch/agent/controller_session.h"
#include "vswitch/agent/promise_file.h"
#include "vswitch/agent/switch_control.h"

namespace weir {

/// Seconds in the largest unit of which there are two: "12 min".
[[nodiscard]] std::string age_text(std::int64_t seconds);

class PromiseKeeper {
  public:
    PromiseKeeper(std::string path, std::string host) : file_(std::move(path), std::move(host)) {}
    /// Puts the promises of the file into force, or logs why it is not used.
    void restore(ControllerSession& session, std::int64_t unix_now);
    /// Writes the promises when that is due. A file that cannot be written is named once.
    void tick(const ControllerSession& session, Nanos now, std::int64_t unix_now);
    /// Writes the promises that a controller confirmed since the start: the switch stops.
    void finish(const ControllerSession& session);
    [[nodiscard]] PromiseReport report(const ControllerSession& session, std::int64_t unix_now) const;

  private:
    [[nodiscard]] bool is_due(const ControllerSession& session, bool is_open, Nanos now) const;
    void write(const ControllerSession& session);

    PromiseFile file_;
    std::int64_t confirmed_ = 0;  ///< Unix seconds: the session was open last; 0 = never
    bool is_of_file_ = false;     ///< no controller has confirmed them since the start
    bool was_open_ = false;
    std::uint64_t written_ = 0;  ///< revision
    std::optional<Nanos> written_at_;
    std::string fault_;
};

}  // namespace weir
