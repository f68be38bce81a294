// facts.h - the cluster file's arithmetic, computed apart from the controller: resources, paths, promises.
// Units: tokens (at links: bytes) per second. Threads: tests only.
//
// The checkers judge the controller by these numbers, so none of them is taken from ctrl/daemon.
#pragma once

#include <string>
#include <vector>

#include "common/wire/records.h"
#include "test/ctrl/faults/schedule.h"

namespace weir::faults {

struct Resource {
    std::string name;
    double capacity = 0;  ///< less the headroom; of an appliance the most that it may have
};

/// One resource that a part of a flow uses.
struct Step {
    std::size_t resource = 0;
    std::size_t part = 0;
};

/// A flow, and the hosts where its ends are.
struct Route {
    std::uint32_t from = kNone;
    std::uint32_t appliance = kNone;
    std::uint32_t to = kNone;  ///< host of the peer, for flows between vNICs
};

class Facts {
  public:
    /// @param plan outlives this
    Facts(const Plan& plan, const Schedule& schedule);

    [[nodiscard]] const std::vector<Resource>& resources() const { return resources_; }
    [[nodiscard]] std::vector<Step> path_of(const Route& route) const;
    /// Of a vNIC at an appliance: its part, by weight, of the tenant's reservation.
    [[nodiscard]] double reserved_tokens(std::uint32_t vnic, std::uint32_t appliance) const;
    /// Documented floors, docs/algorithms.md 8.4: rates that a flow has at any demand.
    [[nodiscard]] double floor_tokens(std::uint32_t vnic, std::uint32_t appliance) const;
    [[nodiscard]] double floor_bytes(std::uint32_t vnic, std::uint32_t peer) const;

  private:
    [[nodiscard]] double peer_floor(std::uint32_t vnic) const;
    void set_least_vnics(const Schedule& schedule);
    void add_links(std::uint32_t from, std::uint32_t to, std::size_t part, std::vector<Step>& out) const;

    const Plan& plan_;
    std::vector<Resource> resources_;
    std::vector<std::uint32_t> rack_of_;         // by host; kNone: none
    std::vector<std::uint32_t> appliance_host_;  // by appliance; kNone: none
    std::vector<std::uint32_t> least_vnics_;     // by host: vNICs that it always has, at least 1
    std::vector<std::size_t> host_out_;          // the host's way in is the next one, as below
    std::vector<std::size_t> rack_out_;
    std::vector<std::size_t> tokens_;
    std::vector<std::size_t> link_;  // by appliance; 0 = none
};

}  // namespace weir::faults
