// world.h - all hosts, their lines and the controller on one manual clock, while the faults of a schedule
// happen.
// Units: Nanos of a clock that only rises; Unix times apart from it. Threads: tests only.
//
// Each interval is a second of ten ticks. The controller is the real one, with its solver and its store on
// the disk of disk.h; where weir-ctrl would end, it ends here too, and is started again an interval later, as
// systemd does.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ctrl/daemon/controller.h"
#include "test/ctrl/faults/disk.h"
#include "test/ctrl/faults/facts.h"
#include "test/ctrl/faults/host.h"
#include "test/ctrl/faults/liar.h"
#include "test/ctrl/faults/mirror.h"
#include "test/ctrl/faults/schedule.h"

namespace weir::faults {

/// Faults that a test puts in on purpose, so that a checker must find them. Each may change the message.
struct Tampering {
    std::function<void(std::uint32_t host, LineMessage&)> sent{};  ///< as if the controller had sent it so
    std::function<void(std::uint32_t host, LineMessage&)> delivered{};  ///< on its way to a switch
    std::function<void(std::uint32_t host, LineMessage&)> reported{};   ///< on its way to the controller
    std::function<void(std::uint32_t interval)> solved{};  ///< in the controller's place, after a tick
};

class World {
  public:
    World(std::uint32_t seed, std::uint32_t intervals);

    /// Runs one interval.
    void run_interval();
    void set_tampering(Tampering tampering) { tampering_ = std::move(tampering); }

    [[nodiscard]] const Plan& plan() const { return plan_; }
    [[nodiscard]] const Facts& facts() const { return facts_; }
    [[nodiscard]] const Schedule& schedule() const { return schedule_; }
    [[nodiscard]] std::uint32_t interval() const { return interval_; }  ///< that ran last, from 0
    [[nodiscard]] const std::vector<Host>& hosts() const { return hosts_; }
    [[nodiscard]] const Mirror& mirror(std::uint32_t host) const { return mirror_[host]; }
    [[nodiscard]] const Controller* controller() const { return controller_.get(); }
    /// Of the controller, with the demands of its last rates.
    [[nodiscard]] const IntervalSolver& solver() const { return *solver_; }
    /// nullptr while there is no controller.
    [[nodiscard]] Store* store() { return store_ ? &*store_ : nullptr; }
    /// Why the controller ended by itself in this interval; empty: it did not.
    [[nodiscard]] const std::string& ended() const { return ended_; }
    /// Intervals since this controller began.
    [[nodiscard]] std::uint32_t age() const { return interval_ - controller_began_; }
    /// Whether the host is or was a liar.
    [[nodiscard]] bool has_lied(std::uint32_t host) const { return has_lied_[host] != 0; }
    /// One line for each fault of the schedule.
    [[nodiscard]] std::string describe() const;

  private:
    void begin(const PlannedFault& fault);
    void end(const PlannedFault& fault);
    void apply_faults();
    void draw_demands();
    void start_controller();
    void end_controller();
    void start_switch(std::uint32_t host);
    void tick();
    void send_reports();
    void serve_appliances(double seconds);
    void deliver_reports();
    void run_controller();
    void take_outgoing();
    void on_sent(std::uint32_t host, LineMessage message);
    void deliver_rates();
    /// Does the controller's work; an exception that would end weir-ctrl ends the controller.
    void guarded(const std::function<void()>& work);
    [[nodiscard]] bool is_active(FaultKind kind, std::uint32_t host = kNone) const;
    [[nodiscard]] std::int64_t amount_of(FaultKind kind, std::uint32_t host = kNone) const;
    [[nodiscard]] LineFaults faults_of(std::uint32_t host, bool is_up) const;
    [[nodiscard]] std::uint64_t unix_nanos(std::int64_t days_wrong) const;
    [[nodiscard]] std::int64_t controller_time() const;
    [[nodiscard]] Peer peer_of(std::uint32_t host) const;
    [[nodiscard]] std::uint32_t host_of(const std::string& route) const;

    Random32 random_;
    Plan plan_;
    Schedule schedule_;
    Facts facts_;
    Liar liar_;
    DiskFolder disk_;
    bool was_time_wrong_ = false;  // the controller's, an interval ago
    unsigned stores_ = 0;          // that were made so far
    std::optional<Store> store_;
    std::unique_ptr<IntervalSolver> solver_;
    std::unique_ptr<Controller> controller_;
    std::vector<Host> hosts_;
    std::vector<Mirror> mirror_;
    std::vector<unsigned> connections_;  // by host: number of its connection
    std::vector<Line> up_;
    std::vector<Line> down_;
    std::vector<char> has_lied_;
    Tampering tampering_;
    std::string ended_;
    std::uint32_t interval_ = 0;
    std::uint32_t next_interval_ = 0;
    std::uint32_t controller_began_ = 0;
    Nanos now_ = 0;
    Nanos next_tick_ = 0;
    Nanos next_early_ = 0;
};

}  // namespace weir::faults
