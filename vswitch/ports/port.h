// port.h - what the datapath sees of a port: bursts in, bursts out.
// Threads: rx_burst and tx_burst by the owning worker only; the rest by the agent.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

struct rte_mbuf;

namespace weir {

/// What a port's far side can take without our help; decides where checksums and segments are made.
struct PortOffloads {
    bool checksum = false;  ///< accepts frames whose TCP/UDP checksum is still to be filled in
    bool tso = false;       ///< accepts TCP/IPv4 super-frames
};

class Port {
  public:
    Port() = default;
    Port(const Port&) = delete;
    Port& operator=(const Port&) = delete;
    virtual ~Port() = default;

    /// Takes at most `max` (<= 32) frames; they belong to the caller. 0 also while the port is down.
    virtual std::uint16_t rx_burst(rte_mbuf** frames, std::uint16_t max) = 0;
    /// Offers `count` (<= 32) frames; the accepted ones, a prefix, belong to the port; the rest stay the
    /// caller's.
    /// @return how many were accepted.
    virtual std::uint16_t tx_burst(rte_mbuf** frames, std::uint16_t count) = 0;
    /// Whether the far side is attached. Any thread.
    [[nodiscard]] virtual bool up() const = 0;
    /// What the far side takes as it is. Owning worker; may change only while the port is down.
    [[nodiscard]] virtual PortOffloads offloads() const = 0;
    /// Names of what was negotiated, for people. Agent.
    [[nodiscard]] virtual std::vector<std::string> features() const = 0;
    /// Descriptors that the far side offered and that could not be used. Any thread.
    [[nodiscard]] virtual std::uint64_t ring_errors() const { return 0; }
    /// Called by the worker now and then (housekeeping): bookkeeping that is too dear for every burst.
    virtual void housekeeping() {}
};

}  // namespace weir
