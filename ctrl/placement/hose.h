// hose.h - the most that a tenant can send through a link: a maximum flow, written as its minimum cut.
// Source: Hadrian (NSDI'13) 4.1: source -> ends on this side (each with its reservation) -> ends on the other
// side that they may talk to -> sink. vNICs talk to vNICs and appliances, appliances to vNICs only. With
// vNICs I and appliances a on this side, O and b on the other, there are four cuts:
//     I + a (all sources)    O + b (all sinks)    I + O (the vNICs of both sides)    a + b + O (never the
//     least)
// Units: tokens/s. Threads: any (pure).
#pragma once

#include <algorithm>

#include "ctrl/placement/model.h"

namespace weir::placement {

/// What a tenant has reserved on one side of a link.
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

/// The same in both directions, because a reservation is.
[[nodiscard]] inline Tokens need_of(LinkNeed guarantee, const Side& inside, const Side& whole) {
    if (guarantee == LinkNeed::kSum)
        return inside.sum();
    const Side outside = whole - inside;
    return std::min({inside.sum(), outside.sum(), inside.vnics + outside.vnics});
}

}  // namespace weir::placement
