// deferred_writes.cc - one transaction for all, and the state of a store that refuses it.
#include "ctrl/store/deferred_writes.h"

#include <iterator>
#include <utility>

#include "common/error.h"

namespace weir {

void DeferredWrites::note(std::string_view kind, std::string text, std::int64_t unix_time,
                          const std::string& peer) {
    const bool has_room =
        peer.empty() ? notes_ < kNotesPerTick : peers_notes_ < kNotesPerTick && peers_[peer] < kNotesPerPeer;
    if (!has_room) {
        ++omitted_by_[omitted_by_.contains(peer) || omitted_by_.size() < kPeersNamed ? peer : std::string()];
        ++state_.audit_omitted;
        return;
    }
    if (peer.empty()) {
        ++notes_;
    } else {
        ++peers_notes_;
        ++peers_[peer];
    }
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

DeferredWrites::~DeferredWrites() {
    constexpr std::chrono::seconds kPatience{10};
    if (!writer_)
        return;
    if (auto outcome = writer_->take(kPatience); outcome && !outcome->fault.empty())
        take_back(std::move(outcome->changes));
    writer_.reset();
    flush(0);
}

bool DeferredWrites::flush(std::int64_t unix_time) {
    constexpr std::chrono::milliseconds kPatience{100};
    if (writer_)  // the write that is under way, then this one
        return exchange_with_thread({}, unix_time) || exchange_with_thread(kPatience, unix_time) ||
               exchange_with_thread(kPatience, unix_time);
    if (changes_.is_empty())
        return true;
    try {
        store_.write(changes_);
    } catch (const HostError& error) {
        on_fault(error.what(), unix_time);
        return false;
    }
    changes_ = {};
    on_written(unix_time);
    return true;
}

bool DeferredWrites::exchange_with_thread(std::chrono::milliseconds patience, std::int64_t unix_time) {
    if (auto outcome = writer_->take(patience)) {
        if (outcome->fault.empty()) {
            on_written(unix_time);
        } else {
            take_back(std::move(outcome->changes));
            on_fault(outcome->fault, unix_time);
        }
    }
    if (writer_->is_busy()) {
        if (writer_->under_way() >= kSlow && state_.fault.empty())
            on_fault("store: the disk has not answered for " + std::to_string(kSlow.count()) +
                         " s; look at it (another program may use it up, or it fails)",
                     unix_time);
        return false;
    }
    if (changes_.is_empty())
        return true;
    writer_->post(std::exchange(changes_, {}));
    return false;
}

/// Newer values are kept, and older entries come first.
void DeferredWrites::take_back(StoreChanges changes) {
    changes_.allocations.merge(changes.allocations);
    changes_.use.merge(changes.use);
    if (!changes_.pool_settings)
        changes_.pool_settings = std::move(changes.pool_settings);
    changes.audit.insert(changes.audit.end(), std::make_move_iterator(changes_.audit.begin()),
                         std::make_move_iterator(changes_.audit.end()));
    changes_.audit = std::move(changes.audit);
}

std::vector<AuditEntry> DeferredWrites::waiting() const {
    std::vector<AuditEntry> entries = writer_ ? writer_->audit() : std::vector<AuditEntry>();
    entries.insert(entries.end(), changes_.audit.begin(), changes_.audit.end());
    return entries;
}

void DeferredWrites::on_fault(const std::string& fault, std::int64_t unix_time) {
    if (!state_.is_failing())
        state_.failing_since = unix_time;
    state_.fault = fault;
    ++state_.refused;
}

void DeferredWrites::on_written(std::int64_t unix_time) {
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
    for (const auto& [peer, count] : omitted_by_)
        add({.unix_time = unix_time,
             .kind = "audit",
             .text = std::to_string(count) + " more entries in this interval" +
                     (peer.empty() ? std::string() : ", of " + peer)});
    notes_ = 0;
    peers_notes_ = 0;
    peers_.clear();
    omitted_by_.clear();
    if (writer_)
        exchange_with_thread({}, unix_time);
    else
        flush(unix_time);
}

}  // namespace weir
