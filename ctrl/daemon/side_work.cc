// side_work.cc - the thread, which starts with the first job.
#include "ctrl/daemon/side_work.h"

#include <utility>

namespace weir {

SideWork::~SideWork() {
    if (!thread_.joinable())
        return;
    {
        const std::lock_guard lock(mutex_);
        stop_ = true;
    }
    wake_.notify_one();
    thread_.join();
}

bool SideWork::add(std::uint64_t ticket, Job job, std::size_t most) {
    const std::lock_guard lock(mutex_);
    if (jobs_.size() >= most)
        return false;
    jobs_.emplace_back(ticket, std::move(job));
    if (!thread_.joinable())
        thread_ = std::thread([this] { run(); });
    wake_.notify_one();
    return true;
}

std::vector<SideWork::Reply> SideWork::take_replies() {
    const std::lock_guard lock(mutex_);
    return std::exchange(replies_, {});
}

void SideWork::discard(std::shared_ptr<void> object) {
    const std::lock_guard lock(mutex_);
    if (!thread_.joinable())
        thread_ = std::thread([this] { run(); });
    discarded_.push_back(std::move(object));
    wake_.notify_one();
}

void SideWork::run() {
    std::unique_lock lock(mutex_);
    for (;;) {
        wake_.wait(lock, [this] { return stop_ || !jobs_.empty() || !discarded_.empty(); });
        if (stop_)
            return;
        if (auto discarded = std::exchange(discarded_, {}); !discarded.empty()) {
            lock.unlock();
            discarded.clear();
            lock.lock();
            continue;
        }
        const auto [ticket, job] = std::move(jobs_.front());
        jobs_.pop_front();
        lock.unlock();
        Reply reply = job(stop_);
        reply.ticket = ticket;
        lock.lock();
        replies_.push_back(std::move(reply));
    }
}

}  // namespace weir
