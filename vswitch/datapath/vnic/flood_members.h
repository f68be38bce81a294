// flood_members.h - the receivers of a flooded frame: a list of vNICs for each VLAN, and one of those among
// them that take unknown addresses, too. Source: IEEE 802.1Q 8.6.1. Threads: one owner. Allocates only when
// built.
//
// The lists are linked by id, in the order in which vNICs came. Group addresses reach all of a VLAN, an
// unknown address only ports whose addresses the switch does not know (anti-spoofing pins them), so that in a
// VLAN of 1,000 pinned vNICs and a bridge it is one copy, not a walk over 1,001.
#pragma once

#include <array>
#include <cstdint>

#include "common/types.h"
#include "vswitch/base/limits.h"

namespace weir {

class FloodMembers {
  public:
    FloodMembers() {
        for (List& list : lists_) {
            list.first.fill(kNoVnic);
            list.last.fill(kNoVnic);
            list.next.fill(kNoVnic);
        }
    }

    void add(VnicId vnic, std::uint16_t vlan, bool takes_unknown) {
        lists_[kAll].add(vnic, vlan);
        if (takes_unknown)
            lists_[kUnknown].add(vnic, vlan);
    }
    void remove(VnicId vnic, std::uint16_t vlan) {
        for (List& list : lists_)
            list.remove(vnic, vlan);
    }

    /// @param group the address is a group's; else it is an unknown one  @return kNoVnic: there is none
    [[nodiscard]] VnicId first(std::uint16_t vlan, bool group) const {
        return of(group).first[vlan & kVlanMask];
    }
    [[nodiscard]] VnicId next(VnicId vnic, bool group) const { return of(group).next[vnic]; }

  private:
    enum Which : std::size_t { kAll, kUnknown, kLists };
    static constexpr std::uint16_t kVlanMask = 0x0FFF;
    struct List {
        void add(VnicId vnic, std::uint16_t vlan) {
            VnicId& end = last[vlan & kVlanMask];
            (end == kNoVnic ? first[vlan & kVlanMask] : next[end]) = vnic;
            end = vnic;
            next[vnic] = kNoVnic;
        }
        void remove(VnicId vnic, std::uint16_t vlan) {
            VnicId before = kNoVnic;
            VnicId at = first[vlan & kVlanMask];
            for (; at != kNoVnic && at != vnic; at = next[at])
                before = at;
            if (at == kNoVnic)
                return;
            (before == kNoVnic ? first[vlan & kVlanMask] : next[before]) = next[vnic];
            if (last[vlan & kVlanMask] == vnic)
                last[vlan & kVlanMask] = before;
            next[vnic] = kNoVnic;
        }
        std::array<VnicId, kVlanMask + 1> first;
        std::array<VnicId, kVlanMask + 1> last;
        std::array<VnicId, limits::kVnicsMax> next;
    };
    [[nodiscard]] const List& of(bool group) const { return lists_[group ? kAll : kUnknown]; }

    std::array<List, kLists> lists_;
};

}  // namespace weir
