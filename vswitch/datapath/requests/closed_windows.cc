// closed_windows.cc - a queue of entries for each service flow, and one hash table over all entries.
#include "vswitch/datapath/requests/closed_windows.h"

#include <bit>
#include <cassert>

namespace weir {

ClosedWindows::ClosedWindows(std::uint32_t flows, std::uint32_t connections)
    : mask_(connections - 1), entries_(connections), buckets_(connections, kNone), queues_(flows) {
    assert(std::has_single_bit(connections));
    for (std::uint32_t at = 0; at < connections; ++at)
        entries_[at].next = at + 1 < connections ? at + 1 : kNone;
}

bool ClosedWindows::close(FlowId flow, ConnectionId connection, const WindowUpdate& update) {
    std::uint32_t at = find(connection);
    if (at != kNone) {
        entries_[at].update = update;
        return true;
    }
    at = free_;
    if (at == kNone)
        return false;
    free_ = entries_[at].next;
    Queue& queue = queues_[flow];
    std::uint32_t& first = buckets_[bucket(connection)];
    entries_[at] = {update, connection, kNone, queue.tail, first};
    first = at;
    (queue.tail == kNone ? queue.head : entries_[queue.tail].next) = at;
    queue.tail = at;
    ++queue.count;
    ++count_;
    return true;
}

bool ClosedWindows::open(FlowId flow, ConnectionId connection) {
    if (queues_[flow].count == 0)
        return false;
    const std::uint32_t at = find(connection);
    if (at == kNone)
        return false;
    remove(queues_[flow], at);
    return true;
}

WindowUpdate ClosedWindows::open_next(FlowId flow) {
    Queue& queue = queues_[flow];
    assert(queue.count != 0);
    const std::uint32_t at = queue.head;
    remove(queue, at);
    return entries_[at].update;
}

void ClosedWindows::forget(FlowId flow) {
    for (Queue& queue = queues_[flow]; queue.head != kNone;)
        remove(queue, queue.head);
}

void ClosedWindows::remove(Queue& queue, std::uint32_t at) {
    Entry& entry = entries_[at];
    (entry.before == kNone ? queue.head : entries_[entry.before].next) = entry.next;
    (entry.next == kNone ? queue.tail : entries_[entry.next].before) = entry.before;
    std::uint32_t* link = &buckets_[bucket(entry.connection)];
    while (*link != at)
        link = &entries_[*link].next_hash;
    *link = entry.next_hash;
    entry.next = free_;
    free_ = at;
    --queue.count;
    --count_;
}

}  // namespace weir
