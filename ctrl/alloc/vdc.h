// vdc.h - virtual datacenters (Pulsar 4.1): each tenant's flows share what the tenant has reserved by the
// tenant's own mechanism (local), then flows that want more share what is left by the provider's (global);
// tenants with fixed guarantees take no part in that. What nobody wants yet may be given out in proportion to
// what each has, so that a flow whose demand grows is not held to what it used before. Units: tokens in the
// interval. Threads: one owner.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "ctrl/alloc/registry.h"

namespace weir::alloc {

/// What a tenant's reservations are to its flows.
enum class SharingRule : std::uint8_t {
    kFixed,    ///< all that they get
    kMinimum,  ///< the least that they get: they share what is left, up to the tenant's limits
};

struct VdcTenant {
    SharingRule sharing_rule = SharingRule::kMinimum;
    const MechanismEntry* local = find_mechanism("drf");
    double weight = 1;  ///< in the global step
};

/// One resource of a tenant's own datacenter: a vNIC's direction, or its part of an appliance.
struct VirtualResource {
    double reserved = 0;
    double limit = kInfinite;  ///< at least `reserved`
};

struct VdcProblem {
    const DemandMatrix& demand;             ///< on physical resources
    const DemandMatrix& inside;             ///< the same flows on their tenants' virtual resources
    std::span<const std::uint32_t> tenant;  ///< per flow; kNone: nothing is reserved for it
    std::span<const double> weights;        ///< per flow, within its tenant
    std::span<const VdcTenant> tenants;
    std::span<const double> capacity;  ///< physical, less the headroom
    std::span<const VirtualResource> resources;
    bool give_spare = false;
};

/// Tokens per entry of `demand`.
struct VdcAllocation {
    std::vector<double> local;
    std::vector<double> global;
    std::vector<double> spare;  ///< beyond what is wanted
    std::vector<double> used;   ///< per physical resource, all three together
};

class VdcAllocator {
  public:
    explicit VdcAllocator(const MechanismEntry& global) : global_(global.make()) {}

    void allocate(const VdcProblem& problem, VdcAllocation& out);

  private:
    void give_local(const VdcProblem& problem, VdcAllocation& out);
    void give_local_by(const VdcProblem& problem, std::size_t mechanism);
    void give_global(const VdcProblem& problem, VdcAllocation& out);
    void put_global_row(const VdcProblem& problem, std::uint32_t flow);
    void give_spare(const VdcProblem& problem, VdcAllocation& out);
    void open_columns(const VdcProblem& problem, bool spare, const VdcAllocation& out);
    [[nodiscard]] double bound_of(const VdcProblem& problem, std::uint32_t resource, bool spare) const;

    std::unique_ptr<Mechanism> global_;
    std::array<std::unique_ptr<Mechanism>, kMechanisms.size()> local_;
    std::unique_ptr<Mechanism> drf_ = make_drf();
    std::vector<double> local_fill_;      // per flow
    std::vector<double> inside_used_;     // per virtual resource, by all that was given so far
    std::vector<std::uint8_t> is_fixed_;  // per virtual resource
    std::vector<double> reserved_;
    // One step's problem: some of the flows, physical columns, then those of virtual resources that bound it.
    std::vector<std::uint32_t> flows_;
    DemandMatrix demand_;
    std::vector<double> weights_;
    std::vector<double> capacity_;
    std::vector<double> share_base_;
    std::vector<std::uint32_t> column_;  // per virtual resource; kNone: it bounds nothing
    ShareTree tree_;
    Allocation found_;
};

/// What a vNIC may use for flows that the controller does not know yet: its part of the headroom.
[[nodiscard]] inline double default_rate(double capacity, double headroom, std::uint32_t vnics) {
    return vnics == 0 ? 0 : capacity * headroom / vnics;
}

}  // namespace weir::alloc
