// mirror.h - the messages of the controller to one switch, applied, as if no line lost any of it.
// Units: rates per second. Threads: tests only.
#pragma once

#include <map>
#include <span>
#include <string>

#include "common/wire/messages.h"
#include "common/wire/records.h"

namespace weir::faults {

/// The last session of one switch, by the controller's own messages.
class Mirror {
  public:
    /// Takes in a message that the controller sends to the switch. @param interval the harness' count
    void on_sent(const wire::HeaderBytes& header, std::span<const std::uint8_t> body, std::uint32_t interval);
    /// Takes in the session's DEMAND, when the controller receives it.
    void on_received(const wire::Header& header, std::uint32_t interval);
    /// The controller is gone with all that it knew.
    void forget() { *this = {}; }

    [[nodiscard]] const std::map<wire::FlowKey, wire::FlowAllocation>& rates() const { return rates_; }
    [[nodiscard]] const std::map<wire::FlowKey, wire::FlowAllocation>& guarantees() const {
        return guarantees_;
    }
    /// The controller has a DEMAND of this session: its rates are solved, not kept from before.
    [[nodiscard]] bool is_solved() const { return is_solved_; }
    [[nodiscard]] std::uint32_t rates_at() const { return rates_at_; }  ///< interval of the last ALLOCATION
    [[nodiscard]] std::uint32_t message_at() const { return message_at_; }  ///< of the switch's last message
    /// The session began after a silence: the controller had given away the rates of the switch.
    [[nodiscard]] bool was_silent() const { return was_silent_; }
    [[nodiscard]] const wire::Endpoint* endpoint(std::uint32_t id) const;

  private:
    void apply(const wire::Tables& tables);

    std::uint64_t epoch_ = 0;
    std::uint32_t session_ = 0;
    std::uint32_t rates_at_ = 0;
    std::uint32_t message_at_ = 0;
    bool is_solved_ = false;
    bool was_silent_ = false;
    bool has_ended_ = false;  ///< the controller does not know the session any more
    std::map<std::uint32_t, wire::Endpoint> endpoints_;  // by id
    std::map<wire::FlowKey, wire::FlowAllocation> guarantees_;
    std::map<wire::FlowKey, wire::FlowAllocation> rates_;
};

}  // namespace weir::faults
