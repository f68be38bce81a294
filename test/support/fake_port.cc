// fake_port.cc - two containers that behave like the rings of a VM.
#include "test/support/fake_port.h"

#include <rte_mbuf.h>

#include <algorithm>
#include <cstring>

namespace weir::testing {

FakePort::~FakePort() {
    drain();
    for (rte_mbuf* frame : offered)
        rte_pktmbuf_free(frame);
}

std::uint16_t FakePort::rx_burst(rte_mbuf** frames, std::uint16_t max) {
    std::uint16_t count = 0;
    while (attached && count < max) {
        if (!offered.empty()) {
            frames[count++] = offered.front();
            offered.pop_front();
        } else if (rte_mbuf* frame = source ? source() : nullptr) {
            frames[count++] = frame;
        } else {
            break;
        }
    }
    return count;
}

std::optional<std::uint64_t> FakePort::peek_destination() {
    if (!peeks || offered.empty())
        return std::nullopt;
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, rte_pktmbuf_mtod(offered.front(), const void*), 6);
    return bytes;
}

std::uint16_t FakePort::tx_burst(rte_mbuf** frames, std::uint16_t count) {
    ++tx_calls;
    std::uint16_t taken_now = 0;
    const bool takes = attached && !(full && full());
    std::uint16_t offered_now = count;
    while (takes && taken_now < offered_now && received.size() < ring_frames) {
        rte_mbuf* frame = frames[taken_now];
        if (frame->pkt_len > buffer_bytes) {
            std::rotate(frames + taken_now, frames + taken_now + 1, frames + offered_now--);
            ++too_long_;
            continue;
        }
        ++taken_now;
        if (sink) {
            sink(frame);
            rte_pktmbuf_free(frame);
        } else {
            received.push_back(frame);
        }
    }
    if (taken_now < offered_now && when_full)
        when_full();
    return taken_now;
}

std::size_t FakePort::drain() {
    const std::size_t count = received.size();
    for (rte_mbuf* frame : received)
        rte_pktmbuf_free(frame);
    received.clear();
    return count;
}

}  // namespace weir::testing
