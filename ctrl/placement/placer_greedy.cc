// placer_greedy.cc - greedy placement of one tenant: the smallest part of the tree that takes it.
// Source: Hadrian (NSDI'13) 4.2; docs/algorithms.md 10.2
//
// One host, else one rack, else all hosts in turn. Each host gets the most vNICs, largest first, that its
// link takes if no more come; that may be more than a number that does not fit, because the hose need falls
// again when most of the tenant is behind one link.
#include <algorithm>

#include "ctrl/placement/attempt.h"

namespace weir::placement {
namespace {

using Indices = std::vector<std::uint32_t>;

/// Whether `a` explains better than `b`: a link or encryption rather than slots, then the one that is
/// exceeded less.
bool is_nearer(const Shortfall& a, const Shortfall& b) {
    const bool a_slots = a.constraint.kind == ConstraintKind::kSlots;
    const bool b_slots = b.constraint.kind == ConstraintKind::kSlots;
    if (a_slots != b_slots)
        return b_slots;
    const auto over = [](const Shortfall& s) {
        return static_cast<double>(s.need) / static_cast<double>(std::max<Tokens>(s.have, 1));
    };
    return over(a) < over(b);
}

class Greedy {
  public:
    explicit Greedy(Attempt& attempt) : attempt_(attempt), topology_(attempt.topology()) {
        by_rack_.resize(topology_.racks.size() + 1);
        for (std::uint32_t h = 0; h < topology_.hosts.size(); ++h) {
            const std::uint32_t rack = topology_.hosts[h].rack;
            by_rack_[rack == kAnywhere ? topology_.racks.size() : rack].push_back(h);
        }
    }

    std::optional<Shortfall> run() {
        if (auto missing = put_appliances())
            return missing;
        open_ = attempt_.put_fixed_vnics();
        if (open_.empty() || put_in_one_host() || put_in_one_rack())
            return attempt_.shortfall();
        put_in_all();
        return open_.empty() ? attempt_.shortfall() : nearest_shortfall();
    }

  private:
    /// Each virtual appliance goes to the appliance of its type with the most tokens left.
    std::optional<Shortfall> put_appliances() {
        for (std::uint32_t v = 0; v < attempt_.tenant().appliances.size(); ++v) {
            std::optional<std::uint32_t> best;
            std::optional<Shortfall> reason;
            for (std::uint32_t a = 0; a < topology_.appliances.size(); ++a) {
                if (!attempt_.serves(v, a))
                    continue;
                const std::optional<Shortfall> missing = attempt_.appliance_shortfall(v, a);
                if (!missing && (!best || attempt_.tokens_left(a) > attempt_.tokens_left(*best)))
                    best = a;
                if (missing && (!reason || is_nearer(*missing, *reason)))
                    reason = missing;
            }
            if (!best)
                return reason ? reason
                              : Shortfall{.part = Shortfall::Part::kAppliance, .index = v, .nowhere = true};
            attempt_.put_appliance(v, *best);
        }
        return std::nullopt;
    }

    void put_all(std::uint32_t host) {
        for (const std::uint32_t vnic : open_)
            attempt_.put_vnic(vnic, host);
        open_.clear();
    }

    bool put_in_one_host() {
        const Side all = sum(open_);
        for (std::uint32_t h = 0; h < topology_.hosts.size(); ++h) {
            if (attempt_.slots_left(h) < open_.size() || attempt_.encryption_left(h) < encryption(open_) ||
                !attempt_.host_fits(h, all) || !attempt_.rack_fits(topology_.hosts[h].rack, all))
                continue;
            put_all(h);
            return true;
        }
        return false;
    }

    bool put_in_one_rack() {
        const Side all = sum(open_);
        for (std::uint32_t r = 0; r < topology_.racks.size(); ++r) {
            std::uint64_t slots = 0;
            for (const std::uint32_t h : by_rack_[r])
                slots += attempt_.slots_left(h);
            if (slots < open_.size() || !attempt_.rack_fits(r, all))
                continue;
            const Indices before = open_;
            Indices put;
            for (const std::uint32_t h : by_rack_[r])
                fill(h, put);
            if (open_.empty())
                return true;
            for (const std::uint32_t vnic : put)
                attempt_.remove_vnic(vnic);
            open_ = before;
        }
        return false;
    }

    void put_in_all() {
        for (std::size_t r = 0; r < by_rack_.size() && !open_.empty(); ++r) {
            Indices put;
            for (const std::uint32_t h : by_rack_[r])
                fill(h, put);
            // The vNICs that exceed the rack's link are removed, the last first.
            while (r < topology_.racks.size() && !put.empty() &&
                   !attempt_.rack_fits(static_cast<std::uint32_t>(r))) {
                attempt_.remove_vnic(put.back());
                put.pop_back();
            }
            open_ = attempt_.open_vnics();
        }
    }

    /// Puts the most of the largest vNICs that fit together, then each of the others that also fits.
    void fill(std::uint32_t host, Indices& put) {
        const std::uint64_t slots = std::min<std::uint64_t>(attempt_.slots_left(host), open_.size());
        std::size_t together_most = 0;
        Side together;
        Tokens encrypted = 0;
        for (std::size_t n = 1; n <= slots; ++n) {
            together.vnics += reservation(open_[n - 1]);
            encrypted += attempt_.tenant().vnics[open_[n - 1]].encryption;
            if (encrypted > attempt_.encryption_left(host))
                break;
            if (attempt_.host_fits(host, together))
                together_most = n;
        }
        Indices rest;
        for (std::size_t i = 0; i < open_.size(); ++i) {
            const bool fits =
                i < together_most || (attempt_.slots_left(host) != 0 && attempt_.encrypts(open_[i], host) &&
                                      attempt_.host_fits(host, {.vnics = reservation(open_[i])}));
            if (!fits) {
                rest.push_back(open_[i]);
                continue;
            }
            attempt_.put_vnic(open_[i], host);
            put.push_back(open_[i]);
        }
        open_ = std::move(rest);
    }

    [[nodiscard]] std::optional<Shortfall> nearest_shortfall() const {
        std::optional<Shortfall> reason;
        for (std::uint32_t h = 0; h < topology_.hosts.size(); ++h) {
            const std::optional<Shortfall> missing = attempt_.vnic_shortfall(open_.front(), h);
            if (missing && (!reason || is_nearer(*missing, *reason)))
                reason = missing;
        }
        return reason ? reason : Shortfall{.index = open_.front(), .nowhere = true};
    }

    [[nodiscard]] Tokens reservation(std::uint32_t vnic) const {
        return attempt_.tenant().vnics[vnic].reservation;
    }
    [[nodiscard]] Tokens encryption(const Indices& vnics) const {
        Tokens tokens = 0;
        for (const std::uint32_t vnic : vnics)
            tokens += attempt_.tenant().vnics[vnic].encryption;
        return tokens;
    }
    [[nodiscard]] Side sum(const Indices& vnics) const {
        Side side;
        for (const std::uint32_t vnic : vnics)
            side.vnics += reservation(vnic);
        return side;
    }

    Attempt& attempt_;
    const Topology& topology_;
    std::vector<Indices> by_rack_;  // hosts by rack; those without one are last
    Indices open_;                  // vNICs without a host, the largest first
};

}  // namespace

std::optional<Shortfall> place_greedily(Attempt& attempt) {
    return Greedy(attempt).run();
}

}  // namespace weir::placement
