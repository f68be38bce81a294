// use_store.cc - a row per vNIC: milliseconds per bin, little-endian.
#include "ctrl/store/use_store.h"

#include <cmath>

namespace weir {
namespace {

using billing::MeasuredUse;
using Statement = Database::Statement;

constexpr std::size_t kWord = 8;
constexpr double kMillis = 1000;
/// More than any histogram holds: such a row is damaged.
constexpr std::uint64_t kMillisMost = static_cast<std::uint64_t>(MeasuredUse::kMost * kMillis) * 2;

std::vector<std::uint8_t> bytes_of(const MeasuredUse& use) {
    std::vector<std::uint8_t> bytes;
    for (const double seconds : use.bins()) {
        const auto millis = static_cast<std::uint64_t>(std::llround(seconds * kMillis));
        for (std::size_t i = 0; i < kWord; ++i)
            bytes.push_back(static_cast<std::uint8_t>(millis >> (8 * i)));
    }
    return bytes;
}

bool read(const std::vector<std::uint8_t>& bytes, MeasuredUse& out) {
    MeasuredUse::Bins bins{};
    if (bytes.size() != bins.size() * kWord)
        return false;
    for (std::size_t bin = 0; bin < bins.size(); ++bin) {
        std::uint64_t millis = 0;
        for (std::size_t i = 0; i < kWord; ++i)
            millis |= std::uint64_t{bytes[bin * kWord + i]} << (8 * i);
        if (millis > kMillisMost)
            return false;
        bins[bin] = static_cast<double>(millis) / kMillis;
    }
    out = MeasuredUse(bins);
    return true;
}

}  // namespace

UseStore::UseStore(Database& database) : database_(database) {
    database_.run("CREATE TABLE IF NOT EXISTS use (vnic TEXT PRIMARY KEY, bins BLOB NOT NULL) WITHOUT ROWID");
}

void UseStore::save(const billing::UseTable::Uses& uses, std::size_t first, std::size_t step) {
    if (uses.size() <= first)
        return;
    Database::Transaction transaction(database_);
    Statement put(database_,
                  "INSERT INTO use (vnic, bins) VALUES (?, ?) "
                  "ON CONFLICT (vnic) DO UPDATE SET bins = excluded.bins");
    std::size_t index = 0;
    for (const auto& [vnic, use] : uses) {
        if (index++ % step != first)
            continue;
        const std::vector<std::uint8_t> bytes = bytes_of(use);
        put.bind(vnic).bind(std::span<const std::uint8_t>(bytes)).execute();
    }
    transaction.commit();
}

billing::UseTable::Uses UseStore::load() {
    billing::UseTable::Uses uses;
    Statement rows(database_, "SELECT vnic, bins FROM use");
    while (rows.step()) {
        MeasuredUse use;
        if (read(rows.bytes(1), use))
            uses.emplace(rows.text(0), use);
    }
    return uses;
}

}  // namespace weir
