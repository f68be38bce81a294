// intake.cc - which messages reach the controller, and with which flags.
#include "ctrl/daemon/intake.h"

namespace weir {

void Intake::on_message(const Peer& peer, std::span<const std::uint8_t> head,
                        std::span<const std::uint8_t> body, Nanos now) {
    wire::Header header;
    const bool is_whole = wire::decode_header(head, body.size(), header) == wire::Malformed::kNo;
    const bool is_hello = is_whole && header.type == wire::Type::kHello;
    if (budgets_.refuse(peer, is_hello, head.size() + body.size(), now))
        return;
    // Without the flag: the switch sets it again in its next DEMAND.
    wire::HeaderBytes unflagged;
    if (is_whole && header.has(wire::flags::kAskSnapshot) && !budgets_.take(peer, Work::kSnapshots, now)) {
        header.flags = static_cast<std::uint16_t>(header.flags & ~wire::flags::kAskSnapshot);
        unflagged = wire::encode_header(header);
        head = unflagged;
    }
    const bool was_due = controller_.early_solve_due();
    controller_.on_message(peer, head, body, now);
    if (!was_due && controller_.early_solve_due() && !budgets_.take(peer, Work::kEarlySolves, now))
        controller_.wait_for_tick();
}

}  // namespace weir
