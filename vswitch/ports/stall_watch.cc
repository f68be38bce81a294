// stall_watch.cc - the looks at the workers' threads, in /proc.
#include "vswitch/ports/stall_watch.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string_view>
#include <utility>

#include "vswitch/ports/foreign_files.h"

namespace weir {
namespace {

constexpr Nanos kPeriod = 20'000'000;
/// For a second after a sleep in a guest's memory was seen.
constexpr Nanos kClosePeriod = 5'000'000;
/// Page faults are counted less often: to read them costs more than all else here.
constexpr Nanos kFaultsPeriod = 100'000'000;
/// While all workers sleep until a guest kicks, or the like.
constexpr Nanos kIdlePeriod = 50'000'000;
/// How long a worker counts the time of its faults, and how long it does not when they cost next to nothing.
constexpr Nanos kMeasuredFor = kNanosPerSec;
constexpr Nanos kRest = 10 * kNanosPerSec;
constexpr Nanos kNextToNothing = 5'000'000;
/// Two sleeps in the same memory belong together.
constexpr Nanos kShrinksWithin = kNanosPerSec;

struct ThreadState {
    char state = ' ';  ///< 'D': sleeps, and no signal ends it; ' ': the thread has ended
    std::uint64_t faults = 0;
};

/// The third field of the thread's file, and the tenth. The second is the name in parentheses, of any
/// characters. The file is open for the moment only: a process counts its files.
ThreadState state_of(int thread) {
    constexpr int kFaultsField = 10 - 3;
    const std::string path = "/proc/self/task/" + std::to_string(thread) + "/stat";
    const FileHandle file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    std::array<char, 512> text{};
    const ssize_t got = file ? read(file.number(), text.data(), text.size() - 1) : 0;
    const char* at = got > 0 ? std::strrchr(text.data(), ')') : nullptr;
    if (at == nullptr || at[1] == 0 || at[2] == 0)
        return {};
    at += 2;
    ThreadState found{.state = *at};
    for (int field = 0; field < kFaultsField && at != nullptr; ++field) {
        at = std::strchr(at, ' ');
        if (at != nullptr)
            ++at;
    }
    found.faults = at != nullptr ? std::strtoull(at, nullptr, 10) : 0;
    return found;
}

/// Time that a thread of this process had a core. The kernel's clock of a thread by its number (linux/posix-
/// timers.h); 0: it has ended.
Nanos time_of(int thread) {
    constexpr int kOfThread = 6;
    timespec time{};
    if (clock_gettime((~static_cast<clockid_t>(thread) << 3) | kOfThread, &time) != 0)
        return 0;
    return static_cast<Nanos>(time.tv_sec) * kNanosPerSec + static_cast<Nanos>(time.tv_nsec);
}

/// Waits in the kernel's code of shared memory or of huge pages, and not for a disk that has pages of the
/// program, or for a lock of the process. A kernel without symbols does not say.
bool waits_for_memory(int thread) {
    static const bool kHasSymbols = access("/proc/kallsyms", F_OK) == 0;
    if (!kHasSymbols)
        return true;
    const std::string path = "/proc/self/task/" + std::to_string(thread) + "/wchan";
    const FileHandle file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    std::array<char, 64> name{};
    const ssize_t got = file ? read(file.number(), name.data(), name.size() - 1) : 0;
    const std::string_view where(name.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
    return where.starts_with("shmem") || where.starts_with("hugetlb") ||
           where.starts_with("handle_userfault");
}

}  // namespace

StallWatch::StallWatch(std::span<GuestAccess* const> workers, GuestAccess& messages, Gate gate)
    : gate_(std::move(gate)) {
    for (GuestAccess* access : workers)
        workers_.push_back({.access = access});
    workers_.push_back({.access = &messages, .is_worker = false});
    thread_ = std::thread([this] { run(); });
}

StallWatch::~StallWatch() {
    {
        const std::scoped_lock lock(mutex_);
        stop_ = true;
    }
    stopped_.notify_all();
    thread_.join();
}

void StallWatch::watch(Port& port, const std::string& socket) {
    const std::scoped_lock lock(mutex_);
    guests_[&port] = {.port = &port, .socket = socket, .fault_time = port.fault_time()};
}

void StallWatch::forget(const Port& port) {
    const std::scoped_lock lock(mutex_);
    if (const auto guest = guests_.find(&port); guest != guests_.end()) {
        score_.forget(guest->second.socket);
        guests_.erase(guest);
    }
}

void StallWatch::run() {
    const auto began = std::chrono::steady_clock::now();
    std::unique_lock lock(mutex_);
    while (!stopped_.wait_for(lock, std::chrono::nanoseconds(period_), [this] { return stop_; })) {
        const auto since = std::chrono::steady_clock::now() - began;
        const auto now =
            static_cast<Nanos>(std::chrono::duration_cast<std::chrono::nanoseconds>(since).count()) +
            kNanosPerSec;
        any_awake_ = false;
        const bool counts_faults = now >= next_faults_;
        for (Worker& worker : workers_)
            look_at(worker, counts_faults, now);
        if (counts_faults) {
            look_at_faults(now);
            next_faults_ = now + kFaultsPeriod;
        }
        period_ = now < close_until_ ? kClosePeriod : any_awake_ ? kPeriod : kIdlePeriod;
    }
}

void StallWatch::look_at(Worker& worker, bool counts_faults, Nanos now) {
    const GuestAccess& access = *worker.access;
    if (const int thread = access.thread(); thread != worker.thread)
        worker = {.access = worker.access, .is_worker = worker.is_worker, .thread = thread};
    if (worker.thread == 0)
        return;
    const Port* const at = access.at();
    const Port* const lender = access.lender();
    const std::uint64_t visit = access.visits();
    any_awake_ |= at != nullptr || visit != worker.visit;
    if (worker.is_worker && counts_faults)
        measure(worker, now);
    look_at_visit(worker, at, visit, now);
    if ((at == nullptr && lender == nullptr) || !waits_for_memory(worker.thread))
        return;
    const bool stays = access.at() == at && access.lender() == lender && access.visits() == visit;
    if (stays && state_of(worker.thread).state == 'D')
        look_at_sleep(at, lender, now);
}

void StallWatch::measure(Worker& worker, Nanos now) {
    const std::uint64_t faults = state_of(worker.thread).faults;
    const std::uint64_t long_turns = worker.access->long_turns();
    const bool rose = worker.faults && *worker.faults < faults && worker.long_turns < long_turns;
    worker.faults = faults;
    worker.long_turns = long_turns;
    const bool measures = worker.access->measures();
    if (measures && now >= worker.measured_until && costly_ - worker.costly_before < kNextToNothing)
        worker.rests_until = now + kRest;
    if (rose && now >= worker.measured_until && now >= worker.rests_until) {
        worker.measured_until = now + kMeasuredFor;
        worker.costly_before = costly_;
    }
    worker.access->measure(now < worker.measured_until);
}

/// One visit that goes on from look to look, and in which a fault has ended, cost as much as the thread's own
/// time in it: others may have had the core.
void StallWatch::look_at_visit(Worker& worker, const Port* at, std::uint64_t visit, Nanos now) {
    const bool goes_on = at != nullptr && at == worker.at && visit == worker.visit;
    if (goes_on && !worker.visit_lasts && worker.is_worker) {
        worker.visit_lasts = true;
        worker.visit_faults = state_of(worker.thread).faults;
    }
    if (goes_on)
        return;
    const Nanos time = at != nullptr || worker.visit_lasts ? time_of(worker.thread) : 0;
    const auto guest = guests_.find(worker.at);
    if (worker.visit_lasts && state_of(worker.thread).faults != worker.visit_faults && guest != guests_.end())
        judge(guest->second.socket, StallScore<std::string>::Kind::kFaults, time - worker.visit_time, now);
    worker.at = at;
    worker.visit = visit;
    worker.visit_time = time;
    worker.visit_lasts = false;
}

/// @param lender of payloads that are under way, which the worker reads outside of its rings, too
void StallWatch::look_at_sleep(const Port* at, const Port* lender, Nanos now) {
    const auto owner = guests_.find(lender);
    if (at != nullptr && lender != nullptr && at != lender) {
        if (owner != guests_.end())
            owner->second.port->copy_payloads();
        return;
    }
    const auto found = at != nullptr ? guests_.find(at) : owner;
    if (found == guests_.end())
        return;
    close_until_ = now + kNanosPerSec;
    Guest& guest = found->second;
    const std::uint64_t blocks = gate_.blocks(guest.socket);
    if (now - guest.blocks_at < kShrinksWithin && blocks < guest.blocks)
        guest.shrank_at = now;
    guest.blocks = blocks;
    guest.blocks_at = now;
    if (guest.shrank_at != 0 && now - guest.shrank_at < kShrinksWithin)
        judge(guest.socket, StallScore<std::string>::Kind::kSleeps, period_, now);
}

void StallWatch::look_at_faults(Nanos now) {
    for (auto& [port, guest] : guests_) {
        const Nanos time = port->fault_time() - guest.fault_time;
        if (time == 0)
            continue;
        guest.fault_time += time;
        costly_ += time;
        judge(guest.socket, StallScore<std::string>::Kind::kFaults, time, now);
    }
}

void StallWatch::judge(const std::string& socket, StallScore<std::string>::Kind kind, Nanos time, Nanos now) {
    constexpr Nanos kMilli = 1'000'000;
    const StallScore<std::string>::Verdict verdict = score_.add(socket, kind, time, now);
    if (verdict.bar == 0)
        return;
    const bool sleeps = kind == StallScore<std::string>::Kind::kSleeps;
    gate_.bar(socket,
              "its memory made the switch wait " + std::to_string(verdict.waited / kMilli) +
                  " ms of a second, " +
                  (sleeps ? "as holes are punched into it"
                          : "as pages of it were not there and had to be cleared") +
                  "; no front-end is served for " + std::to_string(verdict.bar / kNanosPerSec) + " s; " +
                  (sleeps ? "give the VM memory of hugetlbfs, and look at its front-end"
                          : "give the VM memory that is there from its start (prealloc=on)"),
              verdict.bar);
}

}  // namespace weir
