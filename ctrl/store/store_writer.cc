// store_writer.cc - the thread, and the one write that it has.
#include "ctrl/store/store_writer.h"

#include <utility>

#include "common/error.h"

namespace weir {

StoreWriter::StoreWriter(Store& store) : store_(store), thread_([this] { run(); }) {}

StoreWriter::~StoreWriter() {
    {
        const std::lock_guard lock(mutex_);
        stop_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

bool StoreWriter::is_busy() const {
    const std::lock_guard lock(mutex_);
    return state_ != State::kIdle;
}

void StoreWriter::post(StoreChanges changes) {
    {
        const std::lock_guard lock(mutex_);
        outcome_ = {.changes = std::move(changes)};
        state_ = State::kPosted;
        posted_ = std::chrono::steady_clock::now();
    }
    changed_.notify_all();
}

std::optional<StoreWriter::Outcome> StoreWriter::take(std::chrono::milliseconds patience) {
    std::unique_lock lock(mutex_);
    if (state_ == State::kIdle ||
        !changed_.wait_for(lock, patience, [this] { return state_ == State::kDone; }))
        return std::nullopt;
    state_ = State::kIdle;
    return std::exchange(outcome_, {});
}

std::chrono::milliseconds StoreWriter::under_way() const {
    const std::lock_guard lock(mutex_);
    if (state_ == State::kIdle)
        return {};
    return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - posted_);
}

std::vector<AuditEntry> StoreWriter::audit() const {
    const std::lock_guard lock(mutex_);
    const bool is_stored = state_ == State::kDone && outcome_.fault.empty();
    return is_stored ? std::vector<AuditEntry>() : outcome_.changes.audit;
}

/// The changes stay where they are while they are written: others read them, and none changes them.
void StoreWriter::run() {
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [this] { return stop_ || state_ == State::kPosted; });
        if (state_ != State::kPosted)
            return;
        lock.unlock();
        std::string fault;
        try {
            store_.write(outcome_.changes);
        } catch (const HostError& error) {
            fault = error.what();
        }
        lock.lock();
        outcome_.fault = std::move(fault);
        state_ = State::kDone;
        changed_.notify_all();
    }
}

}  // namespace weir
