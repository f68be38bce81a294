// peer_asks.h - the addresses that vNICs send to over the wire, and for which of them the controller is due
// to be asked. Source: docs/protocol.md. Units: Nanos of a monotonic clock. Threads: agent.
//
// An address is asked for at once, and again after 2 s while no answer comes. After an answer that no vNIC of
// the tenant has it, it is asked for again after 1, 2, 4, ... 32 s, as the vNIC may come: a gateway costs two
// questions a minute. An address that is not known and gets no frames for a minute is forgotten.
#pragma once

#include <map>
#include <vector>

#include "common/clock.h"
#include "vswitch/agent/switch_control.h"

namespace weir {

class PeerAsks {
  public:
    /// Pairs of all vNICs together: each known one is a limiter in the data path.
    static constexpr std::size_t kPairsMax = 4'096;
    /// Of these that are not known, of one vNIC: a guest that sends to many addresses leaves room for others.
    static constexpr std::size_t kUnknownMax = 64;
    static constexpr Nanos kRepeat = 2 * kNanosPerSec;
    static constexpr Nanos kBackoffMax = 32 * kNanosPerSec;
    static constexpr Nanos kForgetAfter = 60 * kNanosPerSec;
    /// So many answers make a peer of an earlier session unknown: the vNIC's own switch may be late.
    static constexpr unsigned kAnswersToForget = 4;

    struct Pair {
        bool is_known = false;  ///< the controller answered with an endpoint in this session
        unsigned unknown = 0;   ///< answers without one, since the session began
        Nanos ask_at = 0;
        Nanos sent_at = 0;  ///< when a frame was last seen to go there
    };

    /// A frame went to the address. @return false: there is no room for another pair
    bool note(const PeerPair& pair, Nanos now);
    void set_known(const PeerPair& pair, bool is_known);
    /// The controller knows no such address. @return so for the kAnswersToForget-th time in this session
    bool on_unknown(const PeerPair& pair, Nanos now);
    void erase(const PeerPair& pair) { pairs_.erase(pair); }
    /// In a new session everything is asked for again.
    void restart(Nanos now);
    /// Pairs whose time has come, at most `most`; they count as asked. Forgets old unknown ones.
    [[nodiscard]] std::vector<PeerPair> due(Nanos now, std::size_t most);

    [[nodiscard]] const std::map<PeerPair, Pair>& pairs() const { return pairs_; }
    [[nodiscard]] bool contains(const PeerPair& pair) const { return pairs_.contains(pair); }

  private:
    [[nodiscard]] bool has_room(const std::string& vnic) const;

    std::map<PeerPair, Pair> pairs_;
    PeerPair next_;  ///< where due() goes on: each pair has its turn
};

}  // namespace weir
