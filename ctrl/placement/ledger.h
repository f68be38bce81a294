// ledger.h - needs of placed tenants at every link, appliance and host.
// Source: Hadrian (NSDI'13) 4.1; EyeQ 3.5; docs/algorithms.md 10.1
// Units: tokens/s; slots are counted. Threads: one owner.
//
// The hose need of a link is a maximum flow, from the ends on one side, each with its reservation, to the
// ends on the other. vNICs talk to vNICs and appliances, appliances to vNICs only. With vNICs I and
// appliances a on one side, O and b on the other, it is the least of three cuts: I + a (all sources), O + b
// (all sinks), and I + O (the vNICs of both sides). A fourth cut, a + b + O, is never the least.
//
// Example: ten vNICs with a reservation of 1 each. With two of them behind a link it needs 2, with five 5,
// with eight 2, because the eight can talk to two others only.
//
// vNICs that are on no host yet count as outside of every link. For three of the ten the link needs 3, while
// the others may come to the other side; but it is enough to have 2 of it where eight are to come: then the
// three talk to at most two others now, and to two others when all are there. least_need() is this amount.
#pragma once

#include <algorithm>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ctrl/placement/model.h"

namespace weir::placement {

/// A tenant's reservations on one side of a link.
struct Side {
    Tokens vnics = 0;
    Tokens appliances = 0;

    Side& operator+=(const Side& other) {
        vnics += other.vnics;
        appliances += other.appliances;
        return *this;
    }
    Side& operator-=(const Side& other) {
        vnics -= other.vnics;
        appliances -= other.appliances;
        return *this;
    }
    friend Side operator+(Side a, const Side& b) { return a += b; }
    friend Side operator-(Side a, const Side& b) { return a -= b; }
    [[nodiscard]] Tokens sum() const { return vnics + appliances; }
};

/// Need of a link with `inside` of the tenant behind it; equal in both directions, as reservations are.
[[nodiscard]] inline Tokens need_of(LinkNeed link_need, const Side& inside, const Side& whole) {
    if (link_need == LinkNeed::kSum)
        return inside.sum();
    const Side outside = whole - inside;
    return std::min({inside.sum(), outside.sum(), inside.vnics + outside.vnics});
}

/// A tenant's need of one constraint.
struct Need {
    Constraint constraint;
    Tokens amount = 0;
};

/// The most that a virtual appliance can send or receive: at most the sum of its tenant's vNICs'
/// reservations.
[[nodiscard]] Tokens bandwidth_of(const Tenant& tenant, const VirtualAppliance& appliance);
[[nodiscard]] Side whole_of(const Tenant& tenant);
/// The rack whose uplink the appliance is behind, or kAnywhere.
[[nodiscard]] std::uint32_t rack_of(const Topology& topology, const Appliance& appliance);

/// The tenant's needs above zero in that layout, in the order of constraints. A part at kAnywhere is not
/// placed yet: it needs nothing, and others may talk to it.
[[nodiscard]] std::vector<Need> needs_of(const Topology& topology, LinkNeed link_need, const Tenant& tenant,
                                         const Layout& layout);

/// A tenant in a ledger, with its side of each constraint: moving a vNIC then costs the same in a tenant of
/// 20,000 vNICs as in one of two.
class PlacedTenant {
  public:
    [[nodiscard]] const Tenant& tenant() const { return *tenant_; }
    [[nodiscard]] const Layout& layout() const { return layout_; }

  private:
    friend class Ledger;
    PlacedTenant(const Tenant& tenant, Layout layout)
        : tenant_(&tenant), whole_(whole_of(tenant)), layout_(std::move(layout)) {}

    const Tenant* tenant_;
    Side whole_;                // the same wherever its parts are
    Side open_;                 // of these, vNICs that are on no host
    std::uint32_t number_ = 0;  // of Ledger::put
    Layout layout_;
    std::unordered_map<std::size_t, Side> inside_;  // by line of the ledger
};

class Ledger {
  public:
    /// @param topology outlives the ledger
    Ledger(const Topology& topology, LinkNeed link_need);

    [[nodiscard]] const Topology& topology() const { return *topology_; }
    [[nodiscard]] LinkNeed link_need() const { return link_need_; }
    [[nodiscard]] Tokens need(Constraint c) const { return lines_[line_of(c)].need; }
    [[nodiscard]] Tokens have(Constraint c) const { return lines_[line_of(c)].have; }
    /// The need that is certain: for each tenant the least over all places to which its vNICs that are on no
    /// host may come. @param c a link @param placed all results of put(), in their order
    [[nodiscard]] Tokens least_need(Constraint c, std::span<const PlacedTenant> placed) const;
    /// Links with a part of the tenant behind them whose need() exceeds their capacity.
    [[nodiscard]] std::vector<Constraint> exceeded_links(const PlacedTenant& placed) const;
    [[nodiscard]] Tokens left(Constraint c) const {
        const Line& line = lines_[line_of(c)];
        return line.have > line.need ? line.have - line.need : 0;
    }

    /// Another capacity than the topology's.
    void set_have(Constraint c, Tokens have) {
        lines_[line_of(c)].have = have;
        note_exceeded(line_of(c));
    }
    void add(const Tenant& tenant, const Layout& layout);
    void remove(const Tenant& tenant, const Layout& layout);

    /// Adds a tenant whose vNICs will move. @param tenant outlives the result
    [[nodiscard]] PlacedTenant put(const Tenant& tenant, Layout layout);
    /// Moves one vNIC of the tenant; its others are not looked at. @param host kAnywhere: to no host
    void move(PlacedTenant& placed, std::uint32_t vnic, std::uint32_t host);

  private:
    struct Line {
        Tokens need = 0;
        Tokens have = 0;
        std::vector<std::uint32_t> tenants{};  // of put(), with a part behind it
    };

    void count_vnic(PlacedTenant& placed, std::uint32_t vnic, std::uint32_t host, bool in);
    void count(PlacedTenant& placed, Constraint c, const Side& side, bool in);
    void note_exceeded(std::size_t line);

    [[nodiscard]] std::size_t line_of(Constraint c) const {
        return first_[static_cast<std::size_t>(c.kind)] + c.index;
    }

    const Topology* topology_;
    LinkNeed link_need_;
    std::size_t first_[6] = {};  // by kind
    std::vector<Line> lines_;
    std::set<std::size_t> exceeded_;  // links whose need exceeds their capacity
    std::uint32_t tenants_ = 0;       // that put() added
};

}  // namespace weir::placement
