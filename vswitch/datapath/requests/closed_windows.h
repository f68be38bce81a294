// closed_windows.h - connections whose clients have been told that the service takes nothing, in the order in
// which they are to be told better. Units: none. Threads: one owner (a worker). Allocates only when built.
#pragma once

#include <cstdint>
#include <vector>

#include "cost_functions/tracker/connection_id.h"
#include "vswitch/datapath/requests/tcp_window.h"

namespace weir {

class ClosedWindows {
  public:
    using Flow = std::uint32_t;

    /// @param connections that may be closed at once, a power of two
    ClosedWindows(std::uint32_t flows, std::uint32_t connections);

    /// The client's window is closed; what it will be told is kept, or replaced. @return false: no room
    bool close(Flow flow, ConnectionId connection, const WindowUpdate& update);
    [[nodiscard]] bool closed(Flow flow, ConnectionId connection) const {
        return queues_[flow].count != 0 && find(connection) != kNone;
    }
    /// The connection is open again, or gone. @return whether it was closed
    bool open(Flow flow, ConnectionId connection);
    /// The next to be opened, which it is then. The flow has one.
    [[nodiscard]] WindowUpdate open_next(Flow flow);
    void forget(Flow flow);

    [[nodiscard]] std::uint32_t count(Flow flow) const { return queues_[flow].count; }
    [[nodiscard]] std::uint32_t count() const { return count_; }

  private:
    static constexpr std::uint32_t kNone = UINT32_MAX;
    struct Entry {
        WindowUpdate update;
        ConnectionId connection = 0;
        std::uint32_t next = kNone;  ///< of its flow, or among the free
        std::uint32_t before = kNone;
        std::uint32_t next_hash = kNone;
    };
    struct Queue {
        std::uint32_t head = kNone;
        std::uint32_t tail = kNone;
        std::uint32_t count = 0;
    };

    [[nodiscard]] std::size_t bucket(ConnectionId connection) const { return connection & mask_; }
    [[nodiscard]] std::uint32_t find(ConnectionId connection) const {
        std::uint32_t at = buckets_[bucket(connection)];
        while (at != kNone && entries_[at].connection != connection)
            at = entries_[at].next_hash;
        return at;
    }
    void remove(Queue& queue, std::uint32_t at);

    std::size_t mask_;
    std::uint32_t free_ = 0;
    std::uint32_t count_ = 0;
    std::vector<Entry> entries_;
    std::vector<std::uint32_t> buckets_;
    std::vector<Queue> queues_;
};

}  // namespace weir
