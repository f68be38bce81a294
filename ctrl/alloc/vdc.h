// vdc.h - allocator for virtual datacenters: local, then global, then spare capacity.
// Source: Pulsar 4.1; docs/algorithms.md 8.4
// Units: tokens in the control interval. Threads: one owner.
//
// Local: each tenant's flows share the tenant's reservations, by the tenant's own mechanism. Global: flows
// with an unmet demand share the rest of the capacities, by the provider's mechanism; flows of tenants with
// the fixed sharing rule take no part. Spare: capacity that no flow demands is given out in proportion
// to each flow's tokens so far, so that a flow whose demand grows within the interval is not held to its old
// demand.
//
// Example: a link of 100 tokens. A reserves 30 with the minimum rule, B 30 with the fixed rule; a flow of
// each wants 60. Local gives 30 to each. Global gives A's flow the 30 that it misses. The spare 10 go to A's
// flow too, because B's may never have more than 30.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "ctrl/alloc/registry.h"
#include "ctrl/alloc/share_tree.h"

namespace weir::alloc {

/// The meaning of a tenant's reservations for its flows.
enum class SharingRule : std::uint8_t {
    kFixed,    ///< all that they get
    kMinimum,  ///< the least that they get: they share the rest, up to the tenant's limits
};

struct VdcTenant {
    SharingRule sharing_rule = SharingRule::kMinimum;
    const MechanismEntry* local = find_mechanism("drf");
    double weight = 1;  ///< in the global step
};

/// One resource of a tenant's own datacenter: a vNIC's direction, or its part of an appliance.
struct VirtualResource {
    double reserved = 0;       ///< kInfinite: nothing is; it bounds flows by its limit in every step
    double limit = kInfinite;  ///< at least `reserved`, if that is finite
};

struct VdcProblem {
    const DemandMatrix& demand;             ///< of all flows on physical resources
    const DemandMatrix& inside;             ///< of the same flows on their tenants' virtual resources
    std::span<const std::uint32_t> tenant;  ///< per flow; kNone: no tenant, so nothing is reserved for it
    std::span<const double> weights;        ///< per flow, within its tenant
    std::span<const VdcTenant> tenants;
    std::span<const double> capacity;            ///< per physical resource, less the headroom
    std::span<const VirtualResource> resources;  ///< of all tenants; each belongs to one
    bool give_spare = false;
};

/// The first three hold tokens per entry of `demand`.
struct VdcAllocation {
    std::vector<double> local;
    std::vector<double> global;
    std::vector<double> spare;  ///< beyond the demand
    std::vector<double> used;   ///< per physical resource: the sum of the three
};

class VdcAllocator {
  public:
    explicit VdcAllocator(const MechanismEntry& global) : global_(global.make()) {}

    void allocate(const VdcProblem& problem, VdcAllocation& out);

  private:
    void give_local(const VdcProblem& problem, VdcAllocation& out);
    void give_local_of(const VdcProblem& problem, std::size_t mechanism);
    void fit_local(const VdcProblem& problem, VdcAllocation& out);
    void give_global(const VdcProblem& problem, VdcAllocation& out);
    void add_global_row(const VdcProblem& problem, std::uint32_t flow);
    void give_spare(const VdcProblem& problem, VdcAllocation& out);
    void open_columns(const VdcProblem& problem, bool spare, const VdcAllocation& out);

    std::unique_ptr<Mechanism> global_;
    std::array<std::unique_ptr<Mechanism>, kMechanisms.size()> local_;
    std::unique_ptr<Mechanism> drf_ = make_drf();
    std::vector<double> local_fill_;      // per flow
    std::vector<double> inside_used_;     // per virtual resource: tokens given so far
    std::vector<std::uint8_t> is_fixed_;  // per virtual resource: its tenant's sharing rule
    std::vector<double> reserved_;        // per virtual resource
    std::vector<double> part_;            // per physical resource: of the local step that fits
    std::vector<double> inside_part_;     // per virtual resource, likewise
    // The problem of one step: some of the flows; columns of the physical resources, then of those virtual
    // resources that have a bound.
    std::vector<std::uint32_t> flows_;
    DemandMatrix demand_;
    std::vector<double> weights_;
    std::vector<double> capacity_;
    std::vector<double> share_base_;
    std::vector<std::uint32_t> column_;  // per virtual resource; kNone: it has no bound
    ShareTree tree_;
    Allocation found_;
};

}  // namespace weir::alloc
