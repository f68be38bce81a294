// mirror.cc - WELCOME opens a session, TABLES and ALLOCATION fill it.
#include "test/ctrl/faults/mirror.h"

#include <stdexcept>
#include <string_view>
#include <vector>

#include "common/wire/channel.h"

namespace weir::faults {

using wire::Type;

void Mirror::on_sent(const wire::HeaderBytes& head, std::span<const std::uint8_t> body,
                     std::uint32_t interval) {
    wire::Header header;
    if (wire::decode_header(head, body.size(), header) != wire::Malformed::kNo)
        throw std::logic_error("the controller sent a malformed message");
    const std::string_view text(reinterpret_cast<const char*>(body.data()), body.size());
    if (header.type == Type::kWelcome) {
        auto welcome = wire::parse_welcome(text);
        if (!std::get<wire::Welcome>(welcome).refused.empty())
            return;
        const bool is_other = header.epoch != epoch_ || header.session != session_;
        // A session that was silent begins again under its old number, with the first message's sequence.
        if (is_other || header.sequence == 1) {
            constexpr std::uint32_t kSilence = 4;  // intervals: three without a message, and one to notice
            was_silent_ = interval - message_at_ >= kSilence;
            is_solved_ = is_solved_ && !was_silent_ && !has_ended_ && header.epoch == epoch_;
            has_ended_ = false;
            epoch_ = header.epoch;
            session_ = header.session;
            rates_.clear();
        }
        message_at_ = interval;
        return;
    }
    if (header.epoch != epoch_ || header.session != session_)
        return;
    // Messages of the session that come late are ignored: its connection had gone.
    if (header.type == Type::kHeartbeat && header.has(wire::flags::kAskHello))
        has_ended_ = true;
    if (header.type == Type::kTables) {
        auto parsed = wire::parse_tables(text);
        if (std::holds_alternative<Faults>(parsed))
            throw std::logic_error("TABLES: " + std::get<Faults>(parsed).front().to_line());
        apply(std::get<wire::Tables>(parsed));
    }
    if (header.type == Type::kAllocation) {
        std::vector<wire::FlowAllocation> records;
        if (wire::decode(body, records) != 0)
            throw std::logic_error("the controller sent impossible records");
        wire::apply(header.has(wire::flags::kSnapshot), records, rates_);
        rates_at_ = interval;
    }
}

void Mirror::on_received(const wire::Header& header, std::uint32_t interval) {
    if (header.epoch != epoch_ || header.session != session_)
        return;
    message_at_ = interval;
    is_solved_ = is_solved_ || header.type == Type::kDemand;
}

/// A whole table replaces all; its later parts, and changes, add to it.
void Mirror::apply(const wire::Tables& tables) {
    if (!tables.changes) {
        endpoints_.clear();
        guarantees_.clear();
    }
    for (const wire::Endpoint& end : tables.endpoints)
        endpoints_[end.id] = end;
    for (const wire::FlowAllocation& guarantee : tables.guarantees)
        guarantees_[guarantee.flow] = guarantee;
    for (const std::uint32_t id : tables.removed)
        endpoints_.erase(id);
}

const wire::Endpoint* Mirror::endpoint(std::uint32_t id) const {
    const auto found = endpoints_.find(id);
    return found == endpoints_.end() ? nullptr : &found->second;
}

}  // namespace weir::faults
