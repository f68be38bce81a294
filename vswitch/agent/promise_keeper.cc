// promise_keeper.cc - PromiseKeeper: its timers, and its lines of the log.
#include "vswitch/agent/promise_keeper.h"

#include <spdlog/spdlog.h>

#include <algorithm>

#include "common/utc_text.h"

namespace weir {
namespace {

constexpr Nanos kChangedPeriod = 5 * kNanosPerSec;
constexpr Nanos kUnchangedPeriod = 60 * kNanosPerSec;

}  // namespace

std::string age_text(std::int64_t seconds) {
    struct Unit {
        std::int64_t seconds;
        const char* name;
    };
    for (const Unit& unit : {Unit{86'400, " d"}, Unit{3'600, " h"}, Unit{60, " min"}})
        if (seconds >= 2 * unit.seconds)
            return std::to_string(seconds / unit.seconds) + unit.name;
    return std::to_string(std::max<std::int64_t>(seconds, 0)) + " s";
}

void PromiseKeeper::restore(ControllerSession& session, std::int64_t unix_now) {
    const PromiseFile::Read found = file_.read();
    if (!found.refusal.empty())
        spdlog::warn(
            "{}: not used: {}; until the controller answers, the limits of the configuration alone hold",
            file_.path(), found.refusal);
    if (!found.promises)
        return;
    confirmed_ = found.promises->confirmed;
    is_of_file_ = true;
    session.restore(found.promises->welcome, found.promises->tables);
    written_ = session.promise_revision();
    spdlog::info("controller: until it answers, its promises of {} (age {}) are in force",
                 utc_text(confirmed_), age_text(unix_now - confirmed_));
}

bool PromiseKeeper::is_due(const ControllerSession& session, bool is_open, Nanos now) const {
    if (confirmed_ == 0 || is_of_file_)
        return false;
    const Nanos since = written_at_ ? now - *written_at_ : kNever;
    const bool is_changed = session.promise_revision() != written_;
    return (is_changed && since >= kChangedPeriod) || (is_open && since >= kUnchangedPeriod) ||
           (was_open_ && !is_open);
}

void PromiseKeeper::tick(const ControllerSession& session, Nanos now, std::int64_t unix_now) {
    const bool is_open = session.has_promises();
    if (is_open) {
        confirmed_ = unix_now;
        is_of_file_ = false;
    }
    if (is_due(session, is_open, now)) {
        written_at_ = now;
        write(session);
    }
    was_open_ = is_open;
}

void PromiseKeeper::finish(const ControllerSession& session) {
    if (confirmed_ != 0 && !is_of_file_)
        write(session);
}

void PromiseKeeper::write(const ControllerSession& session) {
    written_ = session.promise_revision();
    std::string fault = file_.write({confirmed_, session.welcome(), session.tables()});
    if (fault != fault_ && !fault.empty())
        spdlog::warn(
            "{}: {}; a switch that starts while the controller is away will have no promises: give the "
            "switch's user write access to the folder",
            file_.path(), fault);
    fault_ = std::move(fault);
}

PromiseReport PromiseKeeper::report(const ControllerSession& session, std::int64_t unix_now) const {
    return {.confirmed = confirmed_,
            .age = std::max<std::int64_t>(unix_now - confirmed_, 0),
            .of_file = is_of_file_,
            .in_force = session.is_static() && confirmed_ != 0};
}

}  // namespace weir
