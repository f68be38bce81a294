// side_work.h - commands that take long, on a thread of their own beside the controller's loop.
// Threads: one caller, and its own.
//
// A job makes the reply to one command: the sums of a bill, its check, a backup. Jobs run one after the
// other; a few wait, further ones are refused.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "common/clock.h"

namespace weir {

class SideWork {
  public:
    static constexpr std::size_t kJobsMax = 4;

    struct Reply {
        std::uint64_t ticket = 0;
        std::string text{};
        /// Makes the text, on the thread of take_replies()'s caller; empty: it is made.
        std::function<std::string(Nanos now)> finish{};
    };
    /// Makes a reply; ends early, with any, once `stop` is set. Never throws.
    using Job = std::function<Reply(const std::atomic<bool>& stop)>;

    SideWork() = default;
    /// Stops the job that runs; those that wait get no reply.
    ~SideWork();
    SideWork(const SideWork&) = delete;
    SideWork& operator=(const SideWork&) = delete;

    /// @param most others that may wait already. @return false: more wait
    [[nodiscard]] bool add(std::uint64_t ticket, Job job, std::size_t most = kJobsMax);
    [[nodiscard]] std::vector<Reply> take_replies();
    /// Destroys a large object, on the other thread.
    void discard(std::shared_ptr<void> object);

  private:
    void run();

    std::atomic<bool> stop_{false};
    std::mutex mutex_;  // of all below
    std::condition_variable wake_;
    std::deque<std::pair<std::uint64_t, Job>> jobs_;
    std::vector<Reply> replies_;
    std::vector<std::shared_ptr<void>> discarded_;
    std::thread thread_;
};

}  // namespace weir
