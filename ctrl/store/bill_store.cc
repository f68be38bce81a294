// bill_store.cc - table whose triggers refuse changes, and chain of hashes that shows other changes.
#include "ctrl/store/bill_store.h"

#include <algorithm>
#include <tuple>

namespace weir {
namespace {

using billing::GuaranteeKind;
using billing::Record;
using billing::Sha256;
using Statement = Database::Statement;

constexpr const char* kBillTables = R"(
    CREATE TABLE IF NOT EXISTS bill (number INTEGER PRIMARY KEY, vnic TEXT NOT NULL, tenant TEXT NOT NULL,
        guarantee INTEGER NOT NULL, began INTEGER NOT NULL, ended INTEGER NOT NULL, promised INTEGER NOT NULL,
        delivered INTEGER NOT NULL, charge TEXT NOT NULL, hash BLOB NOT NULL);
    CREATE INDEX IF NOT EXISTS bill_began ON bill (began);
    CREATE TABLE IF NOT EXISTS bill_ended (vnic TEXT PRIMARY KEY, ended INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TRIGGER IF NOT EXISTS bill_is_kept BEFORE DELETE ON bill
        BEGIN SELECT RAISE(ABORT, 'lines of the bill cannot be changed'); END;
    CREATE TRIGGER IF NOT EXISTS bill_is_not_changed BEFORE UPDATE ON bill
        BEGIN SELECT RAISE(ABORT, 'lines of the bill cannot be changed'); END;
)";
constexpr const char* kColumns =
    "SELECT number, vnic, tenant, guarantee, began, ended, promised, delivered, charge, hash FROM bill ";

Sha256 hash_of(const std::vector<std::uint8_t>& bytes) {
    Sha256 hash{};
    if (bytes.size() == hash.size())
        std::ranges::copy(bytes, hash.begin());
    return hash;
}

Record record_of(const Statement& row) {
    return {.vnic = row.text(1),
            .tenant = row.text(2),
            .guarantee_kind = static_cast<GuaranteeKind>(row.integer(3)),
            .began = row.integer(4),
            .ended = row.integer(5),
            .promised = static_cast<std::uint64_t>(row.integer(6)),
            .delivered = static_cast<std::uint64_t>(row.integer(7))};
}

/// The charge as text, exactly as the hashed line has it.
std::string money_of(const std::string& line) {
    return line.substr(line.rfind('|') + 1);
}

}  // namespace

BillStore::BillStore(Database& database) : database_(database) {
    database_.run(kBillTables);
    Statement last(database_, "SELECT number, hash FROM bill ORDER BY number DESC LIMIT 1");
    if (last.step()) {
        lines_ = last.integer(0);
        head_ = hash_of(last.bytes(1));
    }
    Statement ended(database_, "SELECT vnic, ended FROM bill_ended");
    while (ended.step())
        last_ended_.emplace(ended.text(0), ended.integer(1));
}

BillStore::Appended BillStore::append(std::span<const Record> records, const billing::Prices& prices) {
    Appended appended;
    std::map<std::string, std::int64_t, std::less<>> ended;
    std::int64_t lines = lines_;
    Sha256 head = head_;
    Database::Transaction transaction(database_);
    Statement insert(
        database_,
        "INSERT INTO bill (number, vnic, tenant, guarantee, began, ended, promised, delivered, charge, "
        "hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    for (const Record& record : records) {
        const auto new_end = ended.find(record.vnic);
        const auto old_end = last_ended_.find(record.vnic);
        const std::int64_t last = new_end != ended.end()         ? new_end->second
                                  : old_end != last_ended_.end() ? old_end->second
                                                                 : INT64_MIN;
        if (record.ended <= record.began || record.began < last) {
            const bool is_repeated = record.ended > record.began && record.ended <= last;
            ++(is_repeated ? appended.repeated : appended.refused);
            continue;
        }
        const std::string line = billing::line_of(++lines, record, billing::charge_of(prices, record).money);
        head = billing::chain(head, line);
        insert.execute(lines, record.vnic, record.tenant, static_cast<std::int64_t>(record.guarantee_kind),
                       record.began, record.ended, record.promised, record.delivered, money_of(line), head);
        ended[record.vnic] = record.ended;
        ++appended.added;
    }
    Statement replace(database_,
                      "INSERT INTO bill_ended (vnic, ended) VALUES (?, ?) "
                      "ON CONFLICT (vnic) DO UPDATE SET ended = excluded.ended");
    for (const auto& [vnic, at] : ended)
        replace.execute(vnic, at);
    transaction.commit();
    for (const auto& [vnic, at] : ended)
        last_ended_[vnic] = at;
    lines_ = lines;
    head_ = head;
    return appended;
}

std::vector<BillSum> BillStore::sum(const BillSpan& span) {
    std::map<std::tuple<std::string, std::string, GuaranteeKind>, BillSum> sums;
    Statement rows(database_,
                   (std::string(kColumns) + "WHERE began >= ? AND began < ? ORDER BY number").c_str());
    rows.bind(span.from, span.to);
    while (rows.step()) {
        const Record record = record_of(rows);
        if (!span.tenant.empty() && record.tenant != span.tenant)
            continue;
        BillSum& sum = sums[{record.tenant, record.vnic, record.guarantee_kind}];
        sum.tenant = record.tenant;
        sum.vnic = record.vnic;
        sum.guarantee = record.guarantee_kind;
        const double seconds = static_cast<double>(record.ended - record.began) * 1e-9;
        ++sum.periods;
        sum.seconds += seconds;
        sum.delivered += record.delivered;
        sum.promised += static_cast<double>(record.promised) * seconds;
        sum.charge += std::strtod(rows.text(8).c_str(), nullptr);
    }
    std::vector<BillSum> out;
    for (auto& [key, sum] : sums) {
        if (sum.promised > 0)
            sum.fulfillment = static_cast<double>(sum.delivered) / sum.promised;
        out.push_back(std::move(sum));
    }
    return out;
}

std::optional<std::int64_t> BillStore::first_altered() {
    Statement rows(database_, (std::string(kColumns) + "ORDER BY number").c_str());
    std::int64_t number = 0;
    Sha256 head{};
    while (rows.step()) {
        ++number;
        const double charge = std::strtod(rows.text(8).c_str(), nullptr);
        head = billing::chain(head, billing::line_of(rows.integer(0), record_of(rows), charge));
        if (rows.integer(0) != number || head != hash_of(rows.bytes(9)))
            return number;
    }
    return number == lines_ && head == head_ ? std::nullopt : std::optional(number + 1);
}

}  // namespace weir
