// link_session.h - the switch's side of the talk with the controller, without sockets: who we are, what our
// flows used, what they may use. Source: docs/protocol.md, algorithms 10. Units: Nanos of any clock that only
// rises; tokens and bytes. Threads: agent. Never throws on input.
//
// What came last holds for as long as it is valid; then, or while nothing came yet, the guarantees of the
// last TABLES hold; without those the switch's own file does alone. Never unlimited because nobody speaks,
// never zero.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/clock.h"
#include "common/wire/channel.h"
#include "common/wire/messages.h"
#include "vswitch/agent/usage_queue.h"
#include "vswitch/agent/window_part.h"

namespace weir {

/// A flow by this switch's own names.
struct LocalFlow {
    std::string vnic{};
    std::uint16_t appliance = 0;  ///< index into the switch's list
    std::string peer{};           ///< instead: the address of another VM of the tenant, on another host
    auto operator<=>(const LocalFlow&) const = default;
};

/// What a flow has done since the switch began, and what it has waiting and on its way now.
struct FlowSample {
    LocalFlow flow;
    std::array<std::uint64_t, wire::kParts> used{};
    std::array<std::uint64_t, wire::kParts> queued{};
    std::uint64_t outstanding_tokens = 0;
    std::uint64_t outstanding = 0;  ///< requests
    std::uint64_t responses = 0;
};

/// What this host may have outstanding at appliances, and what of it is reserved for whom.
struct HostWindows {
    std::map<std::uint16_t, std::uint64_t> tokens{};
    std::map<LocalFlow, WindowPart> reservations{};
};

using PartRates = std::array<std::uint64_t, wire::kParts>;  ///< per second; kNoStatement where none
/// Flows between VMs that a switch rules at most: each is a limiter in the data path.
inline constexpr std::size_t kPeersMost = 4'096;

struct LinkMessage {
    wire::HeaderBytes header;
    wire::Bytes body;
};

struct LinkCounters {
    std::uint64_t malformed = 0;
    std::uint64_t stale = 0;
    std::uint64_t foreign = 0;
    std::uint64_t bad_json = 0;
    std::uint64_t refused_records = 0;
    std::uint64_t allocations = 0;  ///< messages that were taken
    std::uint64_t demands = 0;      ///< messages that were made
    std::uint64_t sessions = 0;     ///< begun
};

class LinkSession {
  public:
    enum class State : std::uint8_t { kConnecting, kRefused, kWelcomed, kConnected, kSilent };

    /// @param first  number of the first session: another in every life of the switch
    /// @param seed   of when in the interval demands are sent, so that not all switches speak at once
    LinkSession(std::uint32_t first, std::uint32_t seed) : session_(first), seed_(seed) {}

    /// What the switch is and has. Another than before begins a new session.
    void set_hello(const wire::Hello& hello);
    /// A period of a vNIC has ended.
    void add_usage(const UsageSample& sample) { usage_.add(sample); }
    /// Every 10 ms: all flows, of those between VMs all that `take_rates` named.
    void sample(std::span<const FlowSample> samples, Nanos now);
    void receive(std::span<const std::uint8_t> header, std::span<const std::uint8_t> body, Nanos now);
    /// Says what is due, and notices silence.
    void turn(Nanos now);

    [[nodiscard]] std::vector<LinkMessage> take_outgoing() { return std::exchange(outgoing_, {}); }
    /// @return whether rates changed since the last call; then `rates` is what all flows may use now
    [[nodiscard]] bool take_rates(std::map<LocalFlow, PartRates>& rates);

    /// Likewise; empty where the controller says nothing of it, or nothing at all any more.
    [[nodiscard]] HostWindows windows() const;

    [[nodiscard]] State state() const { return state_; }
    [[nodiscard]] const std::string& refusal() const { return refusal_; }
    [[nodiscard]] const std::string& cluster() const { return welcome_.cluster; }
    [[nodiscard]] std::uint64_t epoch() const { return origin_.epoch; }
    [[nodiscard]] std::uint32_t interval() const { return interval_; }
    [[nodiscard]] const LinkCounters& counters() const { return counters_; }
    [[nodiscard]] const UsageQueue& usage() const { return usage_; }
    /// As the last controller said.
    [[nodiscard]] Nanos billing_period() const { return welcome_.billing_period; }

  private:
    /// A flow within the interval that is going on.
    struct Tally {
        FlowSample last;
        FlowSample began;  ///< when the interval did
        Nanos since = 0;
        Nanos sampled = 0;
        Nanos active = 0;                           ///< when it last did something
        std::array<double, wire::kParts> queued{};  ///< sums over the samples, as the next two
        double outstanding_tokens = 0;
        double outstanding = 0;
        unsigned samples = 0;
    };

    void begin_session();
    void say_hello(Nanos now);
    void say_demands(Nanos now, bool whole);
    void say_usage(Nanos now);
    [[nodiscard]] bool early_due(Nanos now) const;
    [[nodiscard]] wire::FlowDemand record_of(const Tally& tally, wire::FlowKey key, Nanos now) const;
    [[nodiscard]] std::optional<wire::FlowKey> key_of(const LocalFlow& flow) const;
    /// A new interval for the flow, which began with its last sample.
    static void restart(Tally& tally);
    [[nodiscard]] bool idle(const Tally& tally, Nanos now) const;
    void take_welcome(const wire::Header& header, std::string_view text, Nanos now);
    void take(const wire::Header& header, std::span<const std::uint8_t> body, Nanos now);
    void take_tables(std::string_view text);
    void take_peers(const wire::Tables& tables);
    [[nodiscard]] PartRates rates_of(wire::FlowKey key) const;
    void send(wire::Header header, wire::Bytes body);

    wire::Hello hello_;
    std::map<LocalFlow, std::string> names_;    ///< of the appliance
    std::map<LocalFlow, std::uint32_t> peers_;  ///< flows between VMs, and the endpoint that they go to
    State state_ = State::kConnecting;
    std::string refusal_;
    std::uint32_t session_;
    std::uint32_t seed_;
    std::uint32_t interval_ = 0;
    wire::Origin origin_;
    wire::Listener listener_;
    wire::Teller<wire::FlowDemand> teller_;
    wire::Welcome welcome_;
    std::map<std::string, std::uint32_t, std::less<>> vnic_ids_;
    std::map<std::string, std::uint32_t, std::less<>> appliance_ids_;
    std::map<wire::FlowKey, wire::FlowAllocation> guarantees_;
    std::map<wire::FlowKey, wire::FlowAllocation> allocations_;
    std::map<LocalFlow, Tally> tallies_;
    std::map<wire::FlowKey, wire::FlowDemand> records_;  ///< as last said
    UsageQueue usage_;
    std::vector<LinkMessage> outgoing_;
    std::optional<Nanos> hello_at_;  ///< when the last was said
    Nanos demand_due_ = 0;
    Nanos demand_at_ = 0;
    Nanos valid_until_ = 0;
    bool hello_wanted_ = true;
    bool tables_missing_ = true;
    bool rates_changed_ = false;
    LinkCounters counters_;
};

[[nodiscard]] const char* name_of(LinkSession::State state);

}  // namespace weir
