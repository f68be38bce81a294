// udp_source.h - streams that send at a rate, always or in bursts, without any feedback.
// Source: EyeQ 2.2, 5.
// Units: bytes on the wire; ns.
// Threads: one.
#pragma once

#include <deque>
#include <vector>

#include "bench/sim/random.h"
#include "bench/sim/source.h"

namespace weir::sim {

class UdpSource final : public Source {
  public:
    UdpSource(const Site& site, const SourceSpec& spec, std::uint64_t index);
    [[nodiscard]] nlohmann::json summary() override;

  private:
    class Stream;

    const Site& site_;
    std::deque<Stream> streams_;
};

/// One sender and its destinations, to which bursts go in turn. A full ring holds it back; bursts
/// that it could not send meanwhile are not made up for.
class UdpSource::Stream final : public Handler, public Sender, public FlowEnd {
  public:
    Stream(const Site& site, const SourceSpec& spec, std::uint32_t from, std::vector<std::uint32_t> to,
           const Random& random);

    void fire(std::uint32_t) override;
    void resume() override;
    void deliver(const Packet& packet) override;

    std::uint64_t sent = 0;
    std::uint64_t delivered = 0;
    std::uint64_t measured_bytes = 0;  ///< delivered after the warm-up, on the wire

  private:
    void send();
    void begin_burst();

    const Site& site_;
    const SourceSpec& spec_;
    Host& host_;
    EndpointId from_;
    std::vector<EndpointId> to_;
    std::size_t turn_ = 0;
    StreamId flow_;
    Random random_;
    std::uint32_t bytes_;  // of a packet on the wire
    FineTime gap_;         // between packets, on average
    FineTime due_ = 0;     // of the next packet
    Nanos burst_ends_ = 0;
    Nanos burst_begins_ = 0;  // the next one
};

}  // namespace weir::sim
