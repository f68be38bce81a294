// why.cc - weirctl why: the buckets that held a vNIC back between two readings of the switch.
//
// Each bucket on the path of the vNIC's frames and requests has a counter of the nanoseconds during which it
// could not pay. Their growth between two readings, divided by the time between them, is the share of time
// that the bucket blocked; the bucket with the largest share is the answer. An uplink whose counter grew by
// 300 ms in 1 s: 30%.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <memory>

#include "common/units.h"
#include "ctrl/cli/commands.h"
#include "ctrl/cli/json_access.h"
#include "ctrl/cli/session.h"

namespace weir::cli {
namespace {

constexpr double kBlockedShown = 0.05;  // percent of the time; less prints as 0.0%

/// Two replies and the time between them.
struct Period {
    const json& before;
    const json& after;
    double seconds;

    [[nodiscard]] double rate(const std::string& pointer) const {
        return growth(before, after, pointer) / seconds;
    }
    [[nodiscard]] double bit_rate(const char* pointer) const { return kBitsPerByte * rate(pointer); }
};

json bucket_json(const char* name, const json& appliance, double blocked_percent) {
    return {{"bucket", name},
            {"appliance", appliance},
            {"blocked_percent", number_or_null(blocked_percent)},
            {"unit", "bit/s"},
            {"used", nullptr},
            {"limit", nullptr},
            {"others", json::array()}};
}

/// Percent of the time during which the vNIC's ring was held back for this reason.
double held_back_percent(const Period& period, const char* reason) {
    return std::min(period.rate(std::string("/vnic/held_back_ns/") + reason) / kNanosPerPercent, 100.0);
}

void add_other(json& others, const json& vnic, double used) {
    if (used > 0)
        others.push_back({{"vnic", vnic}, {"used", used}});
}

void sort_others(json& others) {
    std::stable_sort(others.begin(), others.end(), [](const json& a, const json& b) {
        return a["used"].get<double>() > b["used"].get<double>();
    });
}

json limit_bucket(const Period& period) {
    json bucket = bucket_json("limit", nullptr, held_back_percent(period, "limit"));
    const bool in_packets =
        !at(period.after, "/vnic/limit_bps").is_number() && at(period.after, "/vnic/limit_pps").is_number();
    bucket["unit"] = in_packets ? "packets/s" : "bit/s";
    bucket["used"] = number_or_null(in_packets ? period.rate("/vnic/from_vm/admitted/packets")
                                               : period.bit_rate("/vnic/from_vm/admitted/bytes"));
    bucket["limit"] = at(period.after, in_packets ? "/vnic/limit_pps" : "/vnic/limit_bps");
    return bucket;
}

/// `used` is the uplink's rate, of all vNICs together.
json uplink_bucket(const Period& period) {
    json bucket = bucket_json("uplink", nullptr, held_back_percent(period, "uplink"));
    bucket["used"] = number_or_null(period.bit_rate("/uplink/tx/bytes"));
    bucket["limit"] = at(period.after, "/uplink/capacity_bps");
    for (const json& other : list_at(period.after, "/others")) {
        const json& then = entry_with(list_at(period.before, "/others"), "/name", at(other, "/name"));
        add_other(bucket["others"], at(other, "/name"),
                  kBitsPerByte * growth(then, other, "/uplink_bytes") / period.seconds);
    }
    sort_others(bucket["others"]);
    return bucket;
}

/// Frames per second that were dropped because their destination advertised too low a rate. The switch leaves
/// out reasons that never occurred.
double congested_per_second(const Period& period) {
    if (!at(period.after, "/vnic/from_vm/drops").is_object())
        return std::numeric_limits<double>::quiet_NaN();
    const double dropped = number_at(period.after, "/vnic/from_vm/drops/destination_congested");
    return std::isfinite(dropped) ? period.rate("/vnic/from_vm/drops/destination_congested") : 0;
}

struct ResourceUnit {
    const char* name;
    double factor;  // of the flow's counters: 8 where they count bytes
};
ResourceUnit unit_of(const std::string& resource) {
    if (resource == "appliance")
        return {"tokens/s", 1};
    return resource == "cycles" ? ResourceUnit{"cycles/s", 1} : ResourceUnit{"bit/s", kBitsPerByte};
}

double used_of(const json& flow, const std::string& resource) {
    return unit_of(resource).factor * number_at(flow, "/used_per_second/" + resource);
}

/// Lists `use(flow)` of the flows of other vNICs to the same appliance, the largest first.
template <class Use>
json others_at(const json& flow, const json& all_flows, const Use& use) {
    json others = json::array();
    for (const json& other : all_flows)
        if (at(other, "/appliance") == at(flow, "/appliance") && at(other, "/vnic") != at(flow, "/vnic"))
            add_other(others, at(other, "/vnic"), use(other));
    sort_others(others);
    return others;
}

json resource_bucket(const json& flow, const std::string& resource, const json& all_flows) {
    json bucket = bucket_json(resource.c_str(), at(flow, "/appliance"),
                              number_at(flow, "/blocked_percent/" + resource));
    const double limit = number_at(flow, "/limit_per_second/" + resource);
    bucket["unit"] = unit_of(resource).name;
    bucket["used"] = number_or_null(used_of(flow, resource));
    bucket["limit"] = number_or_null(unit_of(resource).factor * limit);
    bucket["others"] =
        others_at(flow, all_flows, [&](const json& other) { return used_of(other, resource); });
    return bucket;
}

/// `used` is the tokens that the requests of all vNICs have outstanding now.
json window_bucket(const json& flow, const json& appliance, const json& all_flows) {
    json bucket = bucket_json(kWindow, at(flow, "/appliance"), number_at(flow, "/blocked_percent/window"));
    bucket["unit"] = "tokens";
    bucket["used"] = at(appliance, "/outstanding_tokens");
    bucket["limit"] = at(appliance, "/window_tokens");
    bucket["others"] =
        others_at(flow, all_flows, [](const json& other) { return number_at(other, "/outstanding_tokens"); });
    return bucket;
}

void add_flow_buckets(json& buckets, const json& flow, const json& sample) {
    const json& flows = sample["flows"];
    for (const std::string resource : kPathResources)
        if (resource != "cycles" || at(flow, "/limit_per_second/cycles").is_number())
            buckets.push_back(resource_bucket(flow, resource, flows));
    const json& appliance = entry_with(list_at(sample, "/appliances"), "/name", at(flow, "/appliance"));
    if (at(appliance, "/window_tokens").is_number())
        buckets.push_back(window_bucket(flow, appliance, flows));
}

/// The bucket that blocked longest; null when none blocked for kBlockedShown.
json longest_blocked(const json& buckets) {
    json found;
    double longest = kBlockedShown;
    for (const json& bucket : buckets) {
        const double blocked = number_at(bucket, "/blocked_percent");
        if (!(blocked >= longest))
            continue;
        longest = blocked;
        found = {
            {"bucket", bucket["bucket"]}, {"appliance", bucket["appliance"]}, {"blocked_percent", blocked}};
    }
    return found;
}

std::string amount_text(const std::string& unit, double amount) {
    if (unit == "tokens/s")
        return human_token_rate(amount);
    if (unit == "tokens")
        return human_count(amount) + " tokens";
    if (unit == "cycles/s")
        return human_cycle_rate(amount);
    return unit == "packets/s" ? human_packet_rate(amount) : human_rate(amount);
}

/// "own limit", "uplink"; of an appliance "disk: downlink".
std::string bucket_text(const json& bucket) {
    const std::string name = text_at(bucket, "/bucket");
    const std::string appliance = text_at(bucket, "/appliance");
    if (appliance != "-")
        return appliance + ": " + name;
    return name == "limit" ? "own limit" : name;
}

std::string used_text(const json& bucket) {
    const std::string unit = text_at(bucket, "/unit");
    const double used = number_at(bucket, "/used");
    const double limit = number_at(bucket, "/limit");
    if (!std::isfinite(used))
        return "-";
    return amount_text(unit, used) + (std::isfinite(limit) ? " of " + amount_text(unit, limit) : "");
}

/// The three that used most.
std::string others_text(const json& bucket) {
    constexpr std::size_t kNamed = 3;
    const json& others = list_at(bucket, "/others");
    std::string text;
    std::size_t count = 0;
    for (const json& other : others)
        if (++count <= kNamed)
            text += (text.empty() ? "" : ", ") + text_at(other, "/vnic") + ' ' +
                    amount_text(text_at(bucket, "/unit"), number_at(other, "/used"));
    if (count > kNamed)
        text += " and " + std::to_string(count - kNamed) + " more";
    return text.empty() ? "-" : text;
}

std::string verdict_text(const json& sample, const Terminal& terminal) {
    const json& by = at(sample, "/held_back_by");
    if (!by.is_object())
        return styled("no bucket held it back", Style::kGood, terminal.color) + '\n';
    return "held back most by " + styled(bucket_text(by), Style::kWarn, terminal.color) + ": " +
           percent_text(number_at(by, "/blocked_percent")) + " of the time\n";
}

std::string buckets_text(const json& buckets, const Terminal& terminal) {
    Table table({{"BUCKET"}, {"BLOCKED", true}, {"USED"}, {"OTHER USERS", false, 1}});
    for (const json& bucket : buckets) {
        const double blocked = number_at(bucket, "/blocked_percent");
        table.add_row({bucket_text(bucket),
                       {percent_text(blocked), blocked >= kBlockedShown ? Style::kWarn : Style::kPlain},
                       used_text(bucket),
                       others_text(bucket)});
    }
    return table.render(terminal.columns, terminal.color);
}

/// The reason and the time for which one of the vNIC's own buckets held the ring back, and the command that
/// changes the bucket.
std::string vnic_sentence(const json& sample, const json& bucket, const std::string& time) {
    const std::string name = text_at(bucket, "/bucket");
    const std::string set = ": weirctl vnic set " + text_at(sample, "/vnic") + ' ';
    if (name == "limit")
        return "its ring was not polled " + time + " because of its own limit, " + limits_text(sample) +
               "; to raise it" + set +
               (text_at(bucket, "/unit") == "packets/s" ? "limit_pps=RATE" : "limit=RATE");
    if (name == "uplink")
        return "its ring was not polled " + time +
               " because its backlog for the uplink was full; with a reservation or more shares it is served "
               "earlier" +
               set + "reservation=RATE shares=N";
    if (name == "encryption")
        return "its ring was not polled " + time +
               " because its frames in tunnels cost more than its encrypt_limit; to raise it" + set +
               "encrypt_limit=TOKENS";
    if (name == "refused")
        return "its ring was not polled " + time +
               " because the controller refuses it; it is served again as soon as the reason is gone";
    if (name == "receiver")
        return "its ring was not polled " + time +
               " because a VM of this host that it sends to takes no more; with a reservation or more shares "
               "it "
               "is served earlier there" +
               set + "reservation=RATE shares=N";
    return "its ring was not polled " + time + " because it held its quota of packet buffers; to raise it" +
           set + "buffers=N";
}

/// The same of a bucket on the path to an appliance.
std::string appliance_sentence(const json& bucket, const std::string& time) {
    const std::string name = text_at(bucket, "/bucket");
    const std::string appliance = text_at(bucket, "/appliance");
    if (name == "window")
        return "requests to " + appliance + " waited for responses to earlier ones " + time + ": at most " +
               amount_text("tokens", number_at(bucket, "/limit")) +
               " may be outstanding there; with a reservation or more shares they are released earlier";
    const char* what = name == "appliance" ? "tokens of the appliance"
                       : name == "cycles"  ? "cycles of the worker"
                       : name == "uplink"  ? "bytes of the uplink"
                                           : "bytes of the downlink";
    return "requests to " + appliance + " waited for " + what + ' ' + time + ": their limit is " +
           amount_text(text_at(bucket, "/unit"), number_at(bucket, "/limit"));
}

std::string sentence(const json& sample, const json& bucket) {
    const std::string time = percent_text(number_at(bucket, "/blocked_percent")) + " of the time";
    return text_at(bucket, "/appliance") == "-" ? vnic_sentence(sample, bucket, time)
                                                : appliance_sentence(bucket, time);
}

std::string feedback_text(const json& sample) {
    const double limiters = number_at(sample, "/limiters");
    const double dropped = number_at(sample, "/destination_congested_per_second");
    if (!(limiters > 0) && !(dropped > 0))
        return "";
    std::string text;
    if (limiters > 0)
        text = whole_text(limiters) + (limiters > 1 ? " destinations advertise" : " destination advertises") +
               " a lower rate to it (feedback)";
    if (dropped > 0)
        text +=
            std::string(text.empty() ? "" : "; ") + human_packet_rate(dropped) +
            " were dropped as destination_congested: the bottleneck is at the destination, or in the rate "
            "that the controller allocates for it, not on this host";
    return text + '\n';
}

/// A time ago is one of the switch's clock, any other a second of Unix time.
json why_at_request(const std::string& vnic, const std::string& time) {
    json args{{"name", vnic}};
    if (const auto ago = parse_ago(time))
        args["ago"] = format_duration(*ago);
    else
        args["at"] = *parse_time(time);
    return args;
}

}  // namespace

json why_sample(const json& before, const json& after) {
    const Period period{before, after, seconds_between(before, after)};
    const json sample = flow_sample(before, after);
    const json& name = at(after, "/vnic/name");
    json buckets{limit_bucket(period), uplink_bucket(period),
                 bucket_json("buffers", nullptr, held_back_percent(period, "buffers")),
                 bucket_json("receiver", nullptr, held_back_percent(period, "receiver"))};
    if (at(after, "/vnic/encrypt") == true)
        buckets.push_back(bucket_json("encryption", nullptr, held_back_percent(period, "encryption")));
    if (at(after, "/vnic/refusal").is_string())
        buckets.push_back(bucket_json("refused", nullptr, held_back_percent(period, "refused")));
    for (const json& flow : sample["flows"])
        if (at(flow, "/vnic") == name)
            add_flow_buckets(buckets, flow, sample);
    json held_back_by = longest_blocked(buckets);
    return {{"seconds", number_or_null(period.seconds)},
            {"accounting", at(after, "/accounting")},
            {"isolation", at(after, "/isolation")},
            {"vnic", name},
            {"state", at(after, "/vnic/state")},
            {"refusal", at(after, "/vnic/refusal")},
            {"offered_bps", number_or_null(period.bit_rate("/vnic/from_vm/offered/bytes"))},
            {"delivered_bps", number_or_null(period.bit_rate("/vnic/from_vm/delivered/bytes"))},
            {"limit_bps", at(after, "/vnic/limit_bps")},
            {"limit_pps", at(after, "/vnic/limit_pps")},
            {"limiters", at(after, "/vnic/limiters")},
            {"destination_congested_per_second", number_or_null(congested_per_second(period))},
            {"held_back_by", std::move(held_back_by)},
            {"buckets", std::move(buckets)}};
}

std::string why_text(const json& sample, const Terminal& terminal) {
    const Cell state = state_cell(sample);
    std::string text = text_at(sample, "/vnic") + ": " + styled(state.text, state.style, terminal.color) +
                       ", offered " + human_rate(number_at(sample, "/offered_bps")) + ", delivered " +
                       human_rate(number_at(sample, "/delivered_bps")) + ", over " +
                       human_duration(number_at(sample, "/seconds") * 1e9) + '\n';
    if (state.text != "up")
        text += "no guest is connected; to connect one: weirctl qemu-args " + text_at(sample, "/vnic") + '\n';
    if (at(sample, "/refusal").is_string())
        text += "the controller refuses it: " + text_at(sample, "/refusal") + '\n';
    if (at(sample, "/isolation") == false)
        text += "isolation is off: limits, reservations and shares have no effect\n";
    const json& buckets = list_at(sample, "/buckets");
    text += verdict_text(sample, terminal) + '\n' + buckets_text(buckets, terminal);
    std::string reasons;
    for (const json& bucket : buckets)
        if (number_at(bucket, "/blocked_percent") >= kBlockedShown)
            reasons += sentence(sample, bucket) + '\n';
    reasons += feedback_text(sample);
    return reasons.empty() ? text : text + '\n' + reasons;
}

void add_why(CLI::App& command, Session& session) {
    const auto interval = add_interval(command, "time between the two readings");
    auto vnic = std::make_shared<std::string>();
    command.add_option("VNIC", *vnic, "the vNIC")->required();
    auto is_cluster = std::make_shared<bool>(false);
    CLI::Option* is_cluster_flag = command.add_flag(
        "--cluster", *is_cluster,
        "ask the controller (--socket): which link, appliance or limit of the cluster, and whose "
        "traffic, since when");
    auto time = std::make_shared<std::string>();
    command
        .add_option("--at", *time,
                    "of the past, up to an hour: 10:00 or 10:00:05 of the last 24 hours, 2026-11-21 10:00:05 "
                    "(UTC), or -5min")
        ->type_name("TIME")
        ->check(time_fault)
        ->excludes(is_cluster_flag);
    command.footer(
        "Examples:\n"
        "  weirctl why vm1 --interval 5s\n"
        "  weirctl why vm1 --at 10:00\n"
        "  weirctl why vm1 --cluster --socket /run/weir/admin/ctrl.sock\n"
        "A bucket named APPLIANCE: BUCKET blocks requests to that appliance, the others the vNIC's ring.\n"
        "BLOCKED is a share of the time; several buckets may block at once.");
    command.callback([&session, interval, vnic, is_cluster, time] {
        if (!time->empty())
            return session.print(session.ask("why.at", why_at_request(*vnic, *time)), why_at_text);
        if (*is_cluster)
            return session.print(session.ask("why", {{"name", *vnic}}), why_cluster_text);
        const Readings readings = session.ask_twice("why", {{"name", *vnic}}, *interval);
        session.print(why_sample(readings.before, readings.after), why_text);
    });
}

}  // namespace weir::cli
