// slow_vm.h - a fake VM that takes frames from its ring at a rate, and VMs that flood it.
// Units: bytes; bytes per second; ns. Threads: tests only.
#pragma once

#include <rte_mbuf.h>

#include <algorithm>
#include <map>

#include "test/support/amounts.h"
#include "test/vswitch/datapath/loop/switch_harness.h"

namespace weir::testing {

inline constexpr std::size_t kFullBytes = 1514;
inline constexpr Nanos kStep = 10 * kUs;

/// A VM that takes frames from its ring at a rate, and keeps count of each sender's.
struct SlowVm {
    SlowVm(FakePort& vm_port, std::uint64_t bytes_per_sec) : port(vm_port), rate(bytes_per_sec) {
        port.ring_frames = 32;
    }
    void take(Nanos span) {
        credit = std::min(credit + static_cast<double>(rate) * static_cast<double>(span) / 1e9,
                          static_cast<double>(2 * kWireFrame));
        std::size_t count = 0;
        for (; credit > 0 && count < port.received.size(); ++count) {
            rte_mbuf* frame = port.received[count];
            const std::uint64_t from = read_head(frame).source;
            const std::uint32_t number = number_of(frame);
            credit -= frame->pkt_len + kOverhead;
            bytes[from] += frame->pkt_len + kOverhead;
            disordered += number <= last[from];
            missing += number > last[from] + 1;
            last[from] = std::max(last[from], number);
            rte_pktmbuf_free(frame);
        }
        port.received.erase(port.received.begin(),
                            port.received.begin() + static_cast<std::ptrdiff_t>(count));
    }
    [[nodiscard]] double mbit(unsigned n, Nanos span) {
        return static_cast<double>(bytes[mac(n)]) * 8e3 / static_cast<double>(span);
    }

    FakePort& port;
    std::uint64_t rate;
    double credit = 0;
    std::map<std::uint64_t, std::uint64_t> bytes;
    std::map<std::uint64_t, std::uint32_t> last;
    unsigned disordered = 0;
    unsigned missing = 0;  // gaps in a sender's numbers
};

inline void run(SwitchHarness& host, SlowVm& slow, Nanos duration) {
    for (const Nanos end = host.now + duration; host.now < end; host.now += kStep) {
        host.turn();
        slow.take(kStep);
    }
}

/// vm<n> has always another frame for vm<to>.
inline void flood(SwitchHarness& host, VnicId id, unsigned n, unsigned to) {
    host.port(id).source = [n, to, number = 0U]() mutable {
        return frame(mac(to), mac(n), ++number, kFullBytes);
    };
}

}  // namespace weir::testing
