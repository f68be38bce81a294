// tcp_window.h - the TCP window that a service advertises to a client: read, lowered in passing, and sent
// again. Source: RFC 9293 3.8; RFC 7323 2; RFC 1624; AC/DC (SIGCOMM'16); vCC (SIGCOMM'16). Units: bytes;
// `field` is the value in the header, before scaling. Threads: any (values).
#pragma once

#include <array>
#include <cstdint>
#include <optional>

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
    /// Copies headers and window of the service's frame, before its window is lowered.
    /// @param scale of the service's windows
    static WindowUpdate of(const rte_mbuf* frame, const TcpView& view, unsigned scale);
    /// @return a new frame; nullptr when the pool is empty
    [[nodiscard]] rte_mbuf* make(rte_mempool* pool) const;

  private:
    static constexpr std::size_t kBytesMax = 14 + 40 + 20;

    std::array<std::uint8_t, kBytesMax> bytes_{};
    std::uint8_t size_ = 0;
};

}  // namespace weir
