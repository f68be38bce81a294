// vnic_promise.cc - kinds, differences, and the reader of guarantees.
#include "common/config/vnic_promise.h"

#include "common/config/field_kinds.h"
#include "common/types.h"
#include "common/units.h"

namespace weir {
namespace {

constexpr std::uint64_t kDynamicLeast = 1'000;  // bit/s
constexpr VnicPromise kNothingStated{};

/// @return the mean rate of a dynamic guarantee, in bit/s; 0 when it is at fault
std::uint64_t read_dynamic(ObjectReader& reader, VnicPromise& out) {
    constexpr const char* kWhy = "a dynamic guarantee is a size within a time";
    if (!reader.has("size"))
        reader.fault("size", "an amount of data, such as \"10GiB\"", kWhy);
    if (!reader.has("time"))
        reader.fault("time", "a time, such as \"600s\"", kWhy);
    const bool has_size = reader.read_quantity("size", Quantity::kSize, out.size_bytes, kPromisedSizeRange);
    const bool has_time = reader.read_quantity("time", Quantity::kDuration, out.time, kPromisedTimeRange);
    if (!has_size || !has_time)
        return 0;
    const std::uint64_t rate = dynamic_mean_bps(out.size_bytes, out.time);
    if (rate < kDynamicLeast || rate > kPromisedRateRange.max)
        reader.fault(
            "size",
            format_rate(kDynamicLeast) + " to " + format_rate(kPromisedRateRange.max) + " over its time",
            "that is " + format_rate(rate));
    return rate;
}

std::string dynamic_text(const VnicPromise& promise) {
    return format_size(promise.size_bytes) + " in " + format_duration(promise.time);
}

/// Differences of the kind, or of the amounts within it.
void compare_guarantees(const VnicPromise& promise, const VnicPromise& file,
                        std::vector<PromiseDifference>& out) {
    const GuaranteeKind kind = kind_of(promise);
    const bool is_stated = file.guarantee.has_value();
    const bool is_other_kind = is_stated && *file.guarantee != kind;
    if (is_other_kind)
        out.push_back({"guarantee_kind", std::string(guarantee_name(kind)),
                       std::string(guarantee_name(*file.guarantee))});
    if (file.guarantee == GuaranteeKind::kDynamic) {
        if (!is_other_kind && (file.size_bytes != promise.size_bytes || file.time != promise.time))
            out.push_back({"size", dynamic_text(promise), dynamic_text(file)});
        return;
    }
    if (file.reservation_bps != 0 && file.reservation_bps != promise.reservation_bps)
        out.push_back(
            {"reservation", format_rate(promise.reservation_bps), format_rate(file.reservation_bps)});
}

template <typename Value, typename Text>
void compare_value(const char* key, const std::optional<Value>& promised, const std::optional<Value>& file,
                   const Text& text, std::vector<PromiseDifference>& out) {
    if (promised && file && *promised != *file)
        out.push_back({key, text(*promised), text(*file)});
}

template <typename Text>
void compare_limit(const char* key, const std::optional<std::uint64_t>& promised,
                   const std::optional<std::uint64_t>& file, const Text& text,
                   std::vector<PromiseDifference>& out) {
    if (promised && file && *promised != *file)
        out.push_back(
            {key, text(*promised), text(*file) + (*file < *promised ? ", which is lower and holds" : "")});
}

std::string tokens_text(std::uint64_t tokens_per_sec) {
    return format_quantity(Quantity::kTokenRate, tokens_per_sec);
}

void compare_workers(const WorkerPromise& promise, const WorkerPromise& file,
                     std::vector<PromiseDifference>& out) {
    compare_value("reservation_pps", promise.reservation_pps, file.reservation_pps, format_packet_rate, out);
    compare_limit("limit_pps", promise.limit_pps, file.limit_pps, format_packet_rate, out);
    compare_value(
        "cycle_shares", promise.cycle_shares, file.cycle_shares,
        [](std::uint32_t shares) { return std::to_string(shares); }, out);
    compare_value("encrypt_reservation", promise.encrypt_reservation, file.encrypt_reservation, tokens_text,
                  out);
    compare_limit("encrypt_limit", promise.encrypt_limit, file.encrypt_limit, tokens_text, out);
}

}  // namespace

GuaranteeKind kind_of(const VnicPromise& promise) {
    return promise.guarantee.value_or(promise.reservation_bps != 0 ? GuaranteeKind::kStrict
                                                                   : GuaranteeKind::kFairness);
}

std::uint64_t dynamic_mean_bps(std::uint64_t size_bytes, Nanos time) {
    return static_cast<std::uint64_t>(Wide{size_bytes} * kBitsPerByte * kNanosPerSec / time);
}

std::vector<PromiseDifference> differences(const VnicPromise& promise, const VnicPromise& file) {
    std::vector<PromiseDifference> out;
    compare_guarantees(promise, file, out);
    compare_limit("limit", promise.limit_bps, file.limit_bps, format_rate, out);
    const std::uint32_t shares = kind_of(promise) == GuaranteeKind::kBestEffort ? 1 : promise.shares;
    if (file.shares != kNothingStated.shares && file.shares != shares)
        out.push_back({"shares", std::to_string(shares), std::to_string(file.shares)});
    compare_workers(promise.worker, file.worker, out);
    return out;
}

std::string text_of(const std::vector<PromiseDifference>& differences) {
    std::string text;
    for (const PromiseDifference& each : differences)
        text += (text.empty() ? "" : "; ") + each.key + ' ' + each.promised + " (file: " + each.file + ')';
    return text;
}

void read_guarantee(ObjectReader& reader, VnicPromise& out, bool is_rate_elsewhere) {
    reader.read_word<GuaranteeKind>("guarantee_kind", out.guarantee, kGuaranteeWords);
    const bool has_reservation = reader.has("reservation");
    reader.read_quantity("reservation", Quantity::kBitRate, out.reservation_bps, kPromisedRateRange);
    if (out.guarantee == GuaranteeKind::kDynamic) {
        if (has_reservation)
            reader.fault("reservation", "no reservation with a dynamic guarantee",
                         "its size and time give the rate");
        out.reservation_bps = read_dynamic(reader, out);
        return;
    }
    for (const std::string_view key : {"size", "time"})
        if (reader.take(key) != nullptr)
            reader.fault(key, "nothing, or \"guarantee_kind\": \"dynamic\"",
                         "it belongs to a dynamic guarantee");
    if (out.guarantee == GuaranteeKind::kStrict && out.reservation_bps == 0 && !is_rate_elsewhere)
        reader.fault("reservation", "a rate, such as \"2Gbit\"", "a strict guarantee is a rate");
    const bool has_rate = !out.guarantee || out.guarantee == GuaranteeKind::kStrict;
    if (!has_rate && out.reservation_bps != 0)
        reader.fault("reservation", "0bit, or \"guarantee_kind\": \"strict\"",
                     "this kind of guarantee has no rate");
}

std::uint64_t promised_packets_bps(std::uint64_t packets_per_sec) {
    constexpr std::uint64_t kFrameBytes = 64 + 24 + 4;  // FCS, preamble and gap; VLAN tag
    return packets_per_sec * kFrameBytes * kBitsPerByte;
}

void read_worker_promise(ObjectReader& reader, VnicPromise& out) {
    WorkerPromise& worker = out.worker;
    constexpr const char* kAbove = "the reservation is above the limit";
    reader.read_limit("reservation_pps", Quantity::kPacketRate, worker.reservation_pps,
                      kPromisedPacketsRange);
    reader.read_limit("limit_pps", Quantity::kPacketRate, worker.limit_pps, kPromisedPacketLimitRange);
    reader.read_integer("cycle_shares", worker.cycle_shares, kPromisedSharesRange);
    reader.read_limit("encrypt_reservation", Quantity::kTokenRate, worker.encrypt_reservation,
                      kPromisedTokensRange);
    reader.read_limit("encrypt_limit", Quantity::kTokenRate, worker.encrypt_limit, kPromisedTokenLimitRange);
    const std::uint64_t packets = worker.reservation_pps.value_or(0);
    if (worker.limit_pps && packets > *worker.limit_pps)
        reader.fault("reservation_pps", "at most limit_pps, " + format_packet_rate(*worker.limit_pps),
                     kAbove);
    if (promised_packets_bps(packets) > out.reservation_bps)
        reader.fault("reservation_pps",
                     "a reservation of the link of at least " + format_rate(promised_packets_bps(packets)),
                     "the link has to carry the promised packets, 92 bytes each with a VLAN tag");
    if (worker.encrypt_limit && worker.encrypt_reservation.value_or(0) > *worker.encrypt_limit)
        reader.fault("encrypt_reservation", "at most encrypt_limit, " + tokens_text(*worker.encrypt_limit),
                     kAbove);
}

}  // namespace weir
