// bill_reader.cc - sums of days and of parts of days; the check of the chain and of the sums.
#include "ctrl/store/bill_reader.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <tuple>

#include "ctrl/store/bill_store.h"

namespace weir {
namespace {

using billing::GuaranteeKind;
using Statement = Database::Statement;
using Sums = std::map<std::tuple<std::string, std::string, GuaranteeKind>, BillSum>;
using DayKey = std::tuple<std::int64_t, GuaranteeKind, std::int64_t>;  // vNIC, guarantee, day

constexpr std::int64_t kEveryLine = std::numeric_limits<std::int64_t>::max();
constexpr double kNanosOfSecond = 1e9;

BillSum& sum_for(Sums& sums, const std::string& tenant, const std::string& vnic, GuaranteeKind guarantee) {
    BillSum& sum = sums[{tenant, vnic, guarantee}];
    sum.tenant = tenant;
    sum.vnic = vnic;
    sum.guarantee = guarantee;
    return sum;
}

void add_line(Sums& sums, const BillLine& line) {
    const billing::Record& record = line.record;
    BillSum& sum = sum_for(sums, record.tenant, record.vnic, record.guarantee_kind);
    const double seconds = static_cast<double>(record.ended - record.began) / kNanosOfSecond;
    ++sum.periods;
    sum.seconds += seconds;
    sum.delivered += record.delivered;
    sum.promised += static_cast<double>(record.promised) * seconds;
    sum.charge += line.charge;
}

/// Adds up one file.
class FileSums {
  public:
    FileSums(Database& database, const BillSpan& span, const std::atomic<bool>& stop, Sums& sums)
        : database_(database), span_(span), stop_(stop), sums_(sums) {}

    void add() {
        const std::int64_t first_day = (std::max<std::int64_t>(span_.from, 0) + kBillDay - 1) / kBillDay;
        const std::int64_t end_day = span_.to / kBillDay;
        if (first_day >= end_day)
            return add_lines(span_.from, span_.to);
        add_days(first_day, end_day);
        add_unsummed(first_day * kBillDay, end_day * kBillDay);
        add_lines(span_.from, first_day * kBillDay);
        add_lines(end_day * kBillDay, span_.to);
    }

  private:
    [[nodiscard]] bool is_wanted(const std::string& tenant) const {
        return span_.tenant.empty() || span_.tenant == tenant;
    }

    void add_days(std::int64_t first, std::int64_t end) {
        Statement rows(database_,
                       "SELECT v.tenant, v.vnic, guarantee, sum(periods), sum(nanos), sum(delivered), "
                       "sum(promised), sum(charge) FROM sums s JOIN vnics v ON v.id = s.vnic "
                       "WHERE day >= ? AND day < ? AND (? = '' OR v.tenant = ?) GROUP BY s.vnic, guarantee");
        rows.bind(first, end, span_.tenant, span_.tenant);
        while (!stop_.load(std::memory_order_relaxed) && rows.step()) {
            BillSum& sum =
                sum_for(sums_, rows.text(0), rows.text(1), static_cast<GuaranteeKind>(rows.integer(2)));
            sum.periods += static_cast<std::uint64_t>(rows.integer(3));
            sum.seconds += static_cast<double>(rows.integer(4)) / kNanosOfSecond;
            sum.delivered += static_cast<std::uint64_t>(rows.integer(5));
            sum.promised += rows.real(6);
            sum.charge += rows.real(7);
        }
    }

    /// Lines of whole days that their stored sums lack.
    void add_unsummed(std::int64_t from, std::int64_t to) {
        std::map<DayKey, std::int64_t> through;
        Statement stored(database_, "SELECT through FROM sums WHERE vnic = ? AND guarantee = ? AND day = ?");
        const auto is_summed = [&](const BillLine& line) {
            const DayKey key{line.vnic_id, line.record.guarantee_kind, line.record.began / kBillDay};
            auto found = through.find(key);
            if (found == through.end()) {
                stored.reset();
                stored.bind(std::get<0>(key), static_cast<std::int64_t>(std::get<1>(key)), std::get<2>(key));
                found = through.emplace(key, stored.step() ? stored.integer(0) : 0).first;
            }
            return line.number <= found->second;
        };
        for_bill_lines(database_, bill_fact(database_, "summed") + 1, kEveryLine, [&](const BillLine& line) {
            if (line.record.began >= from && line.record.began < to && is_wanted(line.record.tenant) &&
                !is_summed(line))
                add_line(sums_, line);
            return !stop_.load(std::memory_order_relaxed);
        });
    }

    /// Only the transactions that have lines of the span are read.
    void add_lines(std::int64_t from, std::int64_t to) {
        if (from >= to)
            return;
        Statement batches(database_, "SELECT first, last FROM batches WHERE began < ? AND ended > ?");
        batches.bind(to, from);
        while (!stop_.load(std::memory_order_relaxed) && batches.step())
            for_bill_lines(database_, batches.integer(0), batches.integer(1), [&](const BillLine& line) {
                if (line.record.began >= from && line.record.began < to && is_wanted(line.record.tenant))
                    add_line(sums_, line);
                return !stop_.load(std::memory_order_relaxed);
            });
    }

    Database& database_;
    const BillSpan& span_;
    const std::atomic<bool>& stop_;
    Sums& sums_;
};

/// One file, checked from its first line to its last.
class FileCheck {
  public:
    FileCheck(Database& database, const std::atomic<bool>& stop) : database_(database), stop_(stop) {}

    /// @param chain that the file should continue; then that of the file
    void run(BillChain& chain, BillCheck& found) {
        if (bill_chain_before(database_) != chain) {
            found.first_altered = chain.lines + 1;
            return;
        }
        load_sums();
        for_bill_lines(database_, 0, kEveryLine, [&](const BillLine& line) {
            ++chain.lines;
            chain.head = billing::chain(chain.head, billing::line_of(line.number, line.record, line.charge));
            if (line.number != chain.lines || chain.head != line.hash)
                found.first_altered = chain.lines;
            subtract(line);
            return !found.first_altered && !stop_.load(std::memory_order_relaxed);
        });
        Statement ends(database_, "SELECT max(last) FROM batches");
        if (!found.first_altered && !stop_.load(std::memory_order_relaxed) && ends.step() &&
            ends.integer(0) > chain.lines)
            found.first_altered = chain.lines + 1;
        found.sums_altered = found.sums_altered || (!found.first_altered && has_rest());
    }

  private:
    void load_sums() {
        Statement rows(database_,
                       "SELECT vnic, guarantee, day, periods, nanos, delivered, charge, through FROM sums");
        while (rows.step())
            sums_[{rows.integer(0), static_cast<GuaranteeKind>(rows.integer(1)), rows.integer(2)}] = {
                .periods = rows.integer(3),
                .nanos = rows.integer(4),
                .delivered = rows.integer(5),
                .charge = rows.real(6),
                .through = rows.integer(7)};
    }
    void subtract(const BillLine& line) {
        const billing::Record& record = line.record;
        const auto found = sums_.find({line.vnic_id, record.guarantee_kind, record.began / kBillDay});
        if (found == sums_.end() || line.number > found->second.through)
            return;
        DaySum& sum = found->second;
        --sum.periods;
        sum.nanos -= record.ended - record.began;
        sum.delivered -= static_cast<std::int64_t>(record.delivered);
        sum.promised += line.charge;  // the charge of its lines
    }
    [[nodiscard]] bool has_rest() const {
        return std::ranges::any_of(sums_, [](const auto& entry) {
            const DaySum& sum = entry.second;
            constexpr double kRounding = 1e-9;
            return sum.periods != 0 || sum.nanos != 0 || sum.delivered != 0 ||
                   std::abs(sum.charge - sum.promised) > kRounding * std::max(1.0, std::abs(sum.charge));
        });
    }

    Database& database_;
    const std::atomic<bool>& stop_;
    std::map<DayKey, DaySum> sums_{};
};

constexpr std::atomic<bool> kNeverStops{false};

/// A file that is being made has no tables yet.
bool is_begun(Database& database) {
    Statement version(database, "PRAGMA user_version");
    return version.step() && version.integer(0) != 0;
}

}  // namespace

template <typename Use>
void BillReader::for_files(const Use& use) {
    if (memory_ != nullptr)
        return use(*memory_);
    for (const std::string& path : BillStore::files_of(folder_)) {
        Database database(path, Database::Access::kReadOnly);
        // All of a file as it is at one moment.
        database.run("BEGIN");
        if (is_begun(database))
            use(database);
        database.run("COMMIT");
    }
}

std::vector<BillSum> BillReader::sum(const BillSpan& span) {
    return sum(span, kNeverStops);
}

std::vector<BillSum> BillReader::sum(const BillSpan& span, const std::atomic<bool>& stop) {
    Sums sums;
    for_files([&](Database& database) { FileSums(database, span, stop, sums).add(); });
    std::vector<BillSum> out;
    for (auto& [key, sum] : sums) {
        if (sum.promised > 0)
            sum.fulfillment = static_cast<double>(sum.delivered) / sum.promised;
        out.push_back(std::move(sum));
    }
    return out;
}

void BillReader::for_lines(const std::function<void(const BillLine&)>& use) {
    for_files([&use](Database& database) {
        for_bill_lines(database, 0, kEveryLine, [&use](const BillLine& line) {
            use(line);
            return true;
        });
    });
}

BillCheck BillReader::check() {
    return check(kNeverStops);
}

BillCheck BillReader::check(const std::atomic<bool>& stop) {
    BillCheck found;
    BillChain chain;
    for_files([&](Database& database) {
        if (found.first_line == 0) {  // files before it may have been put away
            chain = bill_chain_before(database);
            found.first_line = chain.lines + 1;
        }
        if (!found.first_altered && !stop.load(std::memory_order_relaxed))
            FileCheck(database, stop).run(chain, found);
    });
    return found;
}

BillChain BillReader::chain() {
    BillChain last;
    for_files([&last](Database& database) {
        last = bill_chain_before(database);
        Statement line(database, "SELECT number FROM bill ORDER BY number DESC LIMIT 1");
        if (line.step())
            for_bill_lines(database, line.integer(0), line.integer(0), [&last](const BillLine& found) {
                last = {found.number, found.hash};
                return true;
            });
    });
    return last;
}

void BillReader::copy_to(const std::string& folder, const std::atomic<bool>& stop) {
    if (memory_ != nullptr)
        return;
    for (const std::string& path : BillStore::files_of(folder_)) {
        if (stop.load(std::memory_order_relaxed))
            return;
        std::filesystem::create_directories(folder);
        Database(path, Database::Access::kReadOnly)
            .copy_to(folder + '/' + std::filesystem::path(path).filename().string(), stop);
    }
}

}  // namespace weir
