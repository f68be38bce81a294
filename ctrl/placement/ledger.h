// ledger.h - what the tenants that are there need of every link, appliance and host.
// Units: tokens/s; slots are counted. Threads: one owner.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "ctrl/placement/hose.h"
#include "ctrl/placement/model.h"

namespace weir::placement {

/// A tenant's need of one constraint.
struct Need {
    Constraint constraint;
    Tokens amount = 0;
};

/// What a virtual appliance can send or receive at most: what its tenant's vNICs have.
[[nodiscard]] Tokens bandwidth_of(const Tenant& tenant, const VirtualAppliance& appliance);
[[nodiscard]] Side whole_of(const Tenant& tenant);

/// The tenant's needs in that layout, without those that are zero. What is kAnywhere is not there yet: it
/// needs nothing, but others may talk to it.
[[nodiscard]] std::vector<Need> needs_of(const Topology& topology, LinkNeed guarantee, const Tenant& tenant,
                                         const Layout& layout);

class Ledger {
  public:
    /// @param topology outlives the ledger
    Ledger(const Topology& topology, LinkNeed guarantee);

    [[nodiscard]] const Topology& topology() const { return *topology_; }
    [[nodiscard]] LinkNeed guarantee() const { return guarantee_; }
    [[nodiscard]] Tokens need(Constraint c) const { return lines_[line_of(c)].need; }
    [[nodiscard]] Tokens have(Constraint c) const { return lines_[line_of(c)].have; }
    [[nodiscard]] Tokens left(Constraint c) const {
        const Line& line = lines_[line_of(c)];
        return line.have > line.need ? line.have - line.need : 0;
    }
    /// Every constraint there is.
    [[nodiscard]] std::vector<Constraint> constraints() const;

    void add(const Tenant& tenant, const Layout& layout);
    void remove(const Tenant& tenant, const Layout& layout);

  private:
    struct Line {
        Tokens need = 0;
        Tokens have = 0;
    };

    [[nodiscard]] std::size_t line_of(Constraint c) const {
        return first_[static_cast<std::size_t>(c.kind)] + c.index;
    }

    const Topology* topology_;
    LinkNeed guarantee_;
    std::size_t first_[5] = {};  // by kind
    std::vector<Line> lines_;
};

}  // namespace weir::placement
