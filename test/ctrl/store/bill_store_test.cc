// bill_store_test.cc - appending to the bill, months, adding it up, and finding altered lines.
#include "ctrl/store/bill_store.h"

#include <filesystem>
#include <fstream>

#include "common/error.h"
#include "ctrl/store/bill_writer.h"
#include "test/support/catch.h"
#include "test/support/random.h"
#include "test/support/temp_folder.h"
#include "test/support/wait.h"

using namespace weir;
using billing::GuaranteeKind;
using billing::Record;

namespace {

constexpr std::int64_t kBillSecond = 1'000'000'000;
constexpr std::int64_t kNovember = 1'795'257'000;  // 2026-11-21
constexpr billing::Prices kPrices{.p0 = 1, .beta = 0.5, .link = 1000};

/// 100 Mbit/s strict; `mbit` over the second that ends at `ended`.
Record second(std::int64_t ended, std::uint64_t mbit, const std::string& vnic = "vm1") {
    return {.vnic = vnic,
            .tenant = vnic == "other" ? "B" : "A",
            .guarantee_kind = GuaranteeKind::kStrict,
            .began = (ended - 1) * kBillSecond,
            .ended = ended * kBillSecond,
            .promised = 100 * 125'000,
            .delivered = mbit * 125'000};
}

struct Bill {
    weir::test::TempFolder folder;
    std::string path = folder.file("bill");
    std::optional<BillStore> store{path};

    BillStore::Appended append(const std::vector<Record>& records, std::int64_t unix_seconds = kNovember) {
        return store->append(records, kPrices, unix_seconds);
    }
    void reopen() {
        store.emplace(path);
        store->open();
    }
    std::vector<BillSum> sum(const BillSpan& span = {}) { return BillReader(path).sum(span); }
    BillChain chain() { return BillReader(path).chain(); }
    std::optional<std::int64_t> first_altered() { return BillReader(path).check().first_altered; }
    std::string file(const char* month = "2026-11") { return path + '/' + month + ".db"; }
};

}  // namespace

TEST_CASE("a bill by numbers: 100 Mbit strict on 1 Gbit, P0 1, beta 1/2 (SoftBW 4.2)") {
    Bill bill;
    // 100 x (1 + 100/1000); then 80 of it; then 50 more at the fair price, 150/1000 x 1/2.
    CHECK(bill.append({second(1, 100), second(2, 80), second(3, 150)}).added == 3);
    const std::vector<BillSum> sums = bill.sum();
    REQUIRE(sums.size() == 1);
    CHECK(sums[0].charge == Approx(110 + 88 + 110 + 50 * 0.15 * 0.5));
    CHECK(sums[0].periods == 3);
    CHECK(*sums[0].fulfillment == Approx(1.1));
    CHECK(bill.sum({.from = kBillSecond, .to = 2 * kBillSecond})[0].charge == Approx(88));
    CHECK(bill.sum({.tenant = "B"}).empty());
    CHECK(bill.sum({.from = 5 * kBillSecond, .to = kBillSecond}).empty());
}

TEST_CASE(
    "a repeated period counts once, of one that overlaps another the new part; one that runs backwards not") {
    Bill bill;
    CHECK(bill.append({second(1, 10), second(2, 10), second(2, 10)}).repeated == 1);
    const BillStore::Appended again = bill.append({second(1, 10), second(2, 10), second(3, 10)});
    CHECK(again.repeated == 2);
    CHECK(again.added == 1);
    Record backwards = second(5, 10);
    std::swap(backwards.began, backwards.ended);
    Record nothing = second(6, 10);
    nothing.began = nothing.ended;
    CHECK(bill.append({backwards, nothing}).refused == 2);
    Record over = second(4, 30);  // 1.5 s, of which the first 0.5 s is on the bill
    over.began -= kBillSecond / 2;
    const BillStore::Appended clipped = bill.append({over});
    CHECK(clipped.added == 1);
    CHECK(clipped.clipped == 1);
    CHECK(bill.sum()[0].delivered == (10 + 10 + 10 + 20) * 125'000);
    CHECK(bill.append({second(4, 10), second(1, 10, "other")}).added == 1);
    CHECK(bill.chain().lines == 5);
    CHECK_FALSE(bill.first_altered());
}

TEST_CASE("a period that came late, after later ones of another host, is billed") {
    Bill bill;
    bill.append({second(1, 10), second(5, 10)});
    CHECK(bill.append({second(3, 10)}).added == 1);
    CHECK(bill.append({second(3, 10)}).repeated == 1);
}

TEST_CASE("after a crash the bill continues: lines on disk are not counted twice, and no sum is lost") {
    Bill bill;
    for (std::int64_t i = 1; i <= 40; ++i)
        bill.append({second(i, 10), second(i, 20, "other")});
    const BillChain before = bill.chain();
    bill.reopen();
    CHECK(bill.chain() == before);
    CHECK(bill.append({second(40, 10), second(41, 30)}).repeated == 1);
    CHECK(bill.sum()[0].delivered == (40 * 10 + 30) * 125'000);
    CHECK(bill.sum()[1].delivered == 40 * 20 * 125'000);
    const BillCheck check = BillReader(bill.path).check();
    CHECK_FALSE(check.first_altered);
    CHECK_FALSE(check.sums_altered);
}

TEST_CASE("sums of any span are those of its lines, at every moment, over days and restarts") {
    constexpr std::int64_t kPerDay = 86'400;
    Bill bill;
    std::vector<Record> all;
    testing::Random32 random{3};
    std::int64_t ended = kNovember - kPerDay;
    for (int i = 0; i < 300; ++i) {
        ended += 1 + random() % 2'000;  // about two and a half days
        std::vector<Record> records;
        for (const char* vnic : {"vm1", "vm2", "other"})
            if (random() % 3 != 0)
                records.push_back(second(ended, 1 + random() % 200, vnic));
        bill.append(records);
        all.insert(all.end(), records.begin(), records.end());
        if (random() % 50 == 0)
            bill.reopen();
        if (i % 30 != 29)
            continue;
        const std::int64_t from = (kNovember - kPerDay + random() % (2 * kPerDay)) * kBillSecond;
        const std::int64_t to = from + (random() % (2 * kPerDay)) * kBillSecond;
        std::map<std::string, std::uint64_t> delivered;
        for (const Record& record : all)
            if (record.began >= from && record.began < to)
                delivered[record.vnic] += record.delivered;
        std::map<std::string, std::uint64_t> summed;
        for (const BillSum& sum : bill.sum({.from = from, .to = to}))
            summed[sum.vnic] = sum.delivered;
        CHECK(summed == delivered);
    }
    CHECK_FALSE(BillReader(bill.path).check().sums_altered);
}

TEST_CASE("a month that is over is sealed, and the next file continues its chain") {
    Bill bill;
    const std::int64_t december = kNovember + 31 * 86'400;
    bill.append({second(kNovember, 10)});
    bill.append({second(kNovember, 10), second(kNovember + 1, 20)}, december);  // the first one came before
    CHECK(BillStore::files_of(bill.path) == std::vector{bill.file(), bill.file("2026-12")});
    CHECK(bill.chain().lines == 2);
    CHECK(bill.sum()[0].delivered == 30 * 125'000);
    CHECK_FALSE(bill.first_altered());
    CHECK_THROWS_AS(Database(bill.file()).run("INSERT INTO bill VALUES (9, 1, 0, 0, 1, 0, 0, 0, x'00')"),
                    HostError);
    bill.reopen();
    CHECK(bill.append({second(kNovember + 2, 10)}, kNovember).added == 1);  // the clock went back
    CHECK(BillStore::files_of(bill.path).size() == 2);
    CHECK_FALSE(bill.first_altered());
    std::filesystem::remove(bill.file());  // put away
    const BillCheck rest = BillReader(bill.path).check();
    CHECK(rest.first_line == 2);
    CHECK_FALSE(rest.first_altered);
}

TEST_CASE("a period that comes late is billed after a restart as before it, once, and in a later month") {
    for (const bool restarts : {false, true}) {
        CAPTURE(restarts);
        Bill bill;
        const auto restart = [&] {
            if (restarts)
                bill.reopen();
        };
        const auto at = [](std::int64_t ended) { return second(kNovember + ended, 10); };
        CHECK(bill.append({at(1), at(21), at(22), at(23)}).added == 4);
        restart();
        CHECK(bill.append({at(10), at(11)}).added == 2);  // of the host that was cut off
        CHECK(bill.append({at(10), at(21)}).repeated == 2);
        restart();
        CHECK(bill.append({at(11), at(12)}).added == 1);
        const std::int64_t december = kNovember + 31 * 86'400;
        CHECK(bill.append({at(15)}, december).added == 1);
        restart();
        CHECK(bill.append({at(15), at(12), at(16)}, december).added == 1);
        CHECK_FALSE(bill.first_altered());
        CHECK_FALSE(BillReader(bill.path).check().sums_altered);
    }
}

TEST_CASE(
    "a file of an earlier controller without spans goes on: time before the last period counts as billed") {
    Bill bill;
    bill.append({second(10, 10)});
    bill.store.reset();
    Database(bill.file(), Database::Access::kShared)
        .run("ALTER TABLE ended DROP COLUMN spans; UPDATE ended SET ended = ended");
    bill.reopen();
    CHECK(bill.append({second(10, 10), second(11, 10)}).added == 1);
    CHECK_FALSE(bill.first_altered());
}

TEST_CASE("a file whose making was interrupted is made again") {
    Bill bill;
    bill.append({second(1, 10)});
    bill.store.reset();
    std::ofstream(bill.file("2026-12")).flush();
    bill.reopen();
    CHECK(bill.append({second(1, 10), second(2, 10)}, kNovember + 31 * 86'400).added == 1);
    CHECK_FALSE(bill.first_altered());
}

TEST_CASE("triggers refuse to alter a line, and the hashes show a line that was altered without them") {
    for (const char* change :
         {"UPDATE bill SET charge = 0 WHERE number = 2", "UPDATE bill SET vnic = 7 WHERE number = 2",
          "UPDATE bill SET hash = x'00' WHERE number = 2", "DELETE FROM bill WHERE number = 2",
          "UPDATE vnics SET tenant = 'C'"}) {
        Bill bill;
        bill.append({second(1, 10), second(2, 20), second(3, 30)});
        CHECK_FALSE(bill.first_altered());
        bill.store.reset();
        Database database(bill.file());
        if (std::string_view(change).find("vnics") == std::string_view::npos)
            CHECK_THROWS_AS(database.run(change), HostError);
        database.run("DROP TRIGGER bill_is_kept; DROP TRIGGER bill_is_not_changed;");
        database.run(change);
        INFO(change);
        CHECK(BillReader("", &database).check().first_altered ==
              (std::string_view(change).find("vnics") == std::string_view::npos ? 2 : 1));
    }
    Bill bill;
    bill.append({second(1, 10), second(2, 20)});
    bill.store.reset();
    Database database(bill.file());
    database.run("DROP TRIGGER bill_is_kept; DELETE FROM bill WHERE number = 2;");
    CHECK(BillReader("", &database).check().first_altered == 2);  // removed at the end
}

TEST_CASE("a stored sum that was altered is found") {
    Bill bill;
    bill.append({second(1, 10)});
    bill.append({second(2, 10)});
    CHECK_FALSE(BillReader(bill.path).check().sums_altered);
    bill.store.reset();
    Database database(bill.file());
    database.run("UPDATE sums SET charge = charge / 2");
    CHECK(BillReader("", &database).check().sums_altered);
}

TEST_CASE("after a write that failed nothing of it is on the bill, and the same periods come again") {
    Bill bill;
    bill.append({second(1, 10)});
    bill.store.reset();
    {
        Database(bill.file())
            .run("CREATE TRIGGER full BEFORE INSERT ON batches BEGIN SELECT RAISE(ABORT, 'full'); END;");
    }
    bill.store.emplace(bill.path);
    CHECK_THROWS_AS(bill.append({second(2, 10)}), HostError);
    CHECK_THROWS_AS(bill.append({second(2, 10)}), HostError);
    bill.store.reset();
    { Database(bill.file()).run("DROP TRIGGER full"); }
    bill.store.emplace(bill.path);
    CHECK(bill.append({second(1, 10), second(2, 10)}).added == 1);
    CHECK_FALSE(bill.first_altered());
}

TEST_CASE("the bill of a store of version 1 is taken over once, with its hashes") {
    Bill bill;
    const std::string old = bill.folder.file("old.db");
    {
        Database store(old);
        store.run(
            "CREATE TABLE bill (number INTEGER PRIMARY KEY, vnic TEXT NOT NULL, tenant TEXT NOT NULL,"
            " guarantee INTEGER NOT NULL, began INTEGER NOT NULL, ended INTEGER NOT NULL, promised INTEGER "
            "NOT NULL,"
            " delivered INTEGER NOT NULL, charge TEXT NOT NULL, hash BLOB NOT NULL);"
            "CREATE TABLE bill_ended (vnic TEXT PRIMARY KEY, ended INTEGER NOT NULL) WITHOUT ROWID;"
            "CREATE TRIGGER bill_is_kept BEFORE DELETE ON bill BEGIN SELECT RAISE(ABORT, 'kept'); END;"
            "INSERT INTO bill_ended VALUES ('vm1', 3000000000), ('other', 3000000000);");
        billing::Sha256 head{};
        std::int64_t number = 0;
        Database::Statement insert(store, "INSERT INTO bill VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
        for (std::int64_t i = 1; i <= 3; ++i)
            for (const char* vnic : {"vm1", "other"}) {
                const Record record = second(i, 33, vnic);
                const double charge = billing::charge_of(kPrices, record).money;
                const std::string line = billing::line_of(++number, record, charge);
                head = billing::chain(head, line);
                insert.execute(number, record.vnic, record.tenant, 0, record.began, record.ended,
                               record.promised, record.delivered, line.substr(line.rfind('|') + 1),
                               std::span<const std::uint8_t>(head));
            }
        CHECK(bill.store->take_over(store) == 6);
        CHECK(bill.store->take_over(store) == 0);
    }
    CHECK(bill.append({second(3, 33), second(4, 33)}).repeated == 1);
    CHECK(bill.chain().lines == 7);
    const BillCheck check = BillReader(bill.path).check();
    CHECK_FALSE(check.first_altered);
    CHECK_FALSE(check.sums_altered);
    CHECK(bill.sum()[0].delivered == 4 * 33 * 125'000);
    CHECK(bill.sum({.from = kBillSecond, .to = 2 * kBillSecond})[1].delivered == 33 * 125'000);
}

TEST_CASE("the thread writes what is posted, states what is stored, and refuses what finds no room") {
    Bill bill;
    BillWriter writer(bill.path);
    writer.open();
    writer.start([] { return kNovember; });
    CHECK(writer.post({.key = 7, .records = {second(1, 10), second(2, 10)}}, kPrices, 0));
    CHECK(writer.post({.key = 8, .records = {second(2, 10)}}, kPrices, 0));
    std::vector<BillWriter::Outcome> outcomes;
    REQUIRE(testing::until([&] { return outcomes.size() == 2; },
                           [&] {
                               for (const BillWriter::Outcome& each : writer.take_outcomes())
                                   outcomes.push_back(each);
                           }));
    CHECK(outcomes[0].key == 7);
    CHECK(outcomes[0].is_stored);
    CHECK(outcomes[0].appended.added == 2);
    CHECK(outcomes[1].appended.repeated == 1);
    CHECK(writer.reader().chain().lines == 2);  // while the thread has the file
    std::vector<Record> many(BillWriter::kPeriodsMax + 1, second(3, 1));
    CHECK_FALSE(writer.post({.key = 9, .records = many}, kPrices, 0));
    CHECK(writer.state().turned_away == many.size());
}
