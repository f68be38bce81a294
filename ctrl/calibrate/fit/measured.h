// measured.h - what a load against an appliance has shown, one kind of request each.
// Units: bytes, requests per second. Threads: any (values).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cost_functions/cost_table.h"
#include "cost_functions/request.h"

namespace weir::calibrate {

struct Measured {
    Operation operation = Operation::kRead;
    std::uint64_t payload = 0;        ///< a value's or a block's bytes; 0 for what has no size
    std::uint32_t keys = 1;           ///< of a request; more than one: none of them was there
    std::uint64_t request_bytes = 0;  ///< as the switch counts them, with headers
    std::uint64_t response_bytes = 0;
    std::uint32_t outstanding = 0;     ///< requests that waited for their answers at any time
    std::vector<double> rates{};       ///< answers a second, round by round
    std::vector<double> half_rates{};  ///< the same with half as many outstanding; empty: not looked at
    double generator = 0;              ///< part of a core that the load itself took, 0..1
    double held_back = 0;              ///< part of the time in which the switch's own buckets held it back

    std::uint64_t asked = 0;              ///< requests, in all rounds
    std::uint64_t counted_by_switch = 0;  ///< of them; 0: it was not asked

    /// By which size such a request is priced.
    [[nodiscard]] CountedSize counted() const {
        return operation == Operation::kRead ? CountedSize::kResponse : CountedSize::kRequest;
    }
    [[nodiscard]] std::uint64_t size() const {
        return CostTable::counted(counted(), request_bytes, response_bytes);
    }
    /// "read 4KiB", "read 16 absent keys"
    [[nodiscard]] std::string name() const;
};

}  // namespace weir::calibrate
