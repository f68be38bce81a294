// random_switches_test.cc - random switches, whose VMs, wire and operator act at random: the sums hold,
// flows keep their order, no frame goes astray, every buffer comes back.
//
// By hand: WEIR_SEEDS=N for more seeds, WEIR_SEED=K for one.
#include <cstdlib>
#include <optional>
#include <string>

#include "test/support/catch.h"
#include "test/support/sanitized.h"
#include "test/vswitch/datapath/loop/random_run.h"

using namespace weir;
using namespace weir::testing;

namespace {

constexpr unsigned kRandomSteps = 150;

std::uint32_t number_from(const char* variable, std::uint32_t otherwise) {
    const char* const text = std::getenv(variable);
    return text != nullptr ? static_cast<std::uint32_t>(std::stoul(text)) : otherwise;
}

/// @return the first fault; empty: none
std::string fault_of(std::uint32_t seed, RingNic& nic, RandomSwitch::Seen& seen) {
    const unsigned before = buffers_in_use();
    std::optional<std::string> fault;
    {
        RandomSwitch random(seed, nic);
        fault = random.run(kRandomSteps);
        seen.add(random.seen());
    }
    nic.set_link(true);
    nic.drain(0, 0);
    nic.drain(0, 1);
    const unsigned left = buffers_in_use() - before;
    return fault ? *fault : left == 0 ? "" : std::to_string(left) + " buffers are lost";
}

}  // namespace

TEST_CASE("random switches account for every frame, keep the order of flows and lose no buffer") {
    const std::uint32_t only = number_from("WEIR_SEED", 0);
    const std::uint32_t seeds = number_from("WEIR_SEEDS", kSanitized ? 100 : 1000);
    RingNic nic(2, 128);
    RandomSwitch::Seen seen;
    const std::uint32_t first = only != 0 ? only : 1;
    const std::uint32_t last = only != 0 ? only : seeds;
    for (std::uint32_t seed = first; seed <= last; ++seed)
        if (const std::string fault = fault_of(seed, nic, seen); !fault.empty())
            FAIL("WEIR_SEED=" << seed << ": " << fault);
    if (only != 0 || seeds < 100)  // too few to see everything
        return;
    CHECK(seen.arrived > std::uint64_t{100} * seeds);
    CHECK(seen.requests > seeds);
    CHECK(seen.into_tunnels > seeds);
    CHECK(seen.out_of_tunnels > seeds);
    CHECK(seen.rates > seeds);
    CHECK(seen.spoofed > 0);
    CHECK(seen.in_quota > 0);
    CHECK(seen.straight > seeds);
}
