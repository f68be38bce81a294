// service_link.h - link that connections share alike, whichever VM they belong to.
// Source: DRR (SIGCOMM'95); Pulsar 2.1; docs/algorithms.md 13.2.
// Units: bytes; ns.
// Threads: one.
//
// Messages wait without loss, and a sender keeps a bounded number of them on the way. The quantum of the
// deficit round robin is a jumbo frame.
#pragma once

#include <deque>
#include <vector>

#include "bench/sim/services/service_request.h"

namespace weir::sim {

class ServiceLink final : public Station, public Handler {
  public:
    /// @param engine, pool outlive the link
    ServiceLink(Engine& engine, RequestPool& pool, double bits_per_sec, std::size_t connections)
        : engine_(engine), pool_(pool), nanos_per_byte_(8e9 / bits_per_sec), lanes_(connections) {}

    void accept(RequestId id) override;
    /// A message has gone.
    void fire(std::uint32_t what) override;

    [[nodiscard]] std::uint64_t sent_bytes() const { return sent_bytes_; }

  private:
    struct Lane {
        RequestLane waiting;
        std::uint32_t may_send = 0;  // bytes, of its turn
    };

    [[nodiscard]] std::uint32_t size_of(RequestId id);
    void begin_next();

    Engine& engine_;
    RequestPool& pool_;
    double nanos_per_byte_;
    std::vector<Lane> lanes_;          // by connection
    std::deque<std::uint32_t> turns_;  // connections with messages
    bool busy_ = false;
    double carried_ = 0;  // part of a nanosecond
    std::uint64_t sent_bytes_ = 0;
};

}  // namespace weir::sim
