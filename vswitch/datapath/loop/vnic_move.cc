// vnic_move.cc - the commands of a vNIC's move, and the standstill.
#include "vswitch/datapath/loop/vnic_move.h"

#include <chrono>
#include <memory>
#include <utility>
#include <vector>

namespace weir {

/// The commands refer to it.
struct VnicMove::Attempt {
    explicit Attempt(std::size_t workers) : still(workers) {}
    bool ready = false;
    Standstill still;
};

bool VnicMove::attempt() {
    auto made = std::make_unique<Attempt>(workers.size());
    const WorkerId from = path.fixed.owner;
    try {
        await(from, post(from, command::PrepareMove{&path, &made->ready}));
        return made->ready && stand_and_give(*made);
    } catch (...) {
        made->still.end();
        // A worker that does not answer may come to the commands at any time.
        static std::vector<std::unique_ptr<Attempt>> abandoned;
        abandoned.push_back(std::move(made));
        if (path.fixed.owner == from)
            (void)workers[from]->control().post(command::CancelMove{&path});
        throw;
    }
}

void VnicMove::cancel() {
    const WorkerId from = path.fixed.owner;
    await(from, post(from, command::CancelMove{&path}));
}

bool VnicMove::stand_and_give(Attempt& made) {
    // A worker ends its turn within a fifth of a millisecond, if its core is not taken away.
    constexpr Nanos kStandMax = 5'000'000;
    Worker& from = *workers[path.fixed.owner];
    Worker& owner = *workers[to];
    std::vector<std::uint64_t> numbers;
    const auto began = std::chrono::steady_clock::now();
    for (const auto& worker : workers)
        numbers.push_back(post(worker->id(), command::Stand{&made.still, to}));
    quiescence.changed();  // the workers look at their commands in this turn
    const bool given = made.still.all_stand(kStandMax) && from.may_give(path, owner);
    if (given) {
        from.give(path, owner, now());
        serve();
    }
    made.still.end();
    rested = static_cast<Nanos>(std::chrono::nanoseconds(std::chrono::steady_clock::now() - began).count());
    for (const auto& worker : workers)
        await(worker->id(), numbers[worker->id()]);
    return given;
}

}  // namespace weir
