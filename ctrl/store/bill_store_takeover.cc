// bill_store_takeover.cc - the bill of a store of version 1 as the first, sealed file of the folder.
#include <filesystem>

#include "common/error.h"
#include "ctrl/store/bill_store.h"

namespace weir {
namespace {

using billing::GuaranteeKind;
using Statement = Database::Statement;

/// Before every month.
constexpr const char* kOldLines = "0000-00";
constexpr std::int64_t kLinesPerTransaction = 100'000;

bool has_table(Database& store, const char* name) {
    Statement found(store, "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?");
    found.bind(std::string_view(name));
    return found.step();
}

/// The line of version 1: names in full, and the charge as the text that was hashed.
BillLine line_of_row(BillFile& file, const Statement& row) {
    BillLine line{.number = row.integer(0),
                  .record = {.vnic = row.text(1),
                             .tenant = row.text(2),
                             .guarantee_kind = static_cast<GuaranteeKind>(row.integer(3)),
                             .began = row.integer(4),
                             .ended = row.integer(5),
                             .promised = static_cast<std::uint64_t>(row.integer(6)),
                             .delivered = static_cast<std::uint64_t>(row.integer(7))},
                  .charge = std::strtod(row.text(8).c_str(), nullptr)};
    const std::vector<std::uint8_t> hash = row.bytes(9);
    if (hash.size() == line.hash.size())
        std::ranges::copy(hash, line.hash.begin());
    line.vnic_id = file.vnic_id(line.record.vnic, line.record.tenant);
    return line;
}

/// Copies the next lines. @return the number of the last one; 0: there was none
std::int64_t copy_lines(Database& store, BillFile& file, std::int64_t after) {
    Database::Transaction transaction(file.database());
    Statement rows(store,
                   "SELECT number, vnic, tenant, guarantee, began, ended, promised, delivered, charge, hash "
                   "FROM bill WHERE number > ? ORDER BY number LIMIT ?");
    rows.bind(after, kLinesPerTransaction);
    std::int64_t first = 0;
    std::int64_t last = 0;
    std::int64_t began = INT64_MAX;
    std::int64_t ended = 0;
    while (rows.step()) {
        const BillLine line = line_of_row(file, rows);
        file.add_line(line);
        DaySum sum = file.sum(line.vnic_id, line.record.guarantee_kind, line.record.began / kBillDay)
                         .value_or(DaySum{.vnic_id = line.vnic_id,
                                          .guarantee = line.record.guarantee_kind,
                                          .day = line.record.began / kBillDay});
        sum.add(line);
        file.save_sum(sum);
        first = first == 0 ? line.number : first;
        last = line.number;
        began = std::min(began, line.record.began);
        ended = std::max(ended, line.record.ended);
    }
    if (last != 0)
        file.add_batch(first, last, began, ended);
    transaction.commit();
    return last;
}

void remove_file(const std::string& path) {
    for (const char* ending : {"", "-wal", "-shm"}) {
        std::error_code error;
        std::filesystem::remove(path + ending, error);
    }
}

}  // namespace

std::int64_t BillStore::take_over(Database& store) {
    if (!has_table(store, "bill"))
        return 0;
    std::int64_t lines = 0;
    {
        Statement count(store, "SELECT count(*) FROM bill");
        lines = count.step() ? count.integer(0) : 0;
    }
    if (lines != 0 && folder_ != kMemory) {
        std::error_code error;  // opening the file reports the fault
        std::filesystem::create_directories(folder_, error);
        const std::string path = path_of(kOldLines);
        if (!BillFile::is_begun(path) || !BillFile(path, {}).is_sealed()) {
            remove_file(path);  // of an attempt that did not end
            BillFile file(path, {});
            for (std::int64_t last = copy_lines(store, file, 0); last != 0;)
                last = copy_lines(store, file, last);
            Database::Transaction transaction(file.database());
            Statement ends(store, "SELECT vnic, ended FROM bill_ended");
            while (ends.step())
                file.save_billed(ends.text(0), billing::BilledTime(ends.integer(1)));
            file.set_summed(file.chain().lines);
            file.seal();
            transaction.commit();
        }
    }
    store.run("BEGIN; DROP TABLE bill; DROP TABLE bill_ended; COMMIT;");
    try {
        store.run("VACUUM");
    } catch (const HostError&) {  // without room for it the file stays as large as it was
    }
    return lines;
}

}  // namespace weir
