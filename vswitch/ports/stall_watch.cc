// stall_watch.cc - the looks at the workers' threads, in /proc.
#include "vswitch/ports/stall_watch.h"

#include <fcntl.h>
#include <rte_cycles.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

namespace weir {
namespace {

constexpr Nanos kPeriod = 5'000'000;
/// While all workers sleep until a guest kicks, or the like.
constexpr Nanos kIdlePeriod = 50'000'000;
/// Page faults of a period with which a worker counts their time: 1,000 per second.
constexpr std::uint64_t kManyFaults = 5;
constexpr Nanos kMeasuredFor = kNanosPerSec;

struct ThreadState {
    char state = ' ';  ///< 'D': sleeps, and no signal ends it
    std::uint64_t faults = 0;
};

/// The third field of the file, and the tenth. The second is the name in parentheses, of any characters.
bool read_state(const FileHandle& file, ThreadState& found) {
    constexpr int kFaultsField = 10 - 3;
    std::array<char, 512> text{};
    const ssize_t got = pread(file.number(), text.data(), text.size() - 1, 0);
    const char* at = got > 0 ? std::strrchr(text.data(), ')') : nullptr;
    if (at == nullptr || at[1] == 0 || at[2] == 0)
        return false;
    at += 2;
    found.state = *at;
    for (int field = 0; field < kFaultsField && at != nullptr; ++field) {
        at = std::strchr(at, ' ');
        if (at != nullptr)
            ++at;
    }
    if (at == nullptr)
        return false;
    found.faults = std::strtoull(at, nullptr, 10);
    return true;
}

/// Waits in the kernel's code of shared memory or of huge pages, and not for a disk that has pages of the
/// program, or for a lock of the process. "0": the kernel has no symbols.
bool waits_for_memory(int thread) {
    const std::string path = "/proc/self/task/" + std::to_string(thread) + "/wchan";
    const FileHandle file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    std::array<char, 64> name{};
    const ssize_t got = file ? read(file.number(), name.data(), name.size() - 1) : 0;
    const std::string_view where(name.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
    return where.starts_with("shmem") || where.starts_with("hugetlb") ||
           where.starts_with("handle_userfault") || where == "0" || where.empty();
}

}  // namespace

StallWatch::StallWatch(std::span<GuestAccess* const> workers, Bar bar) : bar_(std::move(bar)) {
    for (GuestAccess* access : workers)
        workers_.push_back({.access = access, .state = FileHandle()});
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
    guests_[&port] = {&port, socket, port.fault_cycles()};
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
    while (!stopped_.wait_for(lock, std::chrono::nanoseconds(any_awake_ ? kPeriod : kIdlePeriod),
                              [this] { return stop_; })) {
        const auto since = std::chrono::steady_clock::now() - began;
        const auto now =
            static_cast<Nanos>(std::chrono::duration_cast<std::chrono::nanoseconds>(since).count()) +
            kNanosPerSec;
        any_awake_ = false;
        for (Worker& worker : workers_)
            look_at(worker, now);
        look_at_faults(now);
    }
}

void StallWatch::look_at(Worker& worker, Nanos now) {
    const int thread = worker.access->thread();
    if (thread != worker.thread) {
        worker.thread = thread;
        const std::string path = "/proc/self/task/" + std::to_string(thread) + "/stat";
        worker.state = FileHandle(thread == 0 ? -1 : open(path.c_str(), O_RDONLY | O_CLOEXEC));
        worker.faults = UINT64_MAX;
    }
    ThreadState found;
    const Port* const at = worker.access->at();
    const Port* const lender = worker.access->lender();
    if (!worker.state || !read_state(worker.state, found))
        return;
    if (worker.faults < found.faults && found.faults - worker.faults >= kManyFaults)
        worker.many_faults = now;
    any_awake_ |= found.state != 'S';
    worker.faults = found.faults;
    worker.access->measure(worker.many_faults != 0 && now - worker.many_faults < kMeasuredFor);
    const bool stays = worker.access->at() == at && worker.access->lender() == lender;
    if (found.state == 'D' && stays && waits_for_memory(thread))
        look_at_sleep(at, lender, now);
}

/// @param lender of payloads that are under way, which the worker reads outside of its rings, too
void StallWatch::look_at_sleep(const Port* at, const Port* lender, Nanos now) {
    const auto owner = guests_.find(lender);
    if (at != nullptr && lender != nullptr && at != lender) {
        if (owner != guests_.end())
            owner->second.port->copy_payloads();
        return;
    }
    const auto guest = at != nullptr ? guests_.find(at) : owner;
    if (guest != guests_.end())
        judge(guest->second.socket, StallScore<std::string>::Kind::kSleeps, kPeriod, now);
}

void StallWatch::look_at_faults(Nanos now) {
    for (auto& [port, guest] : guests_) {
        const std::uint64_t cycles = port->fault_cycles();
        if (cycles == guest.fault_cycles)
            continue;
        const auto time = static_cast<Nanos>(Wide{cycles - std::exchange(guest.fault_cycles, cycles)} *
                                             kNanosPerSec / rte_get_tsc_hz());
        judge(guest.socket, StallScore<std::string>::Kind::kFaults, time, now);
    }
}

void StallWatch::judge(const std::string& socket, StallScore<std::string>::Kind kind, Nanos time, Nanos now) {
    constexpr Nanos kMilli = 1'000'000;
    const StallScore<std::string>::Verdict verdict = score_.add(socket, kind, time, now);
    if (verdict.bar == 0)
        return;
    const bool sleeps = kind == StallScore<std::string>::Kind::kSleeps;
    bar_(socket,
         "its memory made a worker wait " + std::to_string(verdict.waited / kMilli) + " ms of a second, " +
             (sleeps ? "as holes are punched into it"
                     : "as pages of it were not there and had to be cleared") +
             "; no front-end is served for " + std::to_string(verdict.bar / kNanosPerSec) + " s; " +
             (sleeps ? "give the VM memory of hugetlbfs, and look at its front-end"
                     : "give the VM memory that is there from its start (prealloc=on)"),
         verdict.bar);
}

}  // namespace weir
