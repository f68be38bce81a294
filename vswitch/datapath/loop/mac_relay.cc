// mac_relay.cc - MacRelay: one ring of updates into several rings of commands.
#include "vswitch/datapath/loop/mac_relay.h"

namespace weir {

void MacRelay::run(std::span<const std::unique_ptr<Worker>> workers) {
    waiting_.resize(workers.size());
    for (const auto& from : workers) {
        std::optional<Waiting>& waiting = waiting_[from->id()];
        while (true) {
            MacUpdate update{};
            if (!waiting && from->mac_updates().pop(update))
                waiting = {update, 0};
            if (!waiting || !pass_on(*waiting, *from, workers))
                break;
            waiting.reset();
        }
    }
}

/// @return false when a worker has no room for it now
bool MacRelay::pass_on(Waiting& waiting, const Worker& from,
                       std::span<const std::unique_ptr<Worker>> workers) {
    for (; waiting.next < workers.size(); ++waiting.next) {
        Worker& to = *workers[waiting.next];
        if (&to != &from && to.control().post(command::UpdateMac{waiting.update}) == 0)
            return false;
    }
    return true;
}

}  // namespace weir
