// vnic_move.cc - the commands of a vNIC's move, and the standstill.
#include "vswitch/datapath/loop/vnic_move.h"

#include <chrono>
#include <vector>

namespace weir {

bool VnicMove::attempt() {
    bool ready = false;
    const WorkerId from = path.fixed.owner;
    await(from, post(from, command::PrepareMove{&path, &ready}));
    return ready && stand_and_give();
}

void VnicMove::cancel() {
    const WorkerId from = path.fixed.owner;
    await(from, post(from, command::CancelMove{&path}));
}

bool VnicMove::stand_and_give() {
    // A worker ends its turn within a fifth of a millisecond, if its core is not taken away.
    constexpr Nanos kStandMax = 5'000'000;
    Worker& from = *workers[path.fixed.owner];
    Worker& owner = *workers[to];
    Standstill still(workers.size());
    std::vector<std::uint64_t> numbers;
    const auto began = std::chrono::steady_clock::now();
    for (const auto& worker : workers)
        numbers.push_back(post(worker->id(), command::Stand{&still, to}));
    quiescence.changed();  // the workers look at their commands in this turn
    const bool given = still.all_stand(kStandMax) && from.may_give(path, owner);
    if (given) {
        from.give(path, owner, now());
        serve();
    }
    still.end();
    rested = static_cast<Nanos>(std::chrono::nanoseconds(std::chrono::steady_clock::now() - began).count());
    for (const auto& worker : workers)
        await(worker->id(), numbers[worker->id()]);
    return given;
}

}  // namespace weir
