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
        const bool is_other = header.epoch != epoch_ || header.session != session_;
        // A session that was silent begins again under its old number, with the first message's sequence.
        if (std::get<wire::Welcome>(welcome).refused.empty() && (is_other || header.sequence == 1)) {
            epoch_ = header.epoch;
            session_ = header.session;
            is_solved_ = false;
            rates_.clear();
            constexpr std::uint32_t kSilence = 4;  // intervals: three without a message, and one to notice
            was_silent_ = interval - message_at_ > kSilence;
        }
        return;
    }
    if (header.epoch != epoch_ || header.session != session_)
        return;
    if (header.type == Type::kTables) {
        auto parsed = wire::parse_tables(text);
        if (std::holds_alternative<Faults>(parsed))
            throw std::logic_error("TABLES: " + std::get<Faults>(parsed).front().to_line());
        tables_ = std::move(std::get<wire::Tables>(parsed));
        places_.clear();
        for (std::size_t i = 0; i < tables_.endpoints.size(); ++i)
            places_[tables_.endpoints[i].id] = i;
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

const wire::Endpoint* Mirror::endpoint(std::uint32_t id) const {
    const auto found = places_.find(id);
    return found == places_.end() ? nullptr : &tables_.endpoints[found->second];
}

}  // namespace weir::faults
