// fake_port.h - a VM as the switch sees it, driven by the test.
// Units: frames. Threads: tests only.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <vector>

#include "vswitch/ports/port.h"

namespace weir::testing {

/// A port with two rings: `offered` has the frames that the VM sends, `received` those that the switch
/// delivered to the VM. The port owns the frames in both.
class FakePort final : public Port {
  public:
    FakePort() : Port(true) {}
    ~FakePort() override;

    std::uint16_t rx_burst(rte_mbuf** frames, std::uint16_t max) override;
    [[nodiscard]] std::optional<std::uint64_t> peek_destination() override;
    [[nodiscard]] std::optional<std::size_t> watch(std::span<virtio::RingWatch> words) override;
    std::uint16_t tx_burst(rte_mbuf** frames, std::uint16_t count) override;
    void return_chains() override;
    [[nodiscard]] std::uint64_t straight_frames() const override { return straight; }
    [[nodiscard]] bool up() const override { return attached; }
    [[nodiscard]] std::uint16_t rings() const override { return receive_rings; }
    [[nodiscard]] PortOffloads offloads() const override { return taken; }
    [[nodiscard]] std::vector<std::string> features() const override { return {"fake"}; }

    /// Makes the VM one that takes each frame at once and forgets it.
    void read_at_once() {
        sink = [](const rte_mbuf*) {};
    }
    /// The VM has other rings, or has gone; the count of changes follows.
    void renew() { epoch_.fetch_add(1); }
    /// Frames that the VM sends are of a ring that it has disabled, or no longer.
    void disable(bool disabled) { ring_is_disabled_ = disabled; }
    /// Marks the poll as one that spent cycles on a frame that it could not deliver.
    void waste() { wasted_ = true; }
    /// Frees the frames in `received`. @return how many
    std::size_t drain();

    std::deque<rte_mbuf*> offered;
    std::vector<rte_mbuf*> received;
    /// A VM that always has more to send: asked when `offered` is empty; nullptr = nothing.
    std::function<rte_mbuf*()> source;
    /// A VM that reads at once: called for each frame, which is then freed.
    std::function<void(const rte_mbuf*)> sink;
    /// A VM that is late: asked at each burst; true: nothing of it fits.
    std::function<bool()> full;
    /// Called when a burst did not fit.
    std::function<void()> when_full;
    std::size_t ring_frames = 256;        ///< `received` holds no more
    std::size_t buffer_bytes = SIZE_MAX;  ///< a frame that is longer fits no buffer of the VM
    std::uint16_t receive_rings = 1;      ///< 0: of a member whose queue pairs the guest does not use
    bool peeks = false;                   ///< the switch may know where the next of `offered` goes
    bool attached = true;                 ///< false: nothing comes, nothing is taken
    bool leaves = false;                  ///< the payloads of long frames are left with the VM
    std::uint64_t straight = 0;           ///< frames that came with their payloads left
    PortOffloads taken;
    bool watched = false;    ///< the switch may leave the port alone until `word` changes
    std::uint16_t word = 0;  ///< in the VM's ring
    unsigned rx_calls = 0;
    unsigned tx_calls = 0;

  private:
    void leave_payload_of(rte_mbuf* frame);

    std::vector<std::vector<std::uint8_t>> left_;      // payloads, until return_chains()
    std::vector<std::vector<std::uint8_t>> returned_;  // kept, so that a late reader finds the scribble
};

/// The frame's last bytes are those that a VM has written over a payload it has got back, or that a buffer
/// has where the payload was left.
[[nodiscard]] bool is_scribbled(const rte_mbuf* frame);

}  // namespace weir::testing
