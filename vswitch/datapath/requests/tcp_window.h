// tcp_window.h - TCP windows that appliances advertise: lowered in passing frames, kept, and sent again.
// Source: RFC 9293; RFC 7323; RFC 1624; AC/DC (SIGCOMM'16); vCC (SIGCOMM'16); docs/algorithms.md 5.5.
// Units: bytes; `field` is the value in the header, before scaling. Threads: one owner (a worker). Allocates
// only when built.
//
// A frame from an appliance advertises the bytes that the appliance can take. Lowering that window to 0 in
// the passing frame keeps the client from sending its next request; the frame's headers are kept as a
// WindowUpdate, an acknowledgement with the appliance's own window that reopens it later. ClosedWindows holds
// these updates in the order in which windows will reopen.
//
// The field in the header is the window in bytes shifted right by the scale of the appliance's SYN. Example:
// with scale 7 a window of 8,192 bytes is a field of 64; lowered to 0 and sent again it is 64 once more. The
// window of a SYN itself is not scaled.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "common/shared_room.h"
#include "cost_functions/tracker/connection_id.h"
#include "vswitch/datapath/requests/tcp_view.h"

struct rte_mbuf;
struct rte_mempool;

namespace weir {

/// Bits by which the windows of this SYN's sender are scaled; 0 without the option.
[[nodiscard]] unsigned window_scale(const rte_mbuf* syn, const TcpView& view);

/// Lowers the window in the header to `field` and corrects the checksum. Does nothing when the window is
/// lower already, or when the frame's buffer is shared.
void lower_window(rte_mbuf* frame, const TcpView& view, std::uint16_t field);

/// An acknowledgement without payload that sends a client the window that was kept from it.
class WindowUpdate {
  public:
    /// Copies headers, window and timestamps (RFC 7323: a segment without them would be dropped where both
    /// sides use them) of the service's frame, before its window is lowered.
    /// @param scale of the service's windows
    static WindowUpdate of(const rte_mbuf* frame, const TcpView& view, unsigned scale);
    /// @return a new frame; nullptr when the pool is empty
    [[nodiscard]] rte_mbuf* make(rte_mempool* pool) const;

  private:
    static constexpr std::size_t kBytesMax = 14 + 40 + 20 + 12;

    std::array<std::uint8_t, kBytesMax> bytes_{};
    std::uint8_t size_ = 0;
};

/// Connections whose clients were sent a window of 0, oldest first: a queue for each service flow, and one
/// hash table over all entries.
class ClosedWindows {
  public:
    using FlowId = std::uint32_t;  ///< a service flow

    /// @param connections whose windows may be closed at once, a power of two; one of each flow
    ClosedWindows(std::uint32_t flows, std::uint32_t connections);

    /// Closes the window, or replaces the update that will reopen it. @return false when the flow has no
    /// room
    bool close(FlowId flow, ConnectionId connection, const WindowUpdate& update);
    [[nodiscard]] bool is_closed(FlowId flow, ConnectionId connection) const {
        return count(flow) != 0 && find(connection) != kNone;
    }
    /// The connection sent again, or ended: nothing needs to reopen its window. @return whether it was closed
    bool open(FlowId flow, ConnectionId connection);
    /// Opens the window that was closed first. @pre count(flow) != 0  @return the frame to send to its client
    [[nodiscard]] WindowUpdate open_next(FlowId flow);
    void forget(FlowId flow);

    [[nodiscard]] std::uint32_t count(FlowId flow) const { return room_.used(flow); }
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
    };

    [[nodiscard]] std::size_t bucket(ConnectionId connection) const { return connection & mask_; }
    [[nodiscard]] std::uint32_t find(ConnectionId connection) const {
        std::uint32_t at = buckets_[bucket(connection)];
        while (at != kNone && entries_[at].connection != connection)
            at = entries_[at].next_hash;
        return at;
    }
    void remove(FlowId flow, std::uint32_t at);

    std::size_t mask_;
    std::uint32_t free_ = 0;
    std::uint32_t count_ = 0;
    SharedRoom room_;
    std::vector<Entry> entries_;
    std::vector<std::uint32_t> buckets_;
    std::vector<Queue> queues_;
};

}  // namespace weir
