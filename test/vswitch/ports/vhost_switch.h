// vhost_switch.h - a whole switch on real rings in shared memory, and guests at its sockets.
// Units: frames. Threads: the worker of VhostSwitch and that of Neighbors have one each; the test has its
// own.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "test/hostile/guest.h"
#include "test/support/temp_folder.h"
#include "test/support/wait.h"
#include "test/vswitch/datapath/loop/switch_harness.h"
#include "vswitch/ports/vhost_driver.h"
#include "vswitch/ports/vhost_port.h"

namespace weir::testing {

/// vNICs vm1, vm2 ... of one switch, each with the socket vm<n>.sock, which the switch listens on.
class VhostSwitch {
  public:
    /// @param kept folder of the files with the places of packed rings; empty: they end with the switch
    explicit VhostSwitch(unsigned vnics, const std::string& kept = "");
    ~VhostSwitch();

    void start();
    void stop();
    /// Poll turns since the begin.
    [[nodiscard]] std::uint64_t turns() const { return turns_.load(std::memory_order_relaxed); }
    [[nodiscard]] std::string socket(unsigned n) const {
        return folder_.file("vm" + std::to_string(n) + ".sock");
    }
    [[nodiscard]] VhostPort& port(unsigned n) { return *ports_[n - 1]; }
    [[nodiscard]] VhostRings& rings(unsigned n) { return port(n).rings(); }
    /// After stop().
    [[nodiscard]] const VnicStats& stats(unsigned n) const { return harness_.stats(ids_[n - 1]); }

  private:
    using Clock = std::chrono::steady_clock;
    void remove_last();

    weir::test::TempFolder folder_;
    SwitchHarness harness_;
    VhostDriver driver_;
    Notifier notifier_;
    SignalRelay relay_;
    std::vector<std::unique_ptr<VhostPort>> ports_;
    std::vector<VnicId> ids_;
    Clock::time_point began_ = Clock::now();
    std::atomic<std::uint64_t> turns_{0};
    std::atomic<bool> stop_{false};
    std::thread worker_;
};

/// The switch of all attacks, with five vNICs.
[[nodiscard]] VhostSwitch& attacked_switch();

/// A guest and its connection.
struct Vm {
    Vm(const VhostSwitch& where, unsigned number)
        : endpoint(where.socket(number), false), guest(endpoint, tally) {}

    /// Connects again, as QEMU does, when connections of an attack still fill the socket's backlog or an
    /// answer was late.
    bool start(VhostSwitch& where, unsigned number, const hostile::Guest::Shape& shape = {});
    hostile::Tally tally;
    hostile::Endpoint endpoint;
    hostile::Guest guest;
};

/// How often the frame of each number arrived.
class Arrivals {
  public:
    static constexpr std::size_t kBytes = 100;
    /// An honest frame.
    [[nodiscard]] static hostile::Frame frame(std::uint8_t to, std::uint8_t from, std::uint32_t number);
    /// Counts the frame if it is one of `from`.
    void count(std::span<const std::uint8_t> frame, std::uint8_t from);
    /// Whether frames `first` to `end` - 1 arrived.
    [[nodiscard]] bool arrived(std::uint32_t first, std::uint32_t end) const;
    /// And each once.
    [[nodiscard]] bool each_once(std::uint32_t first, std::uint32_t end) const;
    /// How often the frame came that came most often.
    [[nodiscard]] std::uint32_t most_copies() const;

  private:
    std::map<std::uint32_t, std::uint32_t> copies_;
};

/// vm1 sends numbered frames to vm2 at a steady rate; vm2 counts those that arrive. vm5 sends bursts of 32
/// frames of 60 to 1,514 bytes to vm3, the attacker.
class Neighbors {
  public:
    explicit Neighbors(VhostSwitch& where);
    ~Neighbors() { end(); }
    /// Waits until all frames to vm2 have arrived, or for wait_bound().
    void end();
    /// @return vm2 received each of vm1's frames once, there were some, and no byte beside the rings changed
    [[nodiscard]] bool unharmed();
    std::atomic<std::uint32_t> sent = 0;

  private:
    void run();
    void send_burst();

    Vm sender_;
    Vm receiver_;
    Vm burster_;
    Arrivals arrivals_;
    std::atomic<bool> stop_{false};
    std::thread thread_;
};

}  // namespace weir::testing
