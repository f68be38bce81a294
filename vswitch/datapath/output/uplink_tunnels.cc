// uplink_tunnels.cc - Uplink's part for frames that leave through ESP tunnels.
// Source: RFC 4303; docs/algorithms.md 11.1. Units: accounted bytes; cycles. Threads: the owning worker.
//
// A frame is priced with the bytes that it will have on the wire when it is offered, and encrypted when it
// leaves the scheduler. So sequence numbers follow the order on the wire, and a frame that the scheduler
// drops costs no encryption.
#include <rte_ether.h>
#include <rte_mbuf.h>

#include <algorithm>

#include "vswitch/datapath/frame/frame.h"
#include "vswitch/datapath/frame/offload.h"
#include "vswitch/datapath/frame/traffic_class.h"
#include "vswitch/datapath/output/uplink.h"

namespace weir {

[[gnu::noinline]] void Uplink::send_encrypted(VnicPath& from, const Run& run, Nanos now) {
    for (std::uint16_t i = 0; i < run.count; ++i) {
        const TunnelId tunnel = tunnels_->route(run.frames[i]);
        if (tunnel == kNoTunnel)
            drop(from, run.frames[i], run.bytes[i], DropReason::kTunnelNone);
        else  // of a frame for all the sender has copies made for the other tunnels
            send_into(from, run.frames[i], run.bytes[i], tunnel == kAllTunnels ? TunnelId{0} : tunnel, now);
    }
}

void Uplink::send_copy(VnicPath& from, rte_mbuf* copy, std::uint32_t bytes, TunnelId tunnel, Nanos now) {
    if (!device_.link_up()) {
        drop(from, copy, bytes, DropReason::kUplinkDown);
        return;
    }
    if (from.profile.dscp)
        set_dscp(copy, *from.profile.dscp);
    send_into(from, copy, bytes, tunnel, now);
}

/// Splits a super-frame: after encryption neither NIC nor peer could.
/// @param bytes of the frame that were counted as offered
void Uplink::send_into(VnicPath& from, rte_mbuf* frame, std::uint32_t bytes, TunnelId tunnel, Nanos now) {
    if ((frame->ol_flags & RTE_MBUF_F_TX_TCP_SEG) != 0)
        send_split(from, frame, bytes, tunnel, now);
    else
        send_whole_into(from, frame, bytes, tunnel, now);
}

/// Fills in checksums, and counts and charges the frame with its bytes after encryption.
void Uplink::send_whole_into(VnicPath& from, rte_mbuf* frame, std::uint32_t bytes, TunnelId tunnel,
                             Nanos now) {
    if (!tunnels_->ready(tunnel)) {
        drop(from, frame, bytes, DropReason::kTunnelDown);
        return;
    }
    offload::fill_checksums(frame);
    if (!tag(from, frame, bytes))
        return;
    if (frame->pkt_len > tunnels_->frame_max(tunnel)) {
        drop(from, frame, bytes, DropReason::kMtuExceeded);
        return;
    }
    const std::uint32_t outer = tunnels_->outer_bytes(tunnel, frame->pkt_len) + overhead_bytes_;
    from.stats.from_vm.offered.add(0, std::uint64_t{outer} - bytes);  // modulo 2^64, should it be shorter
    const std::uint32_t tokens = tunnels_->tokens(tunnel, frame->pkt_len);
    from.encryption.pay(tokens, now);
    from.stats.encryption_tokens += tokens;
    tunnels_->stats[tunnel].tokens += tokens;
    set_source(frame, from.fixed.id);
    set_tunnel(frame, tunnel);
    send_one(from, frame, outer, 1, now);
}

bool Uplink::send_control_encrypted(rte_mbuf* frame, Nanos now) {
    const TunnelId tunnel = tunnels_->route(frame);
    if (tunnel < tunnels_->tunnels() && tunnels_->ready(tunnel))
        return send_control(frame, tunnel, now);
    rte_pktmbuf_free(frame);
    return false;
}

/// Drops a pending frame that was counted as sent, because its encryption failed.
void Uplink::undo_pending(rte_mbuf* frame, std::uint32_t bytes, EspOutcome outcome) {
    const DropReason reason = reason_of(outcome);
    stats.tx.queued.remove(1, bytes);
    pending_bytes_ -= bytes;
    const std::uint16_t source = source_of(frame);
    if (source == kNoVnic) {
        tap_.drop(stats.tx, CapturePoint::to_wire(), frame, bytes, reason);
        return;
    }
    VnicPath& from = *directory_[source];
    stats.tx.drop(reason, 1, bytes);
    from.stats.from_vm.delivered.remove(1, bytes);
    from.stats.uplink_bytes -= bytes;
    drop(from, frame, static_cast<std::uint32_t>(bytes), reason);
}

/// Encrypts pending frame `first` and the frames behind it that take the same tunnel, a burst at most. Their
/// senders pay for the cycles in proportion to the tokens that their frames cost.
/// @return index of the next frame that is not encrypted, or pending_count_
std::uint16_t Uplink::encrypt_alike(std::uint16_t first) {
    const TunnelId tunnel = pending_tunnel_[first];
    std::array<rte_mbuf*, kCryptoBurst> frames;
    std::array<std::uint16_t, kCryptoBurst> at;
    std::array<std::uint32_t, kCryptoBurst> bytes;
    std::array<CycleBill::Part, kCryptoBurst> parts;
    std::uint16_t count = 0;
    std::uint16_t next = pending_count_;
    for (std::uint16_t i = first; i < pending_count_; ++i) {
        if (pending_tunnel_[i] == kNoTunnel)
            continue;
        if (pending_tunnel_[i] != tunnel || count == kCryptoBurst) {
            next = std::min(next, i);
            continue;
        }
        frames[count] = pending_[i];
        const std::uint16_t source = source_of(pending_[i]);
        parts[count] = {source == kNoVnic ? nullptr : directory_[source],
                        tunnels_->tokens(tunnel, pending_[i]->pkt_len)};
        bytes[count] = tunnels_->outer_bytes(tunnel, pending_[i]->pkt_len) + overhead_bytes_;
        at[count++] = i;
        pending_tunnel_[i] = kNoTunnel;
    }
    EspOutcomes outcomes;
    const std::uint64_t began = bill_->read();
    tunnels_->encrypt(tunnel, std::span(frames).first(count), outcomes);
    const std::uint64_t cycles = bill_->divert_since(std::span(parts).first(count), began);
    for (std::uint16_t i = 0; i < count; ++i)
        stats.encryption_tokens += parts[i].weight;
    stats.encryption_cycles += cycles;
    TunnelStats& tunnel_stats = tunnels_->stats[tunnel];
    for (std::uint16_t i = 0; i < count; ++i) {
        const bool done = outcomes[i] == EspOutcome::kDone;
        pending_[at[i]] = done ? frames[i] : nullptr;
        if (done)
            tunnel_stats.out.add(1, bytes[i]);
        else
            undo_pending(frames[i], bytes[i], outcomes[i]);
    }
    return next;
}

/// Encrypts the pending burst, one batch per tunnel; the frames' order is kept.
[[gnu::noinline]] void Uplink::encrypt_pending() {
    pending_clear_ = false;
    std::uint16_t next = pending_ready_;
    while (next < pending_count_ && pending_tunnel_[next] == kNoTunnel)
        ++next;
    while (next < pending_count_)
        next = encrypt_alike(next);
    const auto end = std::remove(pending_.begin(), pending_.begin() + pending_count_, nullptr);
    pending_count_ = static_cast<std::uint16_t>(end - pending_.begin());
    std::fill_n(pending_tunnel_.begin(), pending_count_, kNoTunnel);
}

}  // namespace weir
