// bill_store.cc - months, lines and their chain, sums that are written in turn.
#include "ctrl/store/bill_store.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <filesystem>

#include "common/error.h"

namespace weir {
namespace {

using billing::BilledTime;
using billing::Record;

/// The sums of a vNIC are written once in so many transactions.
constexpr std::size_t kSumTurns = 16;
constexpr const char* kEnding = ".db";

/// "2026-11"
std::string month_of(std::int64_t unix_seconds) {
    const std::time_t time = unix_seconds;
    std::tm utc{};
    char text[16];
    if (gmtime_r(&time, &utc) == nullptr || std::strftime(text, sizeof text, "%Y-%m", &utc) == 0)
        return "1970-01";
    return text;
}

/// The month after it.
std::string following(const std::string& month) {
    int year = std::stoi(month.substr(0, 4));
    int number = std::stoi(month.substr(5)) + 1;
    if (number > 12) {
        ++year;
        number = 1;
    }
    char text[32];
    (void)std::snprintf(text, sizeof text, "%04d-%02d", year % 10'000, number);
    return text;
}

bool is_month(const std::string& name) {
    constexpr std::string_view kForm = "0000-00";
    return name.size() == kForm.size() && name[4] == '-' &&
           std::ranges::count_if(name, [](char each) { return each >= '0' && each <= '9'; }) == 6;
}

std::int64_t day_of(const Record& record) {
    return record.began / kBillDay;
}

/// The part of the period within the span, as if its bytes had come evenly.
Record clipped(Record record, BilledTime::Span part) {
    const double fraction =
        static_cast<double>(part.ended - part.began) / static_cast<double>(record.ended - record.began);
    record.delivered = static_cast<std::uint64_t>(static_cast<double>(record.delivered) * fraction);
    record.began = part.began;
    record.ended = part.ended;
    return record;
}

}  // namespace

std::vector<std::string> BillStore::files_of(const std::string& folder) {
    std::vector<std::string> files;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(folder, error))
        if (entry.path().extension() == kEnding && is_month(entry.path().stem().string()))
            files.push_back(entry.path().string());
    std::ranges::sort(files);
    return files;
}

std::string BillStore::path_of(const std::string& month) const {
    return folder_ == kMemory ? folder_ : folder_ + '/' + month + kEnding;
}

void BillStore::open() {
    current_.reset();
    if (folder_ == kMemory)
        return load("", {});
    std::vector<std::string> files = files_of(folder_);
    // A file without tables is one whose first transaction was lost in a crash.
    while (!files.empty()) {
        const std::string last = files.back();
        if (BillFile::is_begun(last))
            return load(std::filesystem::path(last).stem().string(), {});
        std::filesystem::remove(last);
        files.pop_back();
    }
}

void BillStore::load(const std::string& month, const BillBeginning& beginning) {
    std::unique_ptr<Current> loaded(new Current{.month = month, .file = {path_of(month), beginning}});
    Current& current = *loaded;
    current.chain = current.file.chain();
    current.is_sealed = current.file.is_sealed();
    for (const auto& [name, billed] : current.file.billed())
        current.vnics.emplace(name, Vnic{.time = billed});
    const std::int64_t summed = current.file.summed();
    // The lines that stored sums may lack.
    for_bill_lines(current.file.database(), summed + 1, current.chain.lines, [&](const BillLine& line) {
        Vnic& vnic = current.vnics[line.record.vnic];
        if (const auto part = vnic.time.unbilled_part({line.record.began, line.record.ended}))
            vnic.time.add(*part);
        vnic.id = line.vnic_id;
        vnic.tenant = line.record.tenant;
        if (DaySum& sum = sum_of(current, vnic, line); line.number > sum.through) {
            sum.add(line);
            vnic.changed = line.number;
        }
        return true;
    });
    for (const auto& [name, vnic] : current.vnics)
        current.order.push_back(name);
    current.round_began = summed;
    current_ = std::move(loaded);
}

void BillStore::prepare(std::int64_t unix_seconds) {
    if (!current_)
        open();
    const std::string month = month_of(unix_seconds);
    if (!current_) {
        std::error_code error;  // opening the file reports the fault
        std::filesystem::create_directories(folder_, error);
        return load(month, {});
    }
    // A clock that goes back opens no file of an earlier month: its lines would come before their chain.
    if (folder_ != kMemory && (current_->is_sealed || month > current_->month))
        rotate(month > current_->month ? month : following(current_->month));
}

void BillStore::rotate(const std::string& month) {
    if (!current_->is_sealed) {
        Database::Transaction transaction(current_->file.database());
        write_sums(current_->order.size());
        current_->file.set_summed(current_->chain.lines);
        current_->file.seal();
        transaction.commit();
        current_->is_sealed = true;
    }
    const std::unique_ptr<Current> old = std::move(current_);
    BillBeginning beginning{.chain = old->chain};
    for (const auto& [name, vnic] : old->vnics)
        beginning.billed.emplace(name, vnic.time);
    load(month, beginning);
}

BillStore::Vnic& BillStore::vnic_of(const Record& record) {
    const auto [found, is_new] = current_->vnics.try_emplace(record.vnic);
    if (is_new)
        current_->order.push_back(record.vnic);
    Vnic& vnic = found->second;
    if (vnic.id == 0 || vnic.tenant != record.tenant) {
        vnic.id = current_->file.vnic_id(record.vnic, record.tenant);
        vnic.tenant = record.tenant;
    }
    return vnic;
}

DaySum& BillStore::sum_of(Current& current, Vnic& vnic, const BillLine& line) {
    const std::int64_t day = day_of(line.record);
    const auto found = std::ranges::find_if(vnic.sums, [&](const DaySum& sum) {
        return sum.vnic_id == line.vnic_id && sum.guarantee == line.record.guarantee_kind && sum.day == day;
    });
    if (found != vnic.sums.end())
        return *found;
    const DaySum none{.vnic_id = line.vnic_id, .guarantee = line.record.guarantee_kind, .day = day};
    return vnic.sums.emplace_back(current.file.sum(none.vnic_id, none.guarantee, day).value_or(none));
}

BillStore::Appended BillStore::add(std::span<const Record> records, const billing::Prices& prices) {
    Appended appended;
    for (const Record& record : records) {
        if (record.ended <= record.began) {
            ++appended.refused;
            continue;
        }
        Vnic& vnic = vnic_of(record);
        const auto part = vnic.time.unbilled_part({record.began, record.ended});
        if (!part) {
            ++appended.repeated;
            continue;
        }
        const bool is_whole = part->began == record.began && part->ended == record.ended;
        BillLine line{.number = current_->chain.lines + 1,
                      .vnic_id = vnic.id,
                      .record = is_whole ? record : clipped(record, *part)};
        line.charge = billing::charge_of(prices, line.record).money;
        line.hash =
            billing::chain(current_->chain.head, billing::line_of(line.number, line.record, line.charge));
        current_->file.add_line(line);
        current_->chain = {line.number, line.hash};
        sum_of(*current_, vnic, line).add(line);
        vnic.changed = line.number;
        vnic.time.add(*part);
        ++appended.added;
        appended.clipped += is_whole ? 0 : 1;
    }
    return appended;
}

std::vector<BillStore::Appended> BillStore::append(std::span<const std::span<const Record>> lists,
                                                   const billing::Prices& prices, std::int64_t unix_seconds) {
    std::vector<Appended> appended;
    try {
        prepare(unix_seconds);
        const std::int64_t first = current_->chain.lines + 1;
        Database::Transaction transaction(current_->file.database());
        std::int64_t began = INT64_MAX;
        std::int64_t ended = 0;
        for (const std::span<const Record> records : lists) {
            appended.push_back(add(records, prices));
            for (const Record& record : records) {
                began = std::min(began, record.began);
                ended = std::max(ended, record.ended);
            }
        }
        if (current_->chain.lines >= first) {
            current_->file.add_batch(first, current_->chain.lines, began, ended);
            write_sums(current_->order.size() / kSumTurns + 1);
        }
        transaction.commit();
    } catch (...) {
        current_.reset();
        throw;
    }
    return appended;
}

BillStore::Appended BillStore::append(std::span<const Record> records, const billing::Prices& prices,
                                      std::int64_t unix_seconds) {
    return append(std::array{records}, prices, unix_seconds).front();
}

/// Gives the next `count` vNICs their turn. When all had one, every stored sum has the lines before the
/// round.
void BillStore::write_sums(std::size_t count) {
    for (count = std::min(count, current_->order.size()); count > 0; --count) {
        write_sums(*current_, current_->order[current_->turn]);
        if (++current_->turn < current_->order.size())
            continue;
        current_->file.set_summed(current_->round_began);
        current_->round_began = current_->chain.lines;
        current_->turn = 0;
    }
}

void BillStore::write_sums(Current& current, const std::string& name) {
    Vnic& vnic = current.vnics.at(name);
    if (vnic.changed == 0)
        return;
    std::int64_t day = 0;
    for (const DaySum& sum : vnic.sums) {
        current.file.save_sum(sum);
        day = std::max(day, sum.day);
    }
    std::erase_if(vnic.sums, [day](const DaySum& sum) { return sum.day != day; });
    current.file.save_billed(name, vnic.time);
    vnic.changed = 0;
}

}  // namespace weir
