// capture_fuzzer.cc - any bytes as the compiled filter of a capture, and as frames: a filter that is accepted
// ends, reads inside the frame, and lets the capture copy no more than the frame has.
// Source: libpcap.
//
// The first byte is the number of instructions, of 8 bytes each; the frame follows.
#include <rte_mbuf.h>

#include <algorithm>
#include <cstring>

#include "test/fuzz/checks.h"
#include "test/support/eal_fixture.h"
#include "test/support/frames.h"
#include "vswitch/datapath/capture/capture.h"

namespace {

using namespace weir;
using namespace weir::fuzz;
using namespace weir::testing;

constexpr std::size_t kInstructionBytes = 8;

std::vector<FilterInstruction> filter_of(const std::uint8_t*& data, std::size_t& size) {
    std::vector<FilterInstruction> filter(std::min<std::size_t>(data[0], (size - 1) / kInstructionBytes));
    ++data;
    --size;
    for (FilterInstruction& each : filter) {
        std::memcpy(&each.code, data, sizeof(each.code));
        each.if_true = data[2];
        each.if_false = data[3];
        std::memcpy(&each.value, data + 4, sizeof(each.value));
        data += kInstructionBytes;
        size -= kInstructionBytes;
    }
    return filter;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0)
        return 0;
    const std::vector<FilterInstruction> filter = filter_of(data, size);
    if (!valid_filter(filter))
        return 0;
    constexpr std::size_t kFrameBytesMax = 1500;
    constexpr std::uint32_t kSnap = 64;
    rte_mbuf* frame = to_mbuf(buffer_pool(), FrameBytes(data, data + std::min(size, kFrameBytesMax)));
    Capture capture({.snap = kSnap, .filter = filter}, 0, 4096);
    capture.take({.point = CapturePoint::from_vm(0)}, frame);
    if (const auto slot = capture.ring.front(); !slot.empty()) {
        CaptureRecord record;
        std::memcpy(&record, slot.data(), sizeof(record));
        require(record.length == frame->pkt_len, "the record has the frame's length");
        require(record.kept == std::min(frame->pkt_len, kSnap), "no more than `snap` bytes are kept");
        require(std::equal(slot.begin() + sizeof(record), slot.begin() + sizeof(record) + record.kept,
                           rte_pktmbuf_mtod(frame, const std::byte*)),
                "the copy has the frame's bytes");
    }
    rte_pktmbuf_free(frame);
    return 0;
}
