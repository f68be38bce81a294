// vnic_directory.cc - VnicDirectory: vNICs that come and go, and those whose VMs are elsewhere.
#include "vswitch/datapath/vnic/vnic_directory.h"

#include <algorithm>

#include "vswitch/datapath/frame/frame_word.h"

namespace weir {

VnicDirectory::VnicDirectory(const Setup& setup)
    : worker_(setup.worker),
      has_uplink_(setup.has_uplink),
      macs_(setup.worker, setup.mac_aging, setup.shared ? &updates_ : nullptr) {
    update_unknown();
}

void VnicDirectory::add(VnicPath& path) {
    const VnicFixed& fixed = path.fixed;
    vnics_[fixed.id] = &path;
    ids_end_ = std::max<VnicId>(ids_end_, static_cast<VnicId>(fixed.id + 1));
    if (!fixed.is_home())
        return;  // look_for_vms() finds it when it has a ring
    here_[fixed.id] = fixed.id;
    learning_ports_ += !fixed.anti_spoofing;
    if (fixed.mac != 0)
        macs_.set_static(mac_key(fixed.mac, fixed.vlan), fixed.id);
    update_unknown();
}

void VnicDirectory::remove(VnicPath& path) {
    const VnicFixed& fixed = path.fixed;
    vnics_[fixed.id] = nullptr;
    if (!fixed.is_home()) {
        if (here_[fixed.home] == fixed.id)
            go_here(fixed, fixed.home);
        macs_.forget(fixed.id);
        return;
    }
    learning_ports_ -= !fixed.anti_spoofing;
    away_count_ -= away_[fixed.id];
    away_[fixed.id] = false;
    macs_.remove(mac_key(fixed.mac, fixed.vlan));
    macs_.forget(fixed.id);
    update_unknown();
}

void VnicDirectory::note_destination(rte_mbuf* frame, Destination to) const {
    if (to < limits::kVnicsMax)
        set_destination(frame, vnics_[to]->fixed);
    else
        FrameWord{.destination = to}.write_to(frame);
}

VnicPath* VnicDirectory::addressee(const rte_mbuf* frame) const {
    const FrameWord word = FrameWord::of(frame);
    VnicPath* const to = vnics_[word.destination];
    return to != nullptr && to->fixed.generation == word.generation ? to : nullptr;
}

void VnicDirectory::on_update(const MacUpdate& update, Nanos now) {
    if (update.destination == kToUplink)
        return macs_.on_update(update, now);
    const VnicPath* const at = vnics_[update.destination];
    if (at == nullptr || at->fixed.generation != update.generation)
        return;
    MacUpdate to_here = update;
    to_here.destination = here(at->fixed);
    macs_.on_update(to_here, now);
}

void VnicDirectory::update_unknown() {
    unknown_ = has_uplink_ && learning_ports_ == 0 ? kToUplink : kToAll;
}

void VnicDirectory::look_for_vms() {
    constexpr unsigned kLooks = 16;
    const bool elsewhere = has_uplink_ || learning_ports_ != 0;
    for (unsigned i = 0; i < std::min<unsigned>(kLooks, ids_end_); ++i) {
        next_looked_at_ = static_cast<VnicId>(next_looked_at_ + 1 < ids_end_ ? next_looked_at_ + 1 : 0);
        const VnicPath* const path = vnics_[next_looked_at_];
        if (path == nullptr || !path->fixed.is_home())
            continue;
        if (path->member) [[unlikely]]
            go_here(path->fixed, best_member(*path));
        if (path->fixed.mac == 0)
            continue;
        const bool away = elsewhere && !path->fixed.port->up();
        if (away != away_[path->fixed.id])
            set_away(*path, away);
    }
}

void VnicDirectory::set_away(const VnicPath& path, bool away) {
    const VnicFixed& fixed = path.fixed;
    away_[fixed.id] = away;
    if (away)
        ++away_count_;
    else
        --away_count_;
    const MacKey key = mac_key(fixed.mac, fixed.vlan);
    if (away)
        macs_.give_away(key);
    else
        macs_.set_static(key, here_[fixed.id]);
}

/// Of a vNIC that is spread, its home given.
VnicId VnicDirectory::best_member(const VnicPath& path) const {
    for (const VnicId id : path.member->spread.all())
        if (const VnicPath* const member = vnics_[id];
            member != nullptr && member->fixed.owner == worker_ && member->fixed.port->rings() != 0)
            return id;
    return path.fixed.id;
}

void VnicDirectory::go_here(const VnicFixed& vnic, VnicId member) {
    if (here_[vnic.home] == member)
        return;
    here_[vnic.home] = member;
    if (vnic.mac != 0 && !away_[vnic.home])
        macs_.set_static(mac_key(vnic.mac, vnic.vlan), member);
}

void VnicDirectory::housekeeping(Nanos now) {
    macs_.age(now);
    look_for_vms();
}

}  // namespace weir
