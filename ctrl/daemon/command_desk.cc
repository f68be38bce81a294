// command_desk.cc - the two queues, and the event that ends the loop's wait.
#include "ctrl/daemon/command_desk.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "common/error.h"

namespace weir {

CommandDesk::CommandDesk() : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE)) {
    if (event_ < 0)
        throw HostError("no file descriptor is free for the API; raise ulimit -n");
}

CommandDesk::~CommandDesk() {
    close(event_);
}

std::optional<std::uint64_t> CommandDesk::add(std::string text, std::string peer, bool may_change) {
    const std::lock_guard lock(mutex_);
    if (on_the_way_ == kCommandsMax)
        return {};
    ++on_the_way_;
    commands_.push_back({++tickets_, std::move(text), std::move(peer), may_change});
    const std::uint64_t one = 1;
    (void)!::write(event_, &one, sizeof one);
    return tickets_;
}

std::vector<CommandDesk::Reply> CommandDesk::take_replies() {
    const std::lock_guard lock(mutex_);
    return std::exchange(replies_, {});
}

void CommandDesk::set_wake(std::function<void()> wake) {
    const std::lock_guard lock(mutex_);
    wake_ = std::move(wake);
}

std::optional<CommandDesk::Command> CommandDesk::take() {
    std::uint64_t one = 0;
    if (::read(event_, &one, sizeof one) != sizeof one)
        return {};
    const std::lock_guard lock(mutex_);
    Command command = std::move(commands_.front());
    commands_.pop_front();
    taken_.fetch_add(1, std::memory_order_relaxed);
    return command;
}

void CommandDesk::reply(std::uint64_t ticket, std::string text) {
    const std::lock_guard lock(mutex_);
    --on_the_way_;
    replies_.push_back({ticket, std::move(text)});
    if (wake_)
        wake_();
}

void CommandDesk::set_token_fault(std::string fault) {
    const std::lock_guard lock(mutex_);
    token_fault_ = std::move(fault);
}

nlohmann::json CommandDesk::describe() const {
    std::string token_fault;
    {
        const std::lock_guard lock(mutex_);
        token_fault = token_fault_;
    }
    const auto value = [](const std::atomic<std::uint64_t>& counter) {
        return counter.load(std::memory_order_relaxed);
    };
    return {{"commands", value(taken_)},
            {"answered", value(counters_.answered)},
            {"connections", value(counters_.connections)},
            {"connections_ended", value(counters_.ended)},
            {"streams", value(counters_.streams)},
            {"token_fault", token_fault.empty() ? nlohmann::json() : nlohmann::json(token_fault)},
            {"refused",
             {{"unauthorized", value(counters_.unauthorized)},
              {"forbidden", value(counters_.forbidden)},
              {"cross_site", value(counters_.cross_site)},
              {"replayed", value(counters_.replayed)},
              {"malformed", value(counters_.malformed)},
              {"failed", value(counters_.failed)},
              {"busy", value(counters_.busy)},
              {"late", value(counters_.late)}}}};
}

}  // namespace weir
