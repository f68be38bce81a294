// bill_file.cc - tables whose triggers refuse changes; lines, sums, facts.
#include "ctrl/store/bill_file.h"

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "common/error.h"

namespace weir {
namespace {

using billing::GuaranteeKind;
using billing::Sha256;
using Statement = Database::Statement;

constexpr std::int64_t kBillVersion = 1;
constexpr const char* kBillTables = R"(
    CREATE TABLE facts (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
    CREATE TABLE vnics (id INTEGER PRIMARY KEY, vnic TEXT NOT NULL, tenant TEXT NOT NULL, UNIQUE (vnic, tenant));
    CREATE TABLE bill (number INTEGER PRIMARY KEY, vnic INTEGER NOT NULL, guarantee INTEGER NOT NULL,
        began INTEGER NOT NULL, ended INTEGER NOT NULL, promised INTEGER NOT NULL, delivered INTEGER NOT NULL,
        charge REAL NOT NULL, hash BLOB NOT NULL);
    CREATE TABLE batches (last INTEGER PRIMARY KEY, first INTEGER NOT NULL, began INTEGER NOT NULL,
        ended INTEGER NOT NULL);
    CREATE TABLE sums (vnic INTEGER NOT NULL, guarantee INTEGER NOT NULL, day INTEGER NOT NULL,
        periods INTEGER NOT NULL, nanos INTEGER NOT NULL, delivered INTEGER NOT NULL, promised REAL NOT NULL,
        charge REAL NOT NULL, through INTEGER NOT NULL, PRIMARY KEY (vnic, guarantee, day)) WITHOUT ROWID;
    CREATE TABLE ended (vnic TEXT PRIMARY KEY, ended INTEGER NOT NULL, spans BLOB) WITHOUT ROWID;
    CREATE TRIGGER bill_is_kept BEFORE DELETE ON bill
        BEGIN SELECT RAISE(ABORT, 'lines of the bill cannot be changed'); END;
    CREATE TRIGGER bill_is_not_changed BEFORE UPDATE ON bill
        BEGIN SELECT RAISE(ABORT, 'lines of the bill cannot be changed'); END;
    PRAGMA user_version = 1;
)";

Sha256 hash_of(const std::vector<std::uint8_t>& bytes) {
    Sha256 hash{};
    if (bytes.size() == hash.size())
        std::ranges::copy(bytes, hash.begin());
    return hash;
}

constexpr const char* kSaveBilled = "INSERT OR REPLACE INTO ended (vnic, ended, spans) VALUES (?, ?, ?)";

/// Through, then the begin and end of each span: 64 bits each, in the machine's order.
std::vector<std::uint8_t> bytes_of(const billing::BilledTime& billed) {
    std::vector<std::int64_t> values{billed.through()};
    for (const billing::BilledTime::Span& span : billed.spans())
        values.insert(values.end(), {span.began, span.ended});
    std::vector<std::uint8_t> bytes(values.size() * sizeof(std::int64_t));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
}

/// Without spans, as an earlier weir-ctrl left it, all time before the last end counts as billed.
billing::BilledTime billed_of(std::int64_t ended, const std::vector<std::uint8_t>& bytes) {
    std::vector<std::int64_t> values(bytes.size() / sizeof(std::int64_t));
    if (values.size() % 2 == 0)
        return billing::BilledTime(ended);
    std::memcpy(values.data(), bytes.data(), values.size() * sizeof(std::int64_t));
    std::vector<billing::BilledTime::Span> spans;
    for (std::size_t i = 1; i + 1 < values.size(); i += 2)
        spans.push_back({values[i], values[i + 1]});
    return {values.front(), spans};
}

bool has_spans(Database& database) {
    Statement column(database, "SELECT 1 FROM pragma_table_info('ended') WHERE name = 'spans'");
    return column.step();
}

std::int64_t version_of(Database& database) {
    Statement version(database, "PRAGMA user_version");
    return version.step() ? version.integer(0) : 0;
}

}  // namespace

void DaySum::add(const BillLine& line) {
    const std::int64_t span = line.record.ended - line.record.began;
    ++periods;
    nanos += span;
    delivered += static_cast<std::int64_t>(line.record.delivered);
    promised += static_cast<double>(line.record.promised) * static_cast<double>(span) * 1e-9;
    charge += line.charge;
    through = line.number;
}

BillFile::BillFile(const std::string& path, const BillBeginning& beginning)
    : database_(path, Database::Access::kShared) {
    const std::int64_t version = version_of(database_);
    if (version > kBillVersion)
        throw HostError("bill " + path + " is of version " + std::to_string(version) +
                        ", this controller knows " + std::to_string(kBillVersion) +
                        "; use the later weir-ctrl");
    if (version == 0) {
        Database::Transaction transaction(database_);
        database_.run(kBillTables);
        Statement fact(database_, "INSERT INTO facts (key, value) VALUES (?, ?)");
        fact.execute(std::string_view("lines before"), beginning.chain.lines);
        fact.execute(std::string_view("head before"), std::span<const std::uint8_t>(beginning.chain.head));
        Statement last(database_, kSaveBilled);
        for (const auto& [vnic, billed] : beginning.billed)
            last.execute(vnic, billed.ended(), bytes_of(billed));
        transaction.commit();
    } else if (std::error_code error; std::filesystem::file_size(path, error) <= kCheckedBytes) {
        database_.check_integrity();
    }
    if (!has_spans(database_))  // a file of an earlier weir-ctrl
        database_.run("ALTER TABLE ended ADD COLUMN spans BLOB");
    before_ = bill_chain_before(database_);
    add_line_.emplace(database_,
                      "INSERT INTO bill (number, vnic, guarantee, began, ended, promised, delivered, charge, "
                      "hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)");
    find_sum_.emplace(database_,
                      "SELECT periods, nanos, delivered, promised, charge, through FROM sums "
                      "WHERE vnic = ? AND guarantee = ? AND day = ?");
    save_sum_.emplace(
        database_,
        "INSERT OR REPLACE INTO sums (vnic, guarantee, day, periods, nanos, delivered, promised, "
        "charge, through) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)");
    save_billed_.emplace(database_, kSaveBilled);
}

bool BillFile::is_begun(const std::string& path) {
    Database database(path, Database::Access::kShared);
    return version_of(database) != 0;
}

BillChain BillFile::chain() {
    Statement last(database_, "SELECT number, hash FROM bill ORDER BY number DESC LIMIT 1");
    return last.step() ? BillChain{last.integer(0), hash_of(last.bytes(1))} : before_;
}

bool BillFile::is_sealed() {
    return bill_fact(database_, "sealed") != 0;
}

std::int64_t BillFile::vnic_id(const std::string& vnic, const std::string& tenant) {
    Statement find(database_, "SELECT id FROM vnics WHERE vnic = ? AND tenant = ?");
    find.bind(vnic, tenant);
    if (find.step())
        return find.integer(0);
    Statement add(database_, "INSERT INTO vnics (vnic, tenant) VALUES (?, ?) RETURNING id");
    add.bind(vnic, tenant);
    add.step();
    const std::int64_t id = add.integer(0);
    add.execute();
    return id;
}

void BillFile::add_line(const BillLine& line) {
    const billing::Record& record = line.record;
    add_line_->execute(line.number, line.vnic_id, static_cast<std::int64_t>(record.guarantee_kind),
                       record.began, record.ended, record.promised, record.delivered, line.charge,
                       std::span<const std::uint8_t>(line.hash));
}

void BillFile::add_batch(std::int64_t first, std::int64_t last, std::int64_t began, std::int64_t ended) {
    Statement(database_, "INSERT INTO batches (last, first, began, ended) VALUES (?, ?, ?, ?)")
        .execute(last, first, began, ended);
}

std::optional<DaySum> BillFile::sum(std::int64_t vnic_id, GuaranteeKind guarantee, std::int64_t day) {
    Statement& find = *find_sum_;
    find.reset();
    find.bind(vnic_id, static_cast<std::int64_t>(guarantee), day);
    if (!find.step())
        return std::nullopt;
    DaySum found{.vnic_id = vnic_id,
                 .guarantee = guarantee,
                 .day = day,
                 .periods = find.integer(0),
                 .nanos = find.integer(1),
                 .delivered = find.integer(2),
                 .promised = find.real(3),
                 .charge = find.real(4),
                 .through = find.integer(5)};
    find.reset();
    return found;
}

void BillFile::save_sum(const DaySum& sum) {
    save_sum_->execute(sum.vnic_id, static_cast<std::int64_t>(sum.guarantee), sum.day, sum.periods, sum.nanos,
                       sum.delivered, sum.promised, sum.charge, sum.through);
}

void BillFile::save_billed(const std::string& vnic, const billing::BilledTime& billed) {
    save_billed_->execute(vnic, billed.ended(), bytes_of(billed));
}

void BillFile::set_summed(std::int64_t line) {
    Statement(database_, "INSERT OR REPLACE INTO facts (key, value) VALUES ('summed', ?)").execute(line);
}

void BillFile::seal() {
    database_.run(
        "INSERT OR REPLACE INTO facts (key, value) VALUES ('sealed', 1);"
        "CREATE TRIGGER bill_is_sealed BEFORE INSERT ON bill "
        "BEGIN SELECT RAISE(ABORT, 'this part of the bill is sealed'); END;");
}

std::map<std::string, billing::BilledTime> BillFile::billed() {
    std::map<std::string, billing::BilledTime> found;
    Statement rows(database_, "SELECT vnic, ended, spans FROM ended");
    while (rows.step())
        found.emplace(rows.text(0), billed_of(rows.integer(1), rows.bytes(2)));
    return found;
}

std::int64_t BillFile::summed() {
    return std::max(bill_fact(database_, "summed"), before_.lines);
}

void for_bill_lines(Database& database, std::int64_t first, std::int64_t last,
                    const std::function<bool(const BillLine&)>& use) {
    Statement rows(database,
                   "SELECT number, b.vnic, v.vnic, v.tenant, guarantee, began, ended, promised, delivered, "
                   "charge, hash FROM bill b JOIN vnics v ON v.id = b.vnic "
                   "WHERE number BETWEEN ? AND ? ORDER BY number");
    rows.bind(first, last);
    while (rows.step()) {
        const BillLine line{.number = rows.integer(0),
                            .vnic_id = rows.integer(1),
                            .record = {.vnic = rows.text(2),
                                       .tenant = rows.text(3),
                                       .guarantee_kind = static_cast<GuaranteeKind>(rows.integer(4)),
                                       .began = rows.integer(5),
                                       .ended = rows.integer(6),
                                       .promised = static_cast<std::uint64_t>(rows.integer(7)),
                                       .delivered = static_cast<std::uint64_t>(rows.integer(8))},
                            .charge = rows.real(9),
                            .hash = hash_of(rows.bytes(10))};
        if (!use(line))
            return;
    }
}

std::int64_t bill_fact(Database& database, const char* key) {
    Statement fact(database, "SELECT value FROM facts WHERE key = ?");
    fact.bind(std::string_view(key));
    return fact.step() ? fact.integer(0) : 0;
}

BillChain bill_chain_before(Database& database) {
    Statement head(database, "SELECT value FROM facts WHERE key = 'head before'");
    return {bill_fact(database, "lines before"), head.step() ? hash_of(head.bytes(0)) : Sha256{}};
}

}  // namespace weir
