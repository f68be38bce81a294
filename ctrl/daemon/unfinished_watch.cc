// unfinished_watch.cc - the look, and the process's own size that calls for one.
#include "ctrl/daemon/unfinished_watch.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <optional>
#include <utility>

namespace weir {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kGlanceGap{10};
constexpr std::chrono::seconds kFullLookGap{1};
constexpr std::uint64_t kGrowth = 4 << 20;
constexpr std::size_t kEndedMax = 1'000;

std::uint64_t resident_bytes() {
    static const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    std::ifstream statm("/proc/self/statm");
    std::uint64_t size = 0;
    std::uint64_t resident = 0;
    statm >> size >> resident;
    return resident * page;
}

std::string address_of(int descriptor) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    std::array<char, NI_MAXHOST> text{};
    if (getpeername(descriptor, reinterpret_cast<sockaddr*>(&address), &size) != 0 ||
        getnameinfo(reinterpret_cast<const sockaddr*>(&address), size, text.data(), text.size(), nullptr, 0,
                    NI_NUMERICHOST) != 0)
        return "an address that is not known";
    return text.data();
}

}  // namespace

UnfinishedWatch::UnfinishedWatch() : thread_([this] { run(); }) {}

UnfinishedWatch::~UnfinishedWatch() {
    {
        const std::lock_guard lock(mutex_);
        stop_ = true;
    }
    stopped_.notify_all();
    thread_.join();
}

void UnfinishedWatch::run() {
    std::uint64_t looked_at = resident_bytes();
    auto looked = steady_clock::now();
    for (;;) {
        {
            std::unique_lock lock(mutex_);
            if (stopped_.wait_for(lock, kGlanceGap, [this] { return stop_; }))
                return;
        }
        const std::uint64_t resident = resident_bytes();
        looked_at = std::min(looked_at, resident);
        if (resident < looked_at + kGrowth && steady_clock::now() < looked + kFullLookGap)
            continue;
        look();
        looked_at = resident;
        looked = steady_clock::now();
    }
}

void UnfinishedWatch::on_accepted(int descriptor) {
    std::string address = address_of(descriptor);
    const std::lock_guard lock(mutex_);
    connections_[descriptor] = {.owner = std::move(address)};
}

void UnfinishedWatch::on_closed(int descriptor) {
    const std::lock_guard lock(mutex_);
    connections_.erase(descriptor);
}

void UnfinishedWatch::on_message(int descriptor, const std::string& host, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    const auto found = connections_.find(descriptor);
    if (found == connections_.end())
        return;
    if (!host.empty() && found->second.owner != host)
        found->second.owner = host;
    if (const auto read = zmtp::read_bytes(descriptor))
        found->second.bytes.on_message(bytes, *read);
}

void UnfinishedWatch::look() {
    const std::lock_guard lock(mutex_);
    struct Held {
        std::uint64_t bytes;
        int descriptor;
    };
    std::map<std::string_view, std::vector<Held>> owners;
    for (const auto& [descriptor, connection] : connections_)
        if (const auto read = connection.is_ended ? std::nullopt : zmtp::read_bytes(descriptor))
            owners[connection.owner].push_back({connection.bytes.of(*read), descriptor});
    for (auto& [owner, held] : owners) {
        std::ranges::sort(held, {}, &Held::bytes);
        std::uint64_t sum = 0;
        for (const Held& each : held) {
            sum += each.bytes;
            if (sum <= kBytesMax)
                continue;
            (void)::shutdown(each.descriptor, SHUT_RDWR);
            connections_.at(each.descriptor).is_ended = true;
            if (ended_.size() < kEndedMax)
                ended_.emplace_back(owner);
        }
    }
}

std::vector<std::string> UnfinishedWatch::take_ended() {
    const std::lock_guard lock(mutex_);
    return std::exchange(ended_, {});
}

}  // namespace weir
