// closed_windows.h - connections whose clients were sent a TCP window of 0, in the order in which windows
// will reopen. Source: docs/algorithms.md 5.5. Units: connections. Threads: one owner (a worker). Allocates
// only when built.
#pragma once

#include <cstdint>
#include <vector>

#include "cost_functions/tracker/connection_id.h"
#include "vswitch/datapath/requests/tcp_window.h"

namespace weir {

class ClosedWindows {
  public:
    using FlowId = std::uint32_t;  ///< a service flow

    /// @param connections whose windows may be closed at once, a power of two
    ClosedWindows(std::uint32_t flows, std::uint32_t connections);

    /// Closes the window, or replaces the update that will reopen it. @return false when there is no room
    bool close(FlowId flow, ConnectionId connection, const WindowUpdate& update);
    [[nodiscard]] bool is_closed(FlowId flow, ConnectionId connection) const {
        return queues_[flow].count != 0 && find(connection) != kNone;
    }
    /// The connection sent again, or ended: nothing needs to reopen its window. @return whether it was closed
    bool open(FlowId flow, ConnectionId connection);
    /// Opens the window that was closed first. @pre count(flow) != 0  @return the frame to send to its client
    [[nodiscard]] WindowUpdate open_next(FlowId flow);
    void forget(FlowId flow);

    [[nodiscard]] std::uint32_t count(FlowId flow) const { return queues_[flow].count; }
    [[nodiscard]] std::uint32_t count() const { return count_; }

  private:
    static constexpr std::uint32_t kNone = UINT32_MAX;
    struct Entry {
        WindowUpdate update;
        ConnectionId connection = 0;
        std::uint32_t next = kNone;  ///< in its flow's queue, or among the free entries
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
