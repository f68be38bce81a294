// bill_writer.cc - the queue, the thread, and the state of a bill that cannot be written.
#include "ctrl/store/bill_writer.h"

#include <algorithm>
#include <chrono>
#include <span>
#include <utility>

#include "common/error.h"

namespace weir {
namespace {

using Steady = std::chrono::steady_clock;

/// Time between two transactions of the thread.
constexpr std::chrono::milliseconds kPause{500};

}  // namespace

BillWriter::BillWriter(std::string folder) : store_(std::move(folder)) {}

BillWriter::~BillWriter() {
    if (!thread_.joinable())
        return;
    {
        const std::lock_guard lock(mutex_);
        stop_ = true;
    }
    wake_.notify_one();
    thread_.join();
}

void BillWriter::start(Clock clock) {
    clock_ = std::move(clock);
    thread_ = std::thread([this] { run(); });
}

bool BillWriter::post(Periods periods, const billing::Prices& prices, std::int64_t unix_seconds) {
    if (!thread_.joinable()) {
        std::deque<Periods> taken;
        taken.push_back(std::move(periods));
        write(taken, prices, unix_seconds);
        return true;
    }
    {
        const std::lock_guard lock(mutex_);
        if (state_.waiting + periods.records.size() > kPeriodsMax) {
            state_.turned_away += periods.records.size();
            return false;
        }
        prices_ = prices;
        state_.waiting += periods.records.size();
        queue_.push_back(std::move(periods));
    }
    wake_.notify_one();
    return true;
}

std::vector<BillWriter::Outcome> BillWriter::take_outcomes() {
    const std::lock_guard lock(mutex_);
    return std::exchange(outcomes_, {});
}

BillWriter::State BillWriter::state() const {
    const std::lock_guard lock(mutex_);
    return state_;
}

void BillWriter::run() {
    std::unique_lock lock(mutex_);
    for (;;) {
        wake_.wait(lock, [this] { return stop_ || !queue_.empty(); });
        const bool is_last = stop_;
        const std::deque<Periods> taken = std::exchange(queue_, {});
        const billing::Prices prices = prices_;
        state_.waiting = 0;
        lock.unlock();
        if (!taken.empty())
            write(taken, prices, clock_());
        lock.lock();
        if (is_last)
            return;
        wake_.wait_for(lock, kPause, [this] { return stop_; });
    }
}

void BillWriter::write(const std::deque<Periods>& taken, const billing::Prices& prices,
                       std::int64_t unix_seconds) {
    const Steady::time_point began = Steady::now();
    std::vector<std::span<const billing::Record>> lists;
    for (const Periods& each : taken)
        lists.emplace_back(each.records);
    std::vector<BillStore::Appended> appended;
    std::string fault;
    try {
        appended = store_.append(lists, prices, unix_seconds);
    } catch (const std::exception& error) {
        fault = error.what();
    }
    const double spent_ms = std::chrono::duration<double, std::milli>(Steady::now() - began).count();
    const std::lock_guard lock(mutex_);
    if (!fault.empty()) {
        state_.failing_since = state_.failing_since == 0 ? unix_seconds : state_.failing_since;
        ++state_.refused;
    } else {
        state_.failing_since = 0;
        ++state_.transactions;
        state_.longest_ms = std::max(state_.longest_ms, spent_ms);
    }
    state_.fault = fault;
    for (std::size_t i = 0; i < taken.size(); ++i)
        outcomes_.push_back(
            {taken[i].key, fault.empty(), fault.empty() ? appended[i] : BillStore::Appended{}});
}

}  // namespace weir
