// use_store.cc - a row per vNIC: milliseconds per bin, little-endian.
#include "ctrl/store/use_store.h"

#include <cmath>

#include "common/wire/bytes.h"

namespace weir {
namespace {

using billing::MeasuredUse;
using Statement = Database::Statement;

constexpr double kMillis = 1000;
/// More than any histogram holds: such a row is damaged.
constexpr std::uint64_t kMillisMost = static_cast<std::uint64_t>(MeasuredUse::kMost * kMillis) * 2;

std::vector<std::uint8_t> bytes_of(const MeasuredUse& use) {
    std::vector<std::uint8_t> bytes(use.bins().size() * sizeof(std::uint64_t));
    wire::Writer writer(bytes.data());
    for (const double seconds : use.bins())
        writer.put(static_cast<std::uint64_t>(std::llround(seconds * kMillis)));
    return bytes;
}

bool read(const std::vector<std::uint8_t>& bytes, MeasuredUse& out) {
    MeasuredUse::Bins bins{};
    if (bytes.size() != bins.size() * sizeof(std::uint64_t))
        return false;
    wire::Reader reader(bytes.data());
    for (double& seconds : bins) {
        std::uint64_t millis = 0;
        reader.get(millis);
        if (millis > kMillisMost)
            return false;
        seconds = static_cast<double>(millis) / kMillis;
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
