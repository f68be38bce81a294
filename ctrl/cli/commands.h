// commands.h - the commands of weirctl: their table, and the samples and views that they print.
// Units: named beside each number. Threads: any (pure functions), but add_*: the program's only one.
//
// A command asks a switch or a controller for JSON. A sample makes numbers of two replies, a view makes text
// of a reply or of a sample. Both are pure, so that tests need no socket. A vNIC that had sent 1,000 bytes at
// the first reading and 3,000 bytes 2 s later: top_sample() makes 8,000 bit/s of it, top_text() "8 kbit/s".
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ctrl/cli/table.h"

// The commands in the order of `weirctl --help`: source file, words on the command line, function, one
// phrase. FILE.cc defines `void FUNCTION(CLI::App& command, Session& session)`, which adds options and a
// callback, and the views that it needs. A new command is FILE.cc and its line here: meson.build reads the
// files from this table.
// clang-format off
#define WEIRCTL_COMMANDS(COMMAND) \
    COMMAND(status, "status",      add_status,      "state of the switch, or of the controller") \
    COMMAND(top,    "top",         add_top,         "live rates, fulfillment and drops of every vNIC") \
    COMMAND(why,    "why",         add_why,         "the bucket that held a vNIC back, and its other users") \
    COMMAND(events, "events",      add_events,      "the last events: vNICs, links, held-back time, drops") \
    COMMAND(status, "drops",       add_drops,       "dropped packets by port, direction and reason") \
    COMMAND(vnic,   "vnic list",   add_vnic_list,   "all vNICs with reservation, limit, shares and port") \
    COMMAND(vnic,   "vnic show",   add_vnic_show,   "one vNIC: guarantee, traffic, drops, queue delay") \
    COMMAND(vnic,   "vnic set",    add_vnic_set,    "change rates and shares of a running vNIC") \
    COMMAND(vnic,   "vnic add",    add_vnic_add,    "add a vNIC to the running switch") \
    COMMAND(vnic,   "vnic remove", add_vnic_remove, "remove a vNIC from the running switch") \
    COMMAND(flow,   "flow list",   add_flow_list,   "requests to appliances: rates, limits, latency") \
    COMMAND(capture, "capture",     add_capture,     "frames of a vNIC or the uplink, also dropped ones, to a file") \
    COMMAND(guest,  "qemu-args",   add_qemu_args,   "QEMU arguments for a guest on a vNIC") \
    COMMAND(guest,  "libvirt-xml", add_libvirt_xml, "libvirt XML for a guest on a vNIC") \
    COMMAND(pool,   "pool show",   add_pool_show,   "controller: pools with demand and entitlement") \
    COMMAND(pool,   "pool set",    add_pool_set,    "controller: change a pool until it is reset") \
    COMMAND(pool,   "pool reset",  add_pool_reset,  "controller: return a pool to the cluster file") \
    COMMAND(bill,   "bill",        add_bill,        "controller: guaranteed, delivered and charged") \
    COMMAND(backup, "backup",      add_backup,      "controller: copy its store and its bill while it runs") \
    COMMAND(audit,  "audit",       add_audit,       "controller: changes with their operators, hosts, refusals") \
    COMMAND(plan,   "plan",        add_plan,        "whether the promises of a cluster file can be kept") \
    COMMAND(apply,  "apply",       add_apply,       "controller: make a cluster file the next revision") \
    COMMAND(apply,  "rollback",    add_rollback,    "controller: make an earlier revision the next one") \
    COMMAND(apply,  "history",     add_history,     "controller: revisions of its specification") \
    COMMAND(apply,  "show",        add_show,        "controller: text of its specification") \
    COMMAND(tenant, "tenant list",   add_tenant_list,   "controller: tenants of its specification") \
    COMMAND(tenant, "tenant show",   add_tenant_show,   "controller: one tenant") \
    COMMAND(tenant, "tenant add",    add_tenant_add,    "controller: add a tenant") \
    COMMAND(tenant, "tenant set",    add_tenant_set,    "controller: change a tenant") \
    COMMAND(tenant, "tenant remove", add_tenant_remove, "controller: remove a tenant") \
    COMMAND(tenant, "tenant add-vnic",    add_tenant_add_vnic,    "controller: add a vNIC to a tenant") \
    COMMAND(tenant, "tenant set-vnic",    add_tenant_set_vnic,    "controller: change a tenant's vNIC") \
    COMMAND(tenant, "tenant remove-vnic", add_tenant_remove_vnic, "controller: remove a tenant's vNIC") \
    COMMAND(tenant, "host add",      add_host_add,      "controller: add a host") \
    COMMAND(tenant, "host set",      add_host_set,      "controller: change a host, or its key") \
    COMMAND(tenant, "host remove",   add_host_remove,   "controller: remove a host") \
    COMMAND(tenant, "host drain",    add_host_drain,    "controller: let no further vNICs come to a host") \
    COMMAND(tenant, "appliance set", add_appliance_set, "controller: change an appliance") \
    COMMAND(token,  "token create", add_token_create, "a token of the controller's HTTP API") \
    COMMAND(solve,  "solve",       add_solve,       "one of the controller's problems, computed offline") \
    COMMAND(doctor, "doctor",      add_doctor,      "faults of this host, and the command to mend each") \
    COMMAND(completion, "completion", add_completion, "the script that completes words in bash or zsh") \
    COMMAND(log,    "log level",   add_log_level,   "show or set the level of a switch's or controller's log") \
    COMMAND(clock,  "clock step",  add_clock_step,  "move the time of a switch or controller under test")
// clang-format on

namespace CLI {
class App;
}

namespace weir {
struct ClusterConfig;
}

namespace weir::cli {

using nlohmann::json;
struct PcapngFrame;
struct Session;

#define WEIRCTL_DECLARE(file, words, function, phrase) void function(CLI::App& command, Session& session);
WEIRCTL_COMMANDS(WEIRCTL_DECLARE)
#undef WEIRCTL_DECLARE

// times

/// Unix seconds of "2026-11-21", "2026-11-21T15:00" or "2026-11-21 15:00:30Z" (UTC, 1970 to 2096), of "15:00"
/// and "15:00:30" in the 24 hours until `now`, of a parse_ago(), or of a number of Unix seconds.
/// @param now Unix seconds; absent: the present time
[[nodiscard]] std::optional<std::uint64_t> parse_time(std::string_view text);
[[nodiscard]] std::optional<std::uint64_t> parse_time(std::string_view text, std::uint64_t now);
/// Nanoseconds of a time ago: "-5min", "5min", "-90s", "-2h"; "-5m" are minutes, too.
[[nodiscard]] std::optional<std::uint64_t> parse_ago(std::string_view text);
/// The fault of an option that is such a time, as CLI11 reports it; empty without fault.
[[nodiscard]] std::string time_fault(const std::string& text);

// status, drops

/// Whether `status` came from a controller; otherwise it came from a switch.
[[nodiscard]] bool is_controller(const json& status);
[[nodiscard]] std::string switch_text(const json& status, const Terminal& terminal);
[[nodiscard]] std::string controller_text(const json& status, const Terminal& terminal);
[[nodiscard]] std::string drops_text(const json& drops, const Terminal& terminal);

/// The member "state" of a vNIC, tunnel or uplink: "up" in green, any other in red.
[[nodiscard]] Cell state_cell(const json& value);
/// How the NIC finds a vNIC's worker: "hardware", or "software (net_tap has no rules)".
[[nodiscard]] std::string steering_text(const json& vnic);
/// Of which of the controller and the switch's file a vNIC's values come, and how the two differ; empty of a
/// switch without a controller.
[[nodiscard]] std::string promise_text(const json& promise);
/// "1 d 2 h", "3 min 4 s", "5 s".
[[nodiscard]] std::string uptime_text(double seconds);
/// Drops by reason, the largest count first: "no_such_mac 12, vm_ring_full 3"; empty without drops.
[[nodiscard]] std::string reasons_text(const json& reasons);

// capture

/// Of a frame of `capture.read`: "from vm (vm1): dropped: mac_spoof, waited 1.2 ms".
[[nodiscard]] std::string capture_comment(const json& frame);
/// The frame as a file has it.
[[nodiscard]] PcapngFrame captured_frame(const json& frame);

// top

/// Replies to `status` and `vnic.list`, read one after the other.
struct Snapshot {
    json status;
    json vnics;
};

/// Rates between two snapshots that are `seconds` apart (> 0).
///   vnics[]: name, tenant, state, offered_bps, delivered_bps (from the VM), received_bps (to the VM),
///   offered_pps, delivered_pps,
///     reservation_bps, limit_bps, limit_pps, fulfillment (0 to 1), held_back_percent (of the time),
///     queue_delay_ns, cpu_percent (of one core), drops_per_second by reason;
///   workers[]: busy_percent, mean_burst, cycles_per_packet;
///   uplink: sent_bps, received_bps, capacity_bps.
/// A value that cannot be computed is null.
[[nodiscard]] json top_sample(const Snapshot& before, const Snapshot& after, double seconds);
/// Keys that top_select() sorts by: the largest value first; of `fulfillment` the smallest, and names in the
/// order of the alphabet.
inline constexpr const char* kTopKeys[] = {"name",        "offered",   "delivered", "received", "reservation",
                                           "fulfillment", "held-back", "delay",     "cpu",      "drops"};
/// Leaves the vNICs whose name or tenant contains `filter`, in the order of `key`; empty: all, as they are.
void top_select(json& sample, const std::string& filter, const std::string& key);

/// The delivered rates of each vNIC in the last samples, at most kSamples.
class TopHistory {
  public:
    static constexpr std::size_t kSamples = 12;
    /// Adds the sample's rates, and sets vnics[].recent_bps to those in the history, the oldest first.
    void note(json& sample);

  private:
    std::map<std::string, std::deque<double>> rates_;  // by name
};

/// The sample as one screen; vNICs that do not fit the terminal's rows are counted in the last line.
[[nodiscard]] std::string top_text(const json& sample, const Terminal& terminal);
/// limit_bps and limit_pps of a vNIC: "2 Gbit/s, 1 Mpps"; "-" without a limit.
[[nodiscard]] std::string limits_text(const json& vnic);

// flow list: a service flow is the requests of one vNIC to one appliance

/// The resources that one request pays, under the switch's names: tokens of the appliance, bytes of the
/// uplink and downlink, TSC cycles of the worker.
inline constexpr const char* kPathResources[] = {"appliance", "uplink", "downlink", "cycles"};
/// Also blocks requests: the appliance's bound on outstanding tokens.
inline constexpr const char* kWindow = "window";

/// Seconds between two replies, by their `uptime_s`; after a restart of the switch, seconds since its start.
[[nodiscard]] double seconds_between(const json& before, const json& after);

/// Two replies to `flow.list` as seconds, accounting, appliances and flows[]. A flow has
///   used_per_second, limit_per_second (null without), blocked_percent (of the time) by resource, the last
///     also of the window; held_back_by: the one of these that blocked longest, or null;
///   requests_per_second, responses_per_second, failed_per_second, plain_bytes_per_second;
///   queued, held, outstanding, outstanding_tokens, overdue_tokens, connections, latency_ns as they are now;
///   total: counters since the start of the switch.
/// A flow that is new counts from zero.
[[nodiscard]] json flow_sample(const json& before, const json& after);
[[nodiscard]] std::string flow_text(const json& sample, const Terminal& terminal);

// why

/// Two replies to `why` as seconds, accounting, isolation, vnic, state, offered_bps, delivered_bps,
/// limit_bps, limit_pps, limiters (destinations that advertise a rate), destination_congested_per_second, and
///   held_back_by: bucket, appliance and blocked_percent of the bucket that blocked longest; null when none
///   did; buckets[]: bucket ("limit", "uplink", "buffers", "encryption" of the vNIC; "appliance", "uplink",
///     "downlink", "cycles", "window" of an appliance), appliance (or null), blocked_percent (time in which
///     the bucket could not pay), unit, used, limit (null: none or unknown), others[]: vnic and used, the
///     largest first.
[[nodiscard]] json why_sample(const json& before, const json& after);
/// The bucket that blocked longest, a table of all buckets, and a sentence on each that blocked.
[[nodiscard]] std::string why_text(const json& sample, const Terminal& terminal);
/// The controller's reply to `why`: each flow of the vNIC with the resource or limit that holds it back, and
/// the vNICs that use that resource, with the times since when.
[[nodiscard]] std::string why_cluster_text(const json& why, const Terminal& terminal);

/// The switch's reply to `why.at`: the second, the bucket that held the vNIC back and since when, the seconds
/// around it, and the second itself in steps of 50 ms where the switch still has its samples.
[[nodiscard]] std::string why_at_text(const json& answer, const Terminal& terminal);

// events

[[nodiscard]] std::string events_text(const json& reply, const Terminal& terminal);
/// The same without titles, for events that come one by one.
[[nodiscard]] std::string event_lines(const json& reply, const Terminal& terminal);

// vnic list, show, set, add, remove

[[nodiscard]] std::string vnic_list_text(const json& list, const Terminal& terminal);
/// @param accounting "wire" or "l2": how the bytes of a frame are counted
[[nodiscard]] std::string vnic_text(const json& vnic, const std::string& accounting,
                                    const Terminal& terminal);

/// `limit=2Gbit shares=200 limit_pps=none disk.limit=5ktokens` as an object: none is null, true and false and
/// whole numbers are themselves, any other value is a string, and `disk.limit` is a member of the appliance
/// `disk` in "appliances". @throws Failure (kExitBadInput): no key, no "=", or a key twice
[[nodiscard]] json object_of_pairs(const std::vector<std::string>& pairs);
/// An object from a file, a text in { }, or pairs. @throws Failure
[[nodiscard]] json object_of_words(const std::vector<std::string>& words);

// qemu-args, libvirt-xml

struct GuestOptions {
    std::string memory = "1G";  ///< size of the guest's memory in QEMU's notation
    bool tcg = false;  ///< software emulation: no MSI-X vectors (QEMU 7.2 crashes with them) and no boot ROM
};

/// QEMU's arguments, one option with its value per element, quoted for a shell.
/// @param vnic reply to vnic.show, or a vNIC of the configuration
/// @throws Failure (kExitBadInput) when the vNIC is a DPDK device and has no socket
[[nodiscard]] std::vector<std::string> qemu_arguments(const json& vnic, const GuestOptions& options);
/// The elements <memoryBacking> and <interface>. Parameter and failure as above.
[[nodiscard]] std::string libvirt_xml(const json& vnic);

// pool show

/// @param appliance whose pools are shown, in tokens per second; empty = of all appliances
[[nodiscard]] std::string pools_text(const json& reply, const std::string& appliance,
                                     const Terminal& terminal);
/// The warning after the confirmation of pool.set or pool.reset; empty when the change is lasting.
[[nodiscard]] std::string not_lasting_text(const json& reply);

// audit

[[nodiscard]] std::string audit_text(const json& audit, const Terminal& terminal);
/// The process of a command, with the name of its user on this machine: "root (uid 0), process 7".
[[nodiscard]] std::string peer_text(const json& value, std::string_view pointer);

// bill

[[nodiscard]] std::string bill_text(const json& bill, const Terminal& terminal);
/// A line of column names, then one line for each vNIC and guarantee kind.
[[nodiscard]] std::string bill_csv(const json& bill);

// apply, rollback, history, show

/// Values that differ, promises that become smaller, vNICs that lose their place, and the outcome.
/// @param change reply to `apply`; "pending" of the reply to `observed` may be in it
[[nodiscard]] std::string apply_text(const json& change, const Terminal& terminal);
/// A line for each drained host, with the vNICs that are still there.
/// @param vnics "floating" and "stated": names
[[nodiscard]] std::string drained_text(const std::string& host, const json& vnics);
/// "  PATH BEFORE -> NOW", "+ PATH NOW" or "- PATH BEFORE".
[[nodiscard]] std::string changed_value_text(const json& change);
[[nodiscard]] std::string history_text(const json& history, const Terminal& terminal);

// tenant, host, appliance

[[nodiscard]] std::string tenant_list_text(const json& tenants, const Terminal& terminal);

// plan

/// The plan of a file that is to follow the one of the running controller. @throws Failure
[[nodiscard]] json running_plan(const Session& session, const ClusterConfig& config);
/// Tenants, resources by load, guarantees that would break, and the verdict.
/// @param plan as plan_json() of ctrl/placement/cluster_plan.h makes it
[[nodiscard]] std::string plan_text(const json& plan, const Terminal& terminal);

}  // namespace weir::cli
