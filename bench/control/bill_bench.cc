// bill_bench.cc - the bill and the store of 2,000 hosts: periods of 24,000 vNICs a second, a month added up,
// and a start with new ids on a disk whose syncs are slow. Source: docs/algorithms.md 6.3. Units: ms.
// Threads: one; it is the writer's.
//
//   bill-bench [VNICS] [SECONDS] [SYNC_MS]
//
// Prints JSON. `tick_ms` is one transaction with a period of every vNIC, by the clock and of the thread's CPU
// time; it contains a sync of SYNC_MS, which this program adds to each that SQLite makes.
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "ctrl/store/bill_reader.h"
#include "ctrl/store/bill_store.h"
#include "ctrl/store/store.h"

namespace {

std::uint64_t syncs = 0;
std::chrono::milliseconds sync_time{0};

int slow_sync(long number, int file) {
    ++syncs;
    std::this_thread::sleep_for(sync_time);
    return static_cast<int>(syscall(number, file));
}

}  // namespace

// In place of the C library's, which SQLite calls.
extern "C" int fsync(int file) {
    return slow_sync(SYS_fsync, file);
}
extern "C" int fdatasync(int file) {
    return slow_sync(SYS_fdatasync, file);
}

namespace {

using namespace weir;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kMonth = 1'795'219'200;  // midnight of 2026-11-21
constexpr billing::Prices kPrices{.p0 = 1, .beta = 0.5, .link = 10'000};

double cpu_ms() {
    timespec spent{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
    return static_cast<double>(spent.tv_sec) * 1e3 + static_cast<double>(spent.tv_nsec) / 1e6;
}

double millis_since(Clock::time_point began) {
    return std::chrono::duration<double, std::milli>(Clock::now() - began).count();
}

nlohmann::json summary(std::vector<double> values) {
    std::ranges::sort(values);
    return {{"median", values[values.size() / 2]}, {"max", values.back()}};
}

std::vector<billing::Record> periods(unsigned vnics, std::int64_t ended) {
    std::vector<billing::Record> records;
    for (unsigned i = 0; i < vnics; ++i)
        records.push_back({.vnic = "vnic-" + std::to_string(i),
                           .tenant = "tenant-" + std::to_string(i / 48),
                           .guarantee_kind = GuaranteeKind::kStrict,
                           .began = (ended - 1) * kSecond,
                           .ended = ended * kSecond,
                           .promised = 62'500'000,
                           .delivered = 50'000'000 + i});
    return records;
}

std::uint64_t bytes_in(const std::string& folder) {
    std::uint64_t bytes = 0;
    for (const std::string& file : BillStore::files_of(folder))
        bytes += std::filesystem::file_size(file);
    return bytes;
}

nlohmann::json measure_bill(const std::string& folder, unsigned vnics, unsigned seconds) {
    BillStore bill(folder);
    std::vector<double> wall;
    std::vector<double> cpu;
    for (unsigned i = 0; i < seconds; ++i) {
        const auto records = periods(vnics, kMonth + i + 1);
        const double before = cpu_ms();
        const auto began = Clock::now();
        bill.append(records, kPrices, kMonth + i);
        wall.push_back(millis_since(began));
        cpu.push_back(cpu_ms() - before);
    }
    BillReader reader(folder);
    const auto began = Clock::now();
    const std::size_t rows = reader.sum({}).size();
    const double sum_ms = millis_since(began);
    wall.erase(wall.begin());  // the first one makes the file and the vNICs
    cpu.erase(cpu.begin());
    return {{"periods_per_tick", vnics},
            {"ticks", seconds},
            {"tick_ms", summary(wall)},
            {"tick_cpu_ms", summary(cpu)},
            {"sum_ms", sum_ms},
            {"sum_rows", rows},
            {"bytes_per_line", static_cast<double>(bytes_in(folder)) / (double{1} * vnics * seconds)}};
}

nlohmann::json measure_start(const std::string& file, unsigned vnics) {
    std::vector<std::string> texts;
    std::vector<Store::Name> names;
    for (unsigned i = 0; i < vnics; ++i)
        texts.push_back("vnic-" + std::to_string(i));
    for (const std::string& text : texts)
        names.emplace_back("vnic", text);
    Store store(file);
    const std::uint64_t before = syncs;
    auto began = Clock::now();
    store.add_endpoints(names);
    const double together = millis_since(began);
    const std::uint64_t together_syncs = syncs - before;
    constexpr unsigned kSingle = 100;
    began = Clock::now();
    for (unsigned i = 0; i < kSingle; ++i)
        (void)store.endpoint_id("vnic", "single-" + std::to_string(i));
    return {{"ids", vnics},
            {"together_ms", together},
            {"together_syncs", together_syncs},
            {"one_by_one_ms", millis_since(began) / kSingle * vnics}};
}

}  // namespace

int main(int argc, char** argv) {
    const auto number = [&](int at, unsigned otherwise) {
        return argc > at ? static_cast<unsigned>(std::strtoul(argv[at], nullptr, 10)) : otherwise;
    };
    const unsigned vnics = std::max(1U, number(1, 24'000));
    const unsigned seconds = std::max(2U, number(2, 60));
    sync_time = std::chrono::milliseconds(number(3, 3));
    std::string folder = (std::filesystem::temp_directory_path() / "weir-bill-XXXXXX").string();
    if (mkdtemp(folder.data()) == nullptr)
        return 1;
    const nlohmann::json result{{"sync_ms", sync_time.count()},
                                {"bill", measure_bill(folder + "/bill", vnics, seconds)},
                                {"start", measure_start(folder + "/ctrl.db", vnics)}};
    std::filesystem::remove_all(folder);
    std::printf("%s\n", result.dump(2).c_str());
    return 0;
}
