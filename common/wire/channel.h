// channel.h - one direction of the link between a switch and the controller: the records that a sender still
// has to send of a changing table, and the messages that a receiver accepts.
// Source: docs/design.md 5.5; docs/protocol.md. Units: intervals of the controller. Threads: one owner each.
//
// A record is the state of one flow, not a change of it, so receiving it twice does no harm. The sender keeps
// a copy of the records that it sent, and sends only those that differ from it; nothing is acknowledged.
// Every message has a sequence number. A receiver that sees a gap applies the message all the same, and asks
// for a snapshot of the whole table in its own next message. Besides, every 30th message is a snapshot.
// Example: of messages 1 (snapshot), 2, 3 and 4 the third is lost; the receiver applies 1, 2 and 4, asks for
// a snapshot, and is complete again with message 5.
#pragma once

#include <map>
#include <vector>

#include "common/wire/header.h"
#include "common/wire/records.h"

namespace weir::wire {

inline constexpr std::uint32_t kSnapshotIntervals = 30;

/// Numbers the messages that one side sends.
struct Sequencer {
    std::uint64_t epoch = 0;
    std::uint32_t session = 0;
    std::uint32_t sequence = 0;  ///< of the last message

    [[nodiscard]] Header next(Type type, std::uint32_t interval) {
        return {
            .type = type, .epoch = epoch, .session = session, .sequence = ++sequence, .interval = interval};
    }
};

/// The sender of a table: finds the records that the receiver does not have yet.
template <typename Record>
class TableSender {
  public:
    /// The next message will be a snapshot: a session begins, or the receiver asked for one.
    void send_snapshot() { snapshot_due_ = true; }

    /// Finds the records of the next message. They count as sent: a caller that does not send an empty
    /// snapshot calls send_snapshot() again.
    /// @param all the whole table, ordered by flow  @param out replaced  @return whether `out` is a snapshot
    bool changes(const std::vector<Record>& all, std::vector<Record>& out) {
        out.clear();
        if (snapshot_due_ || ++since_snapshot_ >= kSnapshotIntervals) {
            snapshot_due_ = false;
            since_snapshot_ = 0;
            sent_ = all;
            out = all;
            return true;
        }
        // Both tables are ordered by flow, so one walk over both finds new, changed and removed flows.
        std::vector<Record> sent;
        sent.reserve(all.size());
        auto old = sent_.begin();
        for (const Record& now : all) {
            for (; old != sent_.end() && old->flow < now.flow; ++old)
                send_removed(*old, out);
            const bool known = old != sent_.end() && old->flow == now.flow;
            const bool send = !known || differs(*old, now);
            if (send)
                out.push_back(now);
            sent.push_back(send ? now : *old);
            if (known)
                ++old;
        }
        for (; old != sent_.end(); ++old)
            send_removed(*old, out);
        sent_ = std::move(sent);
        return false;
    }
    /// The receiver's table, if no message was lost.
    [[nodiscard]] const std::vector<Record>& sent() const { return sent_; }

  private:
    static void send_removed(const Record& old, std::vector<Record>& out) {
        out.push_back(old);
        make_removed(out.back());
    }
    std::vector<Record> sent_;  // ordered by flow
    std::uint32_t since_snapshot_ = 0;
    bool snapshot_due_ = true;
};

enum class Acceptance : std::uint8_t {
    kAccepted,
    kStale,   ///< not newer than the last accepted message
    kForeign  ///< of another session or epoch
};

/// The receiver of messages: accepts those of its session that are newer than the last.
class MessageFilter {
  public:
    MessageFilter() = default;
    /// Begins a session. Messages of any other are foreign from now on.
    /// @param sequence of the message that opened it
    MessageFilter(std::uint64_t epoch, std::uint32_t session, std::uint32_t sequence = 0)
        : epoch_(epoch), session_(session), sequence_(sequence) {}

    [[nodiscard]] Acceptance accept(const Header& header) {
        if (header.epoch != epoch_ || header.session != session_)
            return Acceptance::kForeign;
        if (header.sequence <= sequence_)
            return Acceptance::kStale;
        missed_ = header.sequence != sequence_ + 1;
        if (header.has(flags::kSnapshot))
            gap_ = false;
        else if (missed_)
            gap_ = true;
        sequence_ = header.sequence;
        return Acceptance::kAccepted;
    }
    /// A message was missed since the last snapshot: ask for another.
    [[nodiscard]] bool gap() const { return gap_; }
    /// A message was missed just before the last accepted one.
    [[nodiscard]] bool missed() const { return missed_; }
    [[nodiscard]] std::uint32_t sequence() const { return sequence_; }

  private:
    std::uint64_t epoch_ = 0;
    std::uint32_t session_ = 0;
    std::uint32_t sequence_ = 0;
    bool gap_ = false;
    bool missed_ = false;
};

/// Applies the records of an accepted message to the receiver's table.
template <typename Record>
void apply(bool snapshot, const std::vector<Record>& records, std::map<FlowKey, Record>& table) {
    if (snapshot)
        table.clear();
    for (const Record& record : records) {
        if (is_removed(record))
            table.erase(record.flow);
        else
            table.insert_or_assign(record.flow, record);
    }
}

}  // namespace weir::wire
