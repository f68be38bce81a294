// topology_vnics.cc - vNICs are added, changed and removed while the workers forward.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <optional>

#include "common/error.h"
#include "common/units.h"
#include "vswitch/topology/topology.h"

namespace weir {
namespace {

Promise promise_of(const VnicConfig& config, Accounting accounting) {
    const std::uint64_t reserved_bps = uplink_reservation_bps(config, accounting);
    const GuaranteeKind usual = reserved_bps != 0 ? GuaranteeKind::kStrict : GuaranteeKind::kFairness;
    const bool dynamic = config.guarantee == GuaranteeKind::kDynamic;
    return {.kind = config.guarantee.value_or(usual),
            .rate = (dynamic ? config.reservation_bps : reserved_bps) / kBitsPerByte,
            .size = config.size_bytes,
            .time = config.time};
}

/// Copy of the vNIC's configuration with the guarantee's current rate filled in.
VnicConfig with_current_guarantee(const VnicConfig& config, const GuaranteeMeter& meter) {
    VnicConfig now = config;
    if (config.guarantee != GuaranteeKind::kDynamic)
        return now;
    now.guarantee = meter.rate() == 0 ? GuaranteeKind::kFairness : meter.kind();
    now.reservation_bps = std::min(meter.rate() * kBitsPerByte, config.limit_bps.value_or(UINT64_MAX));
    return now;
}

}  // namespace

VnicId Topology::find(const std::string& name) const {
    for (VnicId id = 0; id < vnics_.size(); ++id)
        if (vnics_[id] && vnics_[id]->config.name == name)
            return id;
    throw HostError("there is no vNIC " + name);
}

SwitchConfig Topology::config() const {
    const std::scoped_lock lock(mutex_);
    SwitchConfig whole = config_;
    for (const auto& vnic : vnics_)
        if (vnic)
            whole.vnics.push_back(vnic->config);
    return whole;
}

void Topology::add_vnic(const VnicConfig& vnic) {
    const std::scoped_lock lock(mutex_);
    add(vnic);
    removed_.erase(vnic.name);
    spdlog::info("vNIC {} added", vnic.name);
    history_->events.add_of_vnic(now(), vnic.name, EventKind::kAdded);
}

void Topology::change_vnic(const VnicConfig& changed) {
    const std::scoped_lock lock(mutex_);
    const VnicId id = find(changed.name);
    Vnic& vnic = *vnics_[id];
    if (changed.worker)
        move(id, *changed.worker, kLeaveMax);
    take_snapshots();
    change_guarantee(vnic, changed);
    (void)post_profile(id, changed);
    await_owner(vnic);
    vnic.config = changed;
    name_differences(vnic);
    spdlog::info("vNIC {} changed", changed.name);
    history_->events.add_of_vnic(now(), changed.name, EventKind::kChanged);
}

void Topology::change_guarantee(Vnic& vnic, const VnicConfig& file) {
    const DirectionStats& from_vm = vnic.snapshot.from_vm;
    record_usage(vnic,
                 vnic.guarantee->change(promise_of(in_force(file), config_.accounting),
                                        from_vm.delivered.bytes, now(), from_vm.queued.packets != 0),
                 true);
}

void Topology::remove_vnic(const std::string& name) {
    const std::scoped_lock lock(mutex_);
    const VnicId id = find(name);
    take_snapshots();
    Vnic& vnic = *vnics_[id];
    const DirectionStats& from_vm = vnic.snapshot.from_vm;
    record_usage(
        vnic, vnic.guarantee->end_period(from_vm.delivered.bytes, now(), from_vm.queued.packets != 0), true);
    forget_removed();
    removed_[name] = {vnic.config, now()};
    left_[name] = learned_of(vnic);
    remove(id);
    spdlog::info("vNIC {} removed", name);
    history_->events.add_of_vnic(now(), name, EventKind::kRemoved);
}

void Topology::forget_removed() {
    std::erase_if(removed_, [&](const auto& each) { return now() - each.second.at >= kVnicAbsenceMax; });
}

std::vector<VnicConfig> Topology::recently_removed() {
    const std::scoped_lock lock(mutex_);
    forget_removed();
    std::vector<VnicConfig> vnics;
    for (const auto& [name, removed] : removed_)
        vnics.push_back(removed.config);
    return vnics;
}

/// The worker with the fewest vNICs that has a service flow for each of the vNIC's appliances; the configured
/// one if there is one.
WorkerId Topology::pick_worker(const VnicConfig& config) const {
    struct Load {
        std::size_t vnics = 0;
        std::size_t flows = 0;
    };
    std::vector<Load> loads(workers_.size());
    for (const auto& vnic : vnics_) {
        if (!vnic)
            continue;
        for (std::size_t n = 0; n <= vnic->members.size(); ++n)
            ++loads[worker_of_member(vnic->path->fixed.owner, n)].vnics;
        loads[vnic->path->fixed.owner].flows += vnic->config.appliances.size();
    }
    std::optional<WorkerId> best;
    for (WorkerId id = 0; id < loads.size(); ++id)
        if ((!config.worker || *config.worker == id) &&
            loads[id].flows + config.appliances.size() <= limits::kRequestFlowsMax &&
            (!best || loads[id].vnics < loads[*best].vnics))
            best = id;
    if (!best)
        throw HostError("vNIC " + config.name + " has " + std::to_string(config.appliances.size()) +
                        " appliances; " +
                        (config.worker ? "worker " + std::to_string(*config.worker) : "every worker") +
                        " has fewer service flows left of " + std::to_string(limits::kRequestFlowsMax) +
                        "; give vNICs fewer appliances, or the switch more workers");
    return *best;
}

std::unique_ptr<Topology::Vnic> Topology::make_vnic(const VnicConfig& config, std::span<const VnicId> ids,
                                                    WorkerId owner) {
    auto vnic = std::make_unique<Vnic>();
    vnic->config = config;
    vnic->requests.reserve(limits::kAppliancesPerVnic);  // the worker fills it and must not allocate
    if (config.device.empty()) {
        std::vector<VhostPort::Server> servers;
        for (std::size_t n = 0; n < ids.size(); ++n)
            servers.push_back(server_of(worker_of_member(owner, n)));
        vnic->vhost = std::make_unique<VhostPort>(config.queues, servers,
                                                  ring_places_file(config_.control_socket, config.name));
        vnic->port = &vnic->vhost->rings();
    } else {
        const NicSettings settings{.device = config.device,
                                   .descriptors = static_cast<std::uint16_t>(config_.uplink.descriptors),
                                   .mtu = config.mtu != 0 ? config.mtu : config_.uplink.mtu,
                                   .owner = "vNIC " + config.name,
                                   .interrupts = config_.poll == PollMode::kAdaptive};
        vnic->device = std::make_unique<NicDevice>(settings, eal_.pools().of(owner));
        vnic->queue = std::make_unique<NicPort>(*vnic->device, std::uint16_t{0}, wakeups_of(owner));
        vnic->port = vnic->queue.get();
    }
    vnic->rates.requests = rates_of(config.name).requests;
    if (const auto refused = refusals_.find(config.name); refused != refusals_.end())
        vnic->refusal = refused->second;
    vnic->guarantee.emplace(promise_of(in_force(config), config_.accounting), 0, now());
    VnicFixed fixed = make_fixed(ids[0], owner, vnic->port, config, config_, generations_[ids[0]]);
    fixed.tenant = tenant_slot(config.tenant);
    if (config.spread)
        vnic->spread = std::make_unique<Spread>(ids, config_.uplink.capacity_bps() / kBitsPerByte);
    vnic->path = std::make_unique<VnicPath>(fixed, profile_of(config, *vnic), config_.flood_limit_pps, now(),
                                            vnic->spread.get());
    make_members(*vnic, ids);
    return vnic;
}

TenantSlot Topology::tenant_slot(const std::string& tenant) {
    const auto slot = static_cast<std::size_t>(std::ranges::find(tenants_, tenant) - tenants_.begin());
    if (slot == tenants_.size() && slot + 1 < limits::kTenantsMax)
        tenants_.push_back(tenant);
    return static_cast<TenantSlot>(slot < tenants_.size() ? slot : limits::kTenantsMax - 1);
}

/// All workers have the vNIC before its rings can appear.
void Topology::add(const VnicConfig& config) {
    const std::vector<VnicId> ids = free_ids(config.members);
    const VnicId id = ids.front();
    const WorkerId owner = pick_worker(config);
    vnics_[id] = make_vnic(config, ids, owner);
    Vnic& vnic = *vnics_[id];
    restore_learned(vnic);
    run_on_all(command::AddVnic{vnic.path.get()});
    for (const Member& member : vnic.members)
        run_on_all(command::AddVnic{member.path.get()});
    try {
        if (vnic.vhost)
            vhost_->add(config, *vnic.vhost);
    } catch (...) {
        remove(id);
        throw;
    }
    left_.erase(config.name);
    begin_history(id);
    name_differences(vnic);
    if (!steering_)
        vnic.steering = {false, "there is no uplink"};
    else if (config.spread)
        vnic.steering = {false, "several workers poll it, and each takes its flows from its own queue"};
    else
        vnic.steering = steering_->add(id, config, owner);
}

void Topology::remove(VnicId id) {
    Vnic& vnic = *vnics_[id];
    end_history(id);
    if (vnic.vhost)
        vhost_->remove(vnic.config.socket);
    if (steering_)
        steering_->remove(id);
    remove_members(vnic);
    run_on_all(command::RemoveVnic{id});
    end_captures_of(id);
    vnics_[id].reset();
    free_generation(id);
}

/// The next vNIC with this id is another one.
void Topology::free_generation(VnicId id) {
    constexpr VnicGeneration kMask = (1U << kVnicGenerationBits) - 1;
    generations_[id] = (generations_[id] + 1) & kMask;
}

VnicProfile Topology::profile_of(const VnicConfig& config, const Vnic& vnic) const {
    VnicConfig bounded = with_current_guarantee(in_force(config), *vnic.guarantee);
    bound_by_controller(bounded, vnic.rates);
    return make_member_profile(
        vnic.refusal.why.empty()
            ? make_vnic_profile(bounded, config_)
            : make_refused_profile(bounded, config_, service_of(vnic.refusal, config_.controller)),
        config.members);
}

std::uint64_t Topology::post_profile(VnicId id, const VnicConfig& config) {
    Vnic& vnic = *vnics_[id];
    vnic.profile_due = true;
    await_owner(vnic);
    vnic.profile = profile_of(config, vnic);
    const std::uint64_t number = post_to_owner(vnic, command::ChangeVnic{id, &vnic.profile});
    post_to_members(vnic, [&vnic](const Member& member) {
        return command::ChangeVnic{member.path->fixed.id, &vnic.profile};
    });
    vnic.profile_due = false;
    return number;
}

void Topology::post_due_profiles() {
    run_on_owners([this](VnicId id, Vnic& vnic) -> std::uint64_t {
        return vnic.profile_due ? post_profile(id, vnic.config) : 0;
    });
}

}  // namespace weir
