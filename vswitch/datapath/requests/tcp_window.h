// tcp_window.h - the window that a service advertises to a client: read, lowered on its way, and told anew.
// Source: RFC 9293 3.8, RFC 7323 2 (scale), RFC 1624 (checksum); AC/DC and vCC (SIGCOMM'16) for the idea.
// Units: bytes; `field` is the header's, not scaled. Threads: any (values).
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "vswitch/datapath/requests/tcp_view.h"

struct rte_mbuf;
struct rte_mempool;

namespace weir {

/// By how many bits the fields of whoever sent this SYN are to be shifted; 0 without the option.
[[nodiscard]] unsigned window_scale(const rte_mbuf* syn, const TcpView& view);

/// Lowers the window to `field`; a lower one stays. Nothing happens to a frame that somebody else holds too.
void lower_window(rte_mbuf* frame, const TcpView& view, std::uint16_t field);

/// What is needed to tell a client a window that has been kept from it: a bare acknowledgement.
class WindowUpdate {
  public:
    /// Of the frame that would have told it. @param scale as the service announced it
    static WindowUpdate of(const rte_mbuf* frame, const TcpView& view, unsigned scale);
    /// nullptr when there is no buffer
    [[nodiscard]] rte_mbuf* make(rte_mempool* pool) const;

  private:
    static constexpr std::size_t kBytesMax = 14 + 40 + 20;

    std::array<std::uint8_t, kBytesMax> bytes_{};
    std::uint8_t size_ = 0;
};

}  // namespace weir
