// channel.h - one direction of the talk between a switch and the controller: what is said of a changing table
// of flows, and what is believed of it. A lost, repeated, reordered or stale message does no harm.
// Source: design section 5 (state, not commands), algorithms 10. Threads: one owner each.
//
// Every record is a state, none is a step: to hear one twice changes nothing. Who finds a gap in the sequence
// takes what came, and asks for a snapshot in its own next message; one comes every 30th interval anyway.
#pragma once

#include <algorithm>
#include <map>
#include <vector>

#include "common/wire/header.h"
#include "common/wire/records.h"

namespace weir::wire {

inline constexpr std::uint32_t kSnapshotIntervals = 30;

/// Numbers what one side says.
struct Origin {
    std::uint64_t epoch = 0;
    std::uint32_t session = 0;
    std::uint32_t sequence = 0;  ///< of the last message

    [[nodiscard]] Header next(Type type, std::uint32_t interval) {
        return {
            .type = type, .epoch = epoch, .session = session, .sequence = ++sequence, .interval = interval};
    }
};

/// What of a table has been said, so that only changes are said again.
template <typename Record>
class Teller {
  public:
    /// The next message is a snapshot: a new session, or the other side asked for one.
    void start_over() { snapshot_due_ = true; }

    /// The records to say now, of all that there are, ordered by flow. @return whether they are a snapshot
    bool changes(const std::vector<Record>& all, std::vector<Record>& out) {
        out.clear();
        if (snapshot_due_ || ++since_snapshot_ >= kSnapshotIntervals) {
            snapshot_due_ = false;
            since_snapshot_ = 0;
            said_ = all;
            out = all;
            return true;
        }
        // Both are ordered: walk them together.
        std::vector<Record> said;
        said.reserve(all.size());
        auto old = said_.begin();
        for (const Record& now : all) {
            for (; old != said_.end() && old->flow < now.flow; ++old)
                say_gone(*old, out);
            const bool known = old != said_.end() && old->flow == now.flow;
            const bool tell = !known || differs(*old, now);
            if (tell)
                out.push_back(now);
            said.push_back(tell ? now : *old);
            if (known)
                ++old;
        }
        for (; old != said_.end(); ++old)
            say_gone(*old, out);
        said_ = std::move(said);
        return false;
    }
    /// What the other side knows if nothing was lost.
    [[nodiscard]] const std::vector<Record>& said() const { return said_; }

  private:
    static void say_gone(const Record& old, std::vector<Record>& out) {
        out.push_back(old);
        make_gone(out.back());
    }
    std::vector<Record> said_;  // ordered by flow
    std::uint32_t since_snapshot_ = 0;
    bool snapshot_due_ = true;
};

enum class Accepted : std::uint8_t { kYes, kStale, kForeign };

/// Which messages of the other side count.
class Listener {
  public:
    Listener() = default;
    /// A new session: nothing of another one counts any more.
    /// @param sequence of the message that opened it
    Listener(std::uint64_t epoch, std::uint32_t session, std::uint32_t sequence = 0)
        : epoch_(epoch), session_(session), sequence_(sequence) {}

    [[nodiscard]] Accepted accept(const Header& header) {
        if (header.epoch != epoch_ || header.session != session_)
            return Accepted::kForeign;
        if (header.sequence <= sequence_)
            return Accepted::kStale;
        missed_ = header.sequence != sequence_ + 1;
        if (header.has(flags::kSnapshot))
            gap_ = false;
        else if (missed_)
            gap_ = true;
        sequence_ = header.sequence;
        return Accepted::kYes;
    }
    /// Something was missed since the last snapshot.
    [[nodiscard]] bool gap() const { return gap_; }
    /// Something was missed just before the last message that counted.
    [[nodiscard]] bool missed() const { return missed_; }
    [[nodiscard]] std::uint32_t sequence() const { return sequence_; }

  private:
    std::uint64_t epoch_ = 0;
    std::uint32_t session_ = 0;
    std::uint32_t sequence_ = 0;
    bool gap_ = false;
    bool missed_ = false;
};

/// Applies what was accepted to a table by flow.
template <typename Record>
void apply(bool snapshot, const std::vector<Record>& records, std::map<FlowKey, Record>& table) {
    if (snapshot)
        table.clear();
    for (const Record& record : records) {
        if (is_gone(record))
            table.erase(record.flow);
        else
            table.insert_or_assign(record.flow, record);
    }
}

}  // namespace weir::wire
