// controller_session.h - the switch's session with the controller, as a protocol without sockets: messages
// in, messages out, and the rates that are in force.
// Source: docs/protocol.md; docs/design.md 5.5. Units: Nanos of a monotonic clock; tokens and bytes per
// second. Threads: agent. Never throws on input.
//
// HELLO is repeated each second until WELCOME opens the session. From then on DEMAND leaves once an interval,
// and each ALLOCATION is in force for three intervals. When none came for so long, the session is silent: the
// guarantees of the last TABLES hold, of service flows and of pairs of vNICs, below the limits of the
// configuration, and HELLO is sent again. They hold until an ALLOCATION with all rates arrives: the rates
// from before a silence do not come back. A rate therefore never becomes unlimited, or zero, because the
// controller is away.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/clock.h"
#include "common/wire/channel.h"
#include "common/wire/messages.h"
#include "vswitch/agent/demand_sampler.h"
#include "vswitch/agent/flow_directory.h"
#include "vswitch/agent/usage_queue.h"

namespace weir {

class ControllerSession {
  public:
    enum class State : std::uint8_t { kConnecting, kRefused, kWelcomed, kConnected, kSilent };

    struct Message {
        wire::HeaderBytes header;
        wire::Bytes body;
    };

    /// @param first number of the first session, random: a restarted switch must not continue an old one
    /// @param seed  random; spreads the demands of all switches over the interval
    ControllerSession(std::uint32_t first, std::uint32_t seed) : sequencer_{.session = first}, seed_(seed) {}

    /// The host's name, version and uplink rate, its vNICs and appliances. A change begins a new session.
    void set_hello(const wire::Hello& hello);
    /// Puts promises of an earlier run into force until a controller answers. Call it after set_hello().
    void restore(const wire::Welcome& welcome, const wire::Tables& tables);
    void add_usage(const UsageReport& usage) { usage_.add(usage); }
    /// One sample of each flow, every 10 ms.
    void add_samples(std::span<const FlowSample> samples, Nanos now) { sampler_.add(samples, now); }
    /// Addresses over the wire that vNICs sent to, and that have no rate.
    void add_destinations(std::span<const PeerPair> destinations, Nanos now);
    /// Whether add_destinations() is of use: the controller sends TABLES by need.
    [[nodiscard]] bool wants_destinations() const { return by_need_; }
    void on_message(std::span<const std::uint8_t> header, std::span<const std::uint8_t> body, Nanos now);
    /// Makes the messages that are due, and notices silence; every 10 ms.
    void tick(Nanos now);

    [[nodiscard]] std::vector<Message> take_outgoing() { return std::exchange(outgoing_, {}); }
    /// Sets `rates` to the rates in force, of all flows that have one, if they changed since the last call.
    /// @return whether they did
    [[nodiscard]] bool update_rates(FlowRates& rates);
    /// vNICs that the controller refuses, by the last TABLES; also while it is silent.
    [[nodiscard]] const Refusals& refusals() const { return refusals_; }
    /// The controller's promises to vNICs, by the last TABLES; also while it is silent.
    [[nodiscard]] VnicPromises promises() const { return {is_restored_, directory_.promises()}; }
    /// The windows in force; empty while the controller allocates none, or is silent.
    [[nodiscard]] HostWindows windows() const;

    // The promises: the last WELCOME and TABLES.
    [[nodiscard]] const wire::Welcome& welcome() const { return welcome_; }
    [[nodiscard]] wire::Tables tables() const { return directory_.tables(); }
    /// One more whenever they change.
    [[nodiscard]] std::uint64_t promise_revision() const { return promise_revision_; }
    /// Whether a session is open and has its TABLES.
    [[nodiscard]] bool has_promises() const {
        return (state_ == State::kConnected || state_ == State::kWelcomed) && !tables_missing_;
    }
    /// Whether guarantees are in force instead of an allocation.
    [[nodiscard]] bool is_static() const { return is_static_; }

    [[nodiscard]] State state() const { return state_; }
    /// Why the controller refuses the switch; empty = it does not.
    [[nodiscard]] const std::string& refusal() const { return refusal_; }
    /// Why the switch ignores the controller that answers its HELLO; empty = it does not.
    [[nodiscard]] const std::string& ignored() const { return ignored_; }
    [[nodiscard]] const std::string& cluster() const { return welcome_.cluster; }
    [[nodiscard]] std::uint64_t epoch() const { return sequencer_.epoch; }
    [[nodiscard]] std::uint32_t interval() const { return interval_; }
    [[nodiscard]] const ControllerLinkCounters& counters() const { return counters_; }
    [[nodiscard]] const UsageQueue& usage() const { return usage_; }
    /// Peers for which there was no room among the flows: their traffic has no rates.
    [[nodiscard]] std::uint64_t peers_left_out() const { return directory_.left_out(); }
    /// Of the last WELCOME.
    [[nodiscard]] Nanos billing_period() const { return welcome_.billing_period; }

  private:
    void begin_session();
    void send(wire::Header header, wire::Bytes body);
    void send_hello(Nanos now);
    [[nodiscard]] wire::Hello with_unbilled(wire::Hello hello) const;
    void send_demands(const std::vector<wire::FlowDemand>& demands);
    void send_usage(Nanos now);
    void send_asks(Nanos now);
    void on_welcome(const wire::Header& header, std::string_view text, Nanos now);
    void on_other_version(std::span<const std::uint8_t> header);
    void on_refused(const std::string& why);
    void on_heartbeat(Nanos now);
    void on_tables(std::string_view text, Nanos now);
    void on_allocation(const wire::Header& header, std::span<const std::uint8_t> body, Nanos now);
    void set_static();
    [[nodiscard]] FlowTokens rate_of(const LocalFlow& flow, wire::FlowKey key) const;
    [[nodiscard]] std::optional<WindowPart> window_of(wire::FlowKey key) const;

    State state_ = State::kConnecting;
    std::string refusal_;
    std::string ignored_;
    wire::Welcome welcome_;
    wire::Sequencer sequencer_;
    wire::MessageFilter filter_;
    wire::TableSender<wire::FlowDemand> sender_;
    FlowDirectory directory_;
    DemandSampler sampler_;
    UsageQueue usage_;
    std::map<wire::FlowKey, wire::FlowAllocation> allocations_;
    Refusals refusals_;
    std::optional<wire::Tables> tables_;  ///< the beginning of TABLES in several messages
    std::vector<Message> outgoing_;
    std::uint32_t seed_;
    std::uint32_t interval_ = 0;     ///< the controller's count, of its last message
    std::optional<Nanos> hello_at_;  ///< when the last HELLO was sent
    Nanos demand_due_ = 0;
    Nanos update_due_ = 0;  ///< when a DEMAND may be sent between two intervals
    Nanos ask_due_ = 0;
    Nanos valid_until_ = 0;  ///< end of the rates' validity; 0 = there is no WELCOME, or its time is over
    bool hello_wanted_ = true;
    bool tables_missing_ = true;
    bool rates_changed_ = false;
    std::uint64_t promise_revision_ = 0;
    bool is_static_ = true;     ///< guarantees hold: no whole ALLOCATION came since the start or a silence
    bool is_restored_ = false;  ///< TABLES are of an earlier run: no controller has sent any since
    bool by_need_ = false;      ///< the last WELCOME has wire::capability::kTablesByNeed, as the HELLO had
    ControllerLinkCounters counters_;
};

[[nodiscard]] const char* name_of(ControllerSession::State state);

}  // namespace weir
