// why_view.cc - the answer first, then every bucket, then what can be done.
#include "ctrl/cli/why_view.h"

#include <cmath>

#include "common/units.h"
#include "ctrl/cli/json_access.h"
#include "ctrl/cli/status_view.h"
#include "ctrl/cli/table.h"

namespace weir::cli {
namespace {

constexpr double kShown = 0.05;  // percent: less prints as 0.0%

std::string rate_text(const std::string& unit, double rate) {
    if (unit == "tokens/s")
        return human_token_rate(rate);
    if (unit == "tokens")
        return human_count(rate) + " tokens";
    if (unit == "cycles/s")
        return human_cycle_rate(rate);
    return unit == "packets/s" ? human_packet_rate(rate) : human_rate(rate);
}

// "own limit", "uplink"; of an appliance "disk: downlink"
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
    return rate_text(unit, used) + (std::isfinite(limit) ? " of " + rate_text(unit, limit) : "");
}

// The three who used most.
std::string others_text(const json& bucket) {
    constexpr std::size_t kNamed = 3;
    const json& others = list_at(bucket, "/others");
    std::string text;
    std::size_t count = 0;
    for (const json& other : others)
        if (++count <= kNamed)
            text += (text.empty() ? "" : ", ") + text_at(other, "/vnic") + ' ' +
                    rate_text(text_at(bucket, "/unit"), number_at(other, "/used"));
    if (count > kNamed)
        text += " and " + std::to_string(count - kNamed) + " more";
    return text.empty() ? "-" : text;
}

std::string verdict_text(const json& sample, const Terminal& terminal) {
    const json& by = at(sample, "/held_back_by");
    if (!by.is_object())
        return styled("nothing held it back", Style::kGood, terminal.colour) + '\n';
    return "held back most by " + styled(bucket_text(by), Style::kWarn, terminal.colour) + ": " +
           percent_text(number_at(by, "/blocked_percent")) + " of the time\n";
}

std::string buckets_text(const json& buckets, const Terminal& terminal) {
    Table table({{"BUCKET"}, {"BLOCKED", true}, {"USED"}, {"WHO ELSE", false, 1}});
    for (const json& bucket : buckets) {
        const double blocked = number_at(bucket, "/blocked_percent");
        table.add_row({bucket_text(bucket),
                       {percent_text(blocked), blocked >= kShown ? Style::kWarn : Style::kPlain},
                       used_text(bucket),
                       others_text(bucket)});
    }
    return table.render(terminal.columns, terminal.colour);
}

std::string limits_of(const json& sample) {
    const double bits = number_at(sample, "/limit_bps");
    const double packets = number_at(sample, "/limit_pps");
    const std::string both = std::isfinite(bits) && std::isfinite(packets) ? ", " : "";
    return (std::isfinite(bits) ? human_rate(bits) : "") + both +
           (std::isfinite(packets) ? human_packet_rate(packets) : "");
}

// What the bucket did, and what would change that.
std::string sentence(const json& sample, const json& bucket) {
    const std::string name = text_at(bucket, "/bucket");
    const std::string appliance = text_at(bucket, "/appliance");
    const std::string time = percent_text(number_at(bucket, "/blocked_percent")) + " of the time";
    if (appliance != "-") {
        if (name == "window")
            return "requests to " + appliance + " waited for others to be answered " + time +
                   ": no more than " + rate_text("tokens", number_at(bucket, "/limit")) +
                   " may be outstanding there; a reservation or more shares let them in earlier";
        const char* what = name == "appliance" ? "tokens at the appliance"
                           : name == "cycles"  ? "cycles of the switch"
                           : name == "uplink"  ? "the way there"
                                               : "the way back";
        return "requests to " + appliance + " waited for " + what + ' ' + time + ": its part is " +
               rate_text(text_at(bucket, "/unit"), number_at(bucket, "/limit"));
    }
    if (name == "limit")
        return "its ring was left alone " + time + " because of its own limit, " + limits_of(sample) +
               ": weirctl vnic set " + text_at(sample, "/vnic") +
               (text_at(bucket, "/unit") == "packets/s" ? " limit_pps=RATE" : " limit=RATE");
    if (name == "uplink")
        return "its ring was left alone " + time +
               " because its backlog towards the uplink was full: a reservation or more shares let it pass "
               "earlier";
    if (name == "encryption")
        return "its ring was left alone " + time +
               " because its frames cost more in tunnels than it may spend: weirctl vnic set " +
               text_at(sample, "/vnic") + " encrypt_limit=TOKENS";
    return "its ring was left alone " + time +
           " because it held its quota of packet buffers: raise its buffers";
}

std::string feedback_text(const json& sample) {
    const double limiters = number_at(sample, "/limiters");
    const double dropped = number_at(sample, "/destination_congested_per_second");
    if (!(limiters > 0) && !(dropped > 0))
        return "";
    std::string text;
    if (limiters > 0)
        text = whole_text(limiters) + (limiters > 1 ? " destinations have" : " destination has") +
               " asked it for a lower rate (feedback)";
    if (dropped > 0)
        text += std::string(text.empty() ? "" : "; ") + human_packet_rate(dropped) +
                " were dropped as destination_congested: the receiving side is short, or the controller's "
                "rate for it; not this host";
    return text + '\n';
}

}  // namespace

std::string why_text(const json& sample, const Terminal& terminal) {
    const bool up = text_at(sample, "/state") == "up";
    std::string text = text_at(sample, "/vnic") + ": " +
                       styled(text_at(sample, "/state"), up ? Style::kGood : Style::kBad, terminal.colour) +
                       ", offered " + human_rate(number_at(sample, "/offered_bps")) + ", delivered " +
                       human_rate(number_at(sample, "/delivered_bps")) + ", over " +
                       human_duration(number_at(sample, "/seconds") * 1e9) + '\n';
    if (!up)
        text += "no guest is connected: weirctl qemu-args " + text_at(sample, "/vnic") + '\n';
    if (at(sample, "/isolation") == false)
        text += "isolation is off: no limit, reservation or share is kept\n";
    const json& buckets = list_at(sample, "/buckets");
    text += verdict_text(sample, terminal) + '\n' + buckets_text(buckets, terminal);
    std::string reasons;
    for (const json& bucket : buckets)
        if (number_at(bucket, "/blocked_percent") >= kShown)
            reasons += sentence(sample, bucket) + '\n';
    reasons += feedback_text(sample);
    return reasons.empty() ? text : text + '\n' + reasons;
}

}  // namespace weir::cli
