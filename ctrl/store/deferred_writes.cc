// deferred_writes.cc - one transaction for all, and the state of a store that refuses it.
#include "ctrl/store/deferred_writes.h"

#include "common/error.h"

namespace weir {

void DeferredWrites::note(std::string_view kind, std::string text, std::int64_t unix_time) {
    if (notes_ == kNotesPerTick) {
        ++omitted_;
        ++state_.audit_omitted;
        return;
    }
    ++notes_;
    add({.unix_time = unix_time, .kind = std::string(kind), .text = std::move(text)});
}

void DeferredWrites::note_change(AuditEntry entry) {
    add(std::move(entry));
}

void DeferredWrites::add(AuditEntry entry) {
    if (changes_.audit.size() >= kNotesWaitingMax)
        ++state_.audit_lost;
    else
        changes_.audit.push_back(std::move(entry));
}

bool DeferredWrites::flush(std::int64_t unix_time) {
    if (changes_.is_empty())
        return true;
    try {
        store_.write(changes_);
    } catch (const HostError& error) {
        if (!state_.is_failing())
            state_.failing_since = unix_time;
        state_.fault = error.what();
        ++state_.refused;
        return false;
    }
    on_written(unix_time);
    return true;
}

void DeferredWrites::on_written(std::int64_t unix_time) {
    changes_ = {};
    if (!state_.is_failing())
        return;
    add({.unix_time = unix_time,
         .kind = "store",
         .text = "written again after " + std::to_string(unix_time - state_.failing_since) + " s without (" +
                 state_.fault + "); " + std::to_string(state_.audit_lost - lost_before_) +
                 " entries were lost"});
    lost_before_ = state_.audit_lost;
    state_.failing_since = 0;
    state_.fault.clear();
}

void DeferredWrites::end_tick(std::int64_t unix_time) {
    if (omitted_ != 0)
        add({.unix_time = unix_time,
             .kind = "audit",
             .text = std::to_string(omitted_) + " more entries in this interval"});
    notes_ = 0;
    omitted_ = 0;
    flush(unix_time);
}

}  // namespace weir
