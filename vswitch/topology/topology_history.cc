// topology_history.cc - samples of vNICs from their workers, and the states of which changes are events.
// Units: ns. Threads: the agent's; the worker fills samples between a command and its end.
#include <algorithm>

#include "common/unix_clock.h"
#include "vswitch/topology/topology.h"

namespace weir {

/// On a stepped clock Unix time stands still, too.
SwitchControl::Moment Topology::moment() const {
    const Nanos now = this->now();
    return {.now = now, .unix_now = eal_.clock() == nullptr ? unix_clock_ns() : unix_origin_ + now};
}

void Topology::begin_history(VnicId id) {
    Vnic& vnic = *vnics_[id];
    vnic.track = &history_->begin(vnic.config.name, now());
    samplings_[vnic.path->fixed.owner]->vnics.push_back(id);
    for (const Member& member : vnic.members)
        samplings_[member.path->fixed.owner]->vnics.push_back(member.path->fixed.id);
}

/// Before a worker has the command to remove the vNIC: later samples are without it.
void Topology::end_history(VnicId id) {
    Vnic& vnic = *vnics_[id];
    if (vnic.track == nullptr)
        return;
    vnic.track = nullptr;
    std::erase(samplings_[vnic.path->fixed.owner]->vnics, id);
    for (const Member& member : vnic.members)
        std::erase(samplings_[member.path->fixed.owner]->vnics, member.path->fixed.id);
    history_->end(vnic.config.name, now());
}

/// A report on DPDK's telemetry thread may wait for a worker: then the samples come late.
void Topology::sample() {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock())
        return;
    for (const auto& worker : workers_) {
        take_samples(worker->id());
        ask_samples(worker->id());
    }
    if (stepped_.size() > 1)  // the first one's turns move the clock while another would read it
        take_all_samples();
}

void Topology::finish_sample() {
    const std::scoped_lock lock(mutex_);
    take_all_samples();
}

/// A worker that takes longer, because other programs use its core, gives its samples later.
void Topology::take_all_samples() {
    constexpr Nanos kPatience = kNanosPerSec;
    for (const auto& worker : workers_) {
        quiescence_.wakeups(worker->id()).ring();
        (void)worker->control().wait(samplings_[worker->id()]->command, kPatience);
        take_samples(worker->id());
    }
}

/// Names the next vNICs in turn. While the worker has not done the last command, or takes no further one, it
/// gets none.
void Topology::ask_samples(WorkerId worker) {
    Sampling& sampling = *samplings_[worker];
    if (sampling.command != 0 || sampling.vnics.empty())
        return;
    VnicSamples& samples = sampling.samples;
    samples.count = std::min(sampling.vnics.size(), VnicSamples::kMax);
    for (std::size_t i = 0; i < samples.count; ++i) {
        const VnicId id = sampling.vnics[(sampling.next + i) % sampling.vnics.size()];
        samples.vnics[i].id = id;
        samples.vnics[i].generation = generations_[id];
    }
    sampling.command = workers_[worker]->control().leave(command::SampleVnics{&samples});
    if (sampling.command != 0)
        sampling.next = (sampling.next + samples.count) % sampling.vnics.size();
}

void Topology::take_samples(WorkerId worker) {
    Sampling& sampling = *samplings_[worker];
    if (sampling.command == 0 || !workers_[worker]->control().is_done(sampling.command))
        return;
    sampling.command = 0;
    for (const VnicSample& sample : std::span(sampling.samples.vnics).first(sampling.samples.count)) {
        Vnic* const vnic = vnic_of(sample.id);
        const bool is_its = vnic != nullptr && generations_[sample.id] == sample.generation;
        if (is_its && vnic->track != nullptr && !keep_sample(*vnic, sample))
            history_->add(*vnic->track, with_members(*vnic, sample), sampling.samples.at);
    }
}

void Topology::note_states(Nanos now) {
    for (const auto& vnic : vnics_) {
        if (!vnic || vnic->port->up() == vnic->was_up)
            continue;
        vnic->was_up = !vnic->was_up;
        history_->events.add_of_vnic(now, vnic->config.name,
                                     vnic->was_up ? EventKind::kUp : EventKind::kDown);
    }
}

/// After take_snapshots().
void Topology::note_drops(Nanos now) {
    for (const auto& vnic : vnics_)
        if (vnic && vnic->track != nullptr)
            history_->note_drops(*vnic->track, vnic->snapshot, now);
}

}  // namespace weir
