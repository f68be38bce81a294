// host.h - one host: the agent's real session, VMs that ask for a rate, and their billing periods.
// Units: tokens and bytes, per second where they are rates; Nanos of the harness' clock. Threads: tests only.
//
// A flow of VMs is fluid: it grows by its demand, waits in the switch, and leaves at the rate that the
// session has in force. A switch that restarts begins with empty counters and a random session.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "test/ctrl/faults/lines.h"
#include "test/ctrl/faults/plan.h"
#include "vswitch/agent/controller_session.h"

namespace weir::faults {

/// A flow of a running switch.
struct HostFlow {
    const PlannedFlow* planned = nullptr;
    LocalFlow local{};
    double asks = 0;
    double waiting = 0;      ///< in the switch
    double sent = 0;         ///< since the start
    double outstanding = 0;  ///< at the appliance
    double answered = 0;     ///< since the start
};

/// A period that a switch put on its bill.
struct BilledPeriod {
    std::uint32_t vnic = 0;
    std::uint64_t began = 0;  ///< Unix nanoseconds
    std::uint64_t ended = 0;
    std::uint64_t delivered = 0;
    /// Sure to be stored once: its switch had the right time, and was not killed with it.
    bool is_certain = true;
};

class Host {
  public:
    /// @param plan outlives this
    Host(const Plan& plan, std::uint32_t number);

    /// Starts the switch. @param first number of its first session @param unix_now its clock, nanoseconds
    void start(std::uint32_t first, std::uint64_t unix_now, bool is_time_right, Nanos now);
    /// Ends the switch: its counters and all periods that no controller has acknowledged are gone.
    void kill();
    [[nodiscard]] bool is_running() const { return session_ != nullptr; }
    /// Takes a vNIC away, or gives it back.
    void set_present(std::uint32_t vnic, bool is_present);
    [[nodiscard]] bool has(std::uint32_t vnic) const;

    /// One span of time: VMs send, the session is sampled and makes its messages.
    void tick(Nanos span, Nanos now, Random32& random);
    void on_message(const LineMessage& message, Nanos now);
    [[nodiscard]] std::vector<LineMessage> take_outgoing();

    [[nodiscard]] std::vector<HostFlow>& flows() { return flows_; }
    [[nodiscard]] const std::vector<HostFlow>& flows() const { return flows_; }
    [[nodiscard]] const FlowRates& rates() const { return rates_; }
    [[nodiscard]] const ControllerSession& session() const { return *session_; }
    [[nodiscard]] ControllerSession& session() { return *session_; }
    [[nodiscard]] const std::string& name() const { return name_; }
    [[nodiscard]] const std::vector<BilledPeriod>& periods() const { return periods_; }
    /// The store that may have them is gone: none of the periods so far is sure to be stored.
    void make_uncertain();
    /// Whether the periods that end from now on are sure to be stored. Those that wait become uncertain too.
    void set_certain(bool is_certain);

  private:
    void set_hello();
    void make_waiting_uncertain();
    void send(HostFlow& flow, double seconds) const;
    void sample(Nanos now);
    void bill(Nanos now, Random32& random);

    const Plan& plan_;
    std::uint32_t number_;
    std::string name_;
    std::unique_ptr<ControllerSession> session_;
    std::vector<std::uint32_t> vnics_;  // that are here
    std::vector<HostFlow> flows_;
    FlowRates rates_;
    std::vector<BilledPeriod> periods_;
    std::uint64_t unix_at_start_ = 0;
    Nanos started_ = 0;
    std::uint64_t period_began_ = 0;  // Unix nanoseconds; 0 = none has
    bool is_time_right_ = true;
    bool is_certain_ = true;
    std::vector<FlowSample> samples_;
    std::vector<PeerPair> destinations_;  // working memory
};

}  // namespace weir::faults
