// topology_spread.cc - vNICs whose queue pairs several workers poll: their members, and sums over these.
// Source: docs/algorithms.md 3.17. Units: ns.
#include <algorithm>

#include "common/error.h"
#include "vswitch/topology/topology.h"

namespace weir {

/// Ids of the vNIC's members, home first.
std::vector<VnicId> Topology::free_ids(std::size_t count) const {
    std::vector<VnicId> ids;
    for (VnicId id = 0; id < vnics_.size() && ids.size() < count; ++id)
        if (!vnics_[id] && homes_[id] == kNoVnic)
            ids.push_back(id);
    if (ids.size() < count)
        throw HostError("the switch has " + std::to_string(limits::kVnicsMax) +
                        " vNICs, its maximum, with one for each worker of those that are spread; remove one "
                        "first");
    return ids;
}

/// The vNIC with this id, or of which this is a member; null: there is none.
Topology::Vnic* Topology::vnic_of(VnicId id) {
    return id >= vnics_.size() ? nullptr : vnics_[homes_[id] == kNoVnic ? id : homes_[id]].get();
}

/// Member `n` of a vNIC with this home is on this worker.
WorkerId Topology::worker_of_member(WorkerId home, std::size_t n) const {
    return static_cast<WorkerId>((home + n) % workers_.size());
}

/// The vNIC has its home. Not known to any worker yet.
void Topology::make_members(Vnic& vnic, std::span<const VnicId> ids) {
    const VnicFixed& home = vnic.path->fixed;
    for (std::size_t n = 1; n < ids.size(); ++n) {
        const VnicFixed fixed = make_member(home, ids[n], worker_of_member(home.owner, n),
                                            &vnic.vhost->rings(n), generations_[ids[n]]);
        vnic.members.push_back(
            {.path = std::make_unique<VnicPath>(fixed, vnic.path->profile, config_.flood_limit_pps, now(),
                                                vnic.spread.get(), n)});
        homes_[ids[n]] = home.id;
    }
}

void Topology::remove_members(Vnic& vnic) {
    for (; !vnic.members.empty(); vnic.members.pop_back()) {
        const VnicId id = vnic.members.back().path->fixed.id;
        run_on_all(command::RemoveVnic{id});
        homes_[id] = kNoVnic;
        free_generation(id);
    }
}

/// Hands a command to each member but the home.
void Topology::post_to_members(Vnic& vnic, const std::function<WorkerCommand(Member&)>& command_for) {
    for (Member& member : vnic.members)
        member.last_command = post(member.path->fixed.owner, command_for(member));
}

void Topology::await_members(const Vnic& vnic) {
    for (const Member& member : vnic.members)
        await(member.path->fixed.owner, member.last_command);
}

/// Adds the members' counters to the home's, which have just been read.
void Topology::add_members(Vnic& vnic) {
    await_members(vnic);
    for (const Member& member : vnic.members) {
        vnic.snapshot.VnicStats::add(member.snapshot);
        vnic.snapshot.cluster_bytes += member.snapshot.cluster_bytes;
    }
}

/// The member's is kept for the next one of its home.
bool Topology::keep_sample(Vnic& vnic, const VnicSample& sample) {
    const auto found = std::ranges::find_if(
        vnic.members, [&](const Member& member) { return member.path->fixed.id == sample.id; });
    if (found == vnic.members.end())
        return false;
    found->sample = sample;
    return true;
}

VnicSample Topology::with_members(const Vnic& vnic, VnicSample sample) {
    for (const Member& member : vnic.members) {
        sample.sent_bytes += member.sample.sent_bytes;
        sample.received_bytes += member.sample.received_bytes;
        sample.dropped += member.sample.dropped;
        for (std::size_t reason = 0; reason < kHoldReasons; ++reason)
            sample.held[reason] = std::max(sample.held[reason], member.sample.held[reason]);
        sample.queue_delay = std::max(sample.queue_delay, member.sample.queue_delay);
    }
    return sample;
}

}  // namespace weir
