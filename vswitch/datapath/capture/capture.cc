// capture.cc - Capture: the choice of frames, and their copies.
#include "vswitch/datapath/capture/capture.h"

#include <rte_cycles.h>
#include <rte_mbuf.h>

#include <algorithm>

namespace weir {
namespace {

std::vector<bpf_insn> instructions_of(const std::vector<FilterInstruction>& filter) {
    std::vector<bpf_insn> instructions;
    for (const FilterInstruction& each : filter)
        instructions.push_back({each.code, each.if_true, each.if_false, each.value});
    return instructions;
}

/// Instructions that libpcap's interpreter has.
bool is_known(std::uint16_t code) {
    constexpr std::array<std::uint16_t, 13> kOthers{
        BPF_LD | BPF_IMM,  BPF_LD | BPF_MEM,          BPF_LD | BPF_W | BPF_LEN,  BPF_LDX | BPF_IMM,
        BPF_LDX | BPF_MEM, BPF_LDX | BPF_W | BPF_LEN, BPF_LDX | BPF_MSH | BPF_B, BPF_ST,
        BPF_STX,           BPF_ALU | BPF_NEG,         BPF_JMP | BPF_JA,          BPF_MISC | BPF_TAX,
        BPF_MISC | BPF_TXA};
    constexpr std::array<std::uint16_t, 14> kOfValue{
        // of a constant, or of X
        BPF_ALU | BPF_ADD, BPF_ALU | BPF_SUB, BPF_ALU | BPF_MUL, BPF_ALU | BPF_DIV, BPF_ALU | BPF_OR,
        BPF_ALU | BPF_AND, BPF_ALU | BPF_LSH, BPF_ALU | BPF_RSH, BPF_ALU | BPF_MOD, BPF_ALU | BPF_XOR,
        BPF_JMP | BPF_JEQ, BPF_JMP | BPF_JGT, BPF_JMP | BPF_JGE, BPF_JMP | BPF_JSET};
    constexpr std::array<std::uint16_t, 8> kLoadsAndReturns{
        BPF_LD | BPF_W | BPF_ABS, BPF_LD | BPF_H | BPF_ABS, BPF_LD | BPF_B | BPF_ABS,
        BPF_LD | BPF_W | BPF_IND, BPF_LD | BPF_H | BPF_IND, BPF_LD | BPF_B | BPF_IND,
        BPF_RET | BPF_K,          BPF_RET | BPF_A};
    const auto has = [code](const auto& codes) { return std::ranges::find(codes, code) != codes.end(); };
    return has(kOthers) || has(kLoadsAndReturns) || std::ranges::any_of(kOfValue, [code](std::uint16_t each) {
               return code == (each | BPF_K) || code == (each | BPF_X);
           });
}

void copy_bytes(const rte_mbuf* frame, std::byte* into, std::uint32_t bytes) {
    for (; bytes != 0 && frame != nullptr; frame = frame->next) {
        const std::uint32_t part = std::min<std::uint32_t>(bytes, frame->data_len);
        std::memcpy(into, rte_pktmbuf_mtod(frame, const void*), part);
        into += part;
        bytes -= part;
    }
}

}  // namespace

/// libpcap's own check lets two things pass: an instruction that its interpreter ends the program for, and an
/// unconditional jump so long that it comes back.
bool valid_filter(const std::vector<FilterInstruction>& filter) {
    const std::vector<bpf_insn> instructions = instructions_of(filter);
    return instructions.size() <= kFilterInstructionsMax &&
           std::ranges::all_of(instructions,
                               [&](const bpf_insn& each) {
                                   return is_known(each.code) &&
                                          (each.code != (BPF_JMP | BPF_JA) || each.k < instructions.size());
                               }) &&
           (instructions.empty() ||
            bpf_validate(instructions.data(), static_cast<int>(instructions.size())) != 0);
}

Capture::Capture(const CaptureOrder& order, VnicId vnic, std::size_t ring_bytes)
    : ring(ring_bytes, order.snap),
      vnic_(vnic),
      drops_(order.drops),
      reason_(order.reason),
      snap_(order.snap),
      every_(std::max(order.every, 1U)),
      filter_(instructions_of(order.filter)) {
    left_.fill(order.first);
}

/// The filter sees the frame's first buffer: headers are there.
bool Capture::fits(const CaptureRecord& record, const rte_mbuf* frame) {
    const bool dropped = record.verdict == CaptureVerdict::kDropped;
    if ((drops_ && !dropped) || !sees(record.point))
        return false;
    if (dropped &&
        ((reason_ && record.reason != *reason_) || left_[static_cast<std::size_t>(record.reason)] == 0))
        return false;
    if (!filter_.empty() && bpf_filter(filter_.data(), rte_pktmbuf_mtod(frame, const u_char*), frame->pkt_len,
                                       frame->data_len) == 0)
        return false;
    if (++passed_ < every_)
        return false;
    passed_ = 0;
    return true;
}

/// @return false when the ring has no room
bool Capture::write(CaptureRecord record, const rte_mbuf* frame, std::size_t ahead) {
    std::byte* const slot = ring.write(ahead);
    if (slot == nullptr) {
        missed.fetch_add(1, std::memory_order_relaxed);
        return false;
    }
    record.cycles = rte_rdtsc();
    record.length = frame->pkt_len;
    record.kept = std::min(frame->pkt_len, snap_);
    std::memcpy(slot, &record, sizeof(record));
    copy_bytes(frame, slot + sizeof(record), record.kept);
    return true;
}

void Capture::take(CaptureRecord record, const rte_mbuf* frame) {
    if (!fits(record, frame) || !write(record, frame, 0))
        return;
    ring.publish();
    if (record.verdict == CaptureVerdict::kDropped &&
        left_[static_cast<std::size_t>(record.reason)] != UINT32_MAX)
        --left_[static_cast<std::size_t>(record.reason)];
}

void Capture::offer(const CaptureRecord& record, rte_mbuf* const* frames, std::uint16_t count,
                    const Nanos* delays) {
    offers_ = 0;
    for (std::uint16_t i = 0; i < count; ++i) {
        CaptureRecord one = record;
        if (delays != nullptr)
            one.queue_delay = delays[i];
        if (fits(one, frames[i]) && write(one, frames[i], offers_))
            offered_[offers_++] = frames[i];
    }
}

/// Copies of frames that were taken move to the front, where the others' were.
void Capture::settle(rte_mbuf* const* left, std::uint16_t count) {
    std::size_t kept = 0;
    for (std::uint16_t i = 0; i < offers_; ++i) {
        if (std::find(left, left + count, offered_[i]) != left + count)
            continue;
        if (kept != i)
            std::memcpy(ring.write(kept), ring.write(i), ring.slot_bytes());
        ++kept;
    }
    ring.publish(kept);
    offers_ = 0;
}

}  // namespace weir
