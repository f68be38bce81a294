// store_epochs.cc - epochs, and what one leaves to the next: last allocations, measured use, audit trail.
#include <algorithm>
#include <cmath>

#include "common/byte_order.h"
#include "ctrl/store/store.h"

namespace weir {
namespace {

using billing::MeasuredUse;
using Statement = Database::Statement;

constexpr double kMillis = 1000;
/// A bin of a histogram never holds as many milliseconds: such a row is damaged.
constexpr auto kBinMillisMax = static_cast<std::uint64_t>(MeasuredUse::kSecondsMost * kMillis) * 2;

/// A histogram as stored: 64-bit little-endian milliseconds per bin.
std::vector<std::uint8_t> bytes_of(const MeasuredUse& use) {
    std::vector<std::uint8_t> bytes(use.bins().size() * sizeof(std::uint64_t));
    LittleEndianWriter writer(bytes.data());
    for (const double seconds : use.bins())
        writer.put(static_cast<std::uint64_t>(std::llround(seconds * kMillis)));
    return bytes;
}

std::optional<MeasuredUse> use_of(const std::vector<std::uint8_t>& bytes) {
    MeasuredUse::Bins bins{};
    if (bytes.size() != bins.size() * sizeof(std::uint64_t))
        return std::nullopt;
    LittleEndianReader reader(bytes.data());
    for (double& seconds : bins) {
        std::uint64_t millis = 0;
        reader.get(millis);
        if (millis > kBinMillisMax)
            return std::nullopt;
        seconds = static_cast<double>(millis) / kMillis;
    }
    return MeasuredUse(bins);
}

}  // namespace

std::uint64_t Store::last_epoch() {
    return static_cast<std::uint64_t>(single("SELECT max(epoch) FROM epochs"));
}

std::uint64_t Store::begin_epoch(std::int64_t unix_time) {
    Database::Transaction transaction(database_);
    const auto epoch =
        std::max(static_cast<std::int64_t>(last_epoch()) + 1, std::max<std::int64_t>(unix_time, 1));
    Statement(database_, "INSERT INTO epochs (epoch, began) VALUES (?, ?)")
        .bind(epoch)
        .bind(unix_time)
        .execute();
    audit("start", "epoch " + std::to_string(epoch), unix_time);
    transaction.commit();
    return static_cast<std::uint64_t>(epoch);
}

void Store::save_allocations(const std::map<std::string, StoredAllocation>& by_host) {
    Database::Transaction transaction(database_);
    Statement replace(
        database_,
        "INSERT INTO allocations (host, epoch, interval, flows) VALUES (?, ?, ?, ?) "
        "ON CONFLICT (host) DO UPDATE SET epoch = excluded.epoch, interval = excluded.interval, "
        "flows = excluded.flows");
    Statement remove(database_, "DELETE FROM allocations WHERE host = ?");
    wire::Bytes bytes;
    for (const auto& [host, stored] : by_host) {
        if (stored.flows.empty()) {
            remove.bind(host).execute();
            continue;
        }
        bytes.clear();
        for (const wire::FlowAllocation& flow : stored.flows)
            wire::encode(flow, bytes);
        replace.bind(host)
            .bind(static_cast<std::int64_t>(stored.epoch))
            .bind(std::int64_t{stored.interval})
            .bind(std::span<const std::uint8_t>(bytes))
            .execute();
    }
    transaction.commit();
}

std::map<std::string, StoredAllocation> Store::allocations() {
    std::map<std::string, StoredAllocation> by_host;
    Statement rows(database_, "SELECT host, epoch, interval, flows FROM allocations");
    while (rows.step()) {
        StoredAllocation stored;
        stored.epoch = static_cast<std::uint64_t>(rows.integer(1));
        stored.interval = static_cast<std::uint32_t>(rows.integer(2));
        (void)wire::decode(rows.bytes(3), stored.flows);
        by_host.emplace(rows.text(0), std::move(stored));
    }
    return by_host;
}

void Store::save_measured_use(const billing::UseTable::Uses& uses, std::size_t first, std::size_t step) {
    if (uses.size() <= first)
        return;
    Database::Transaction transaction(database_);
    Statement replace(database_,
                      "INSERT INTO use (vnic, bins) VALUES (?, ?) "
                      "ON CONFLICT (vnic) DO UPDATE SET bins = excluded.bins");
    std::size_t index = 0;
    for (const auto& [vnic, use] : uses) {
        if (index++ % step != first)
            continue;
        const std::vector<std::uint8_t> bytes = bytes_of(use);
        replace.bind(vnic).bind(std::span<const std::uint8_t>(bytes)).execute();
    }
    transaction.commit();
}

billing::UseTable::Uses Store::measured_use() {
    billing::UseTable::Uses uses;
    Statement rows(database_, "SELECT vnic, bins FROM use");
    while (rows.step())
        if (const std::optional<MeasuredUse> use = use_of(rows.bytes(1)))
            uses.emplace(rows.text(0), *use);
    return uses;
}

void Store::audit(std::string_view kind, std::string_view text, std::int64_t unix_time) {
    Statement(database_, "INSERT INTO audit (at, kind, text) VALUES (?, ?, ?)")
        .bind(unix_time)
        .bind(kind)
        .bind(text)
        .execute();
}

std::vector<AuditEntry> Store::audit_tail(std::size_t count) {
    std::vector<AuditEntry> entries;
    Statement rows(database_, "SELECT number, at, kind, text FROM audit ORDER BY number DESC LIMIT ?");
    rows.bind(static_cast<std::int64_t>(count));
    while (rows.step())
        entries.push_back({rows.integer(0), rows.integer(1), rows.text(2), rows.text(3)});
    std::reverse(entries.begin(), entries.end());
    return entries;
}

}  // namespace weir
