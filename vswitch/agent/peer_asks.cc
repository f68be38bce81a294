// peer_asks.cc - when each address is asked for.
#include "vswitch/agent/peer_asks.h"

#include <algorithm>

namespace weir {

bool PeerAsks::note(const PeerPair& pair, Nanos now) {
    const auto at = pairs_.find(pair);
    if (at != pairs_.end()) {
        at->second.sent_at = now;
        return true;
    }
    if (!has_room(pair.vnic))
        return false;
    pairs_.emplace(pair, Pair{.ask_at = now, .sent_at = now});
    return true;
}

bool PeerAsks::has_room(const std::string& vnic) const {
    std::size_t unknown = 0;
    for (auto at = pairs_.lower_bound({vnic, {}}); at != pairs_.end() && at->first.vnic == vnic; ++at)
        unknown += at->second.is_known ? 0U : 1U;
    return pairs_.size() < kPairsMax && unknown < kUnknownMax;
}

void PeerAsks::set_known(const PeerPair& pair, bool is_known) {
    if (const auto at = pairs_.find(pair); at != pairs_.end())
        at->second.is_known = is_known;
}

bool PeerAsks::on_unknown(const PeerPair& pair, Nanos now) {
    const auto at = pairs_.find(pair);
    if (at == pairs_.end())
        return false;
    at->second.is_known = false;
    const unsigned doublings = std::min(at->second.unknown++, 5U);
    at->second.ask_at = now + std::min(kNanosPerSec << doublings, kBackoffMax);
    return at->second.unknown == kAnswersToForget;
}

void PeerAsks::restart(Nanos now) {
    for (auto& [pair, state] : pairs_) {
        if (state.is_known)  // its frames were counted, not noted
            state.sent_at = now;
        state = {.ask_at = now, .sent_at = state.sent_at};
    }
}

std::vector<PeerPair> PeerAsks::due(Nanos now, std::size_t most) {
    std::erase_if(pairs_, [now](const auto& each) {
        const Pair& state = each.second;
        return !state.is_known && now - state.sent_at > kForgetAfter;
    });
    std::vector<PeerPair> due;
    auto at = pairs_.lower_bound(next_);
    for (std::size_t looked = 0; looked < pairs_.size() && due.size() < most; ++looked) {
        if (at == pairs_.end())
            at = pairs_.begin();
        if (!at->second.is_known && now >= at->second.ask_at) {
            at->second.ask_at = now + kRepeat;
            due.push_back(at->first);
        }
        ++at;
    }
    next_ = at == pairs_.end() ? PeerPair{} : at->first;
    return due;
}

}  // namespace weir
