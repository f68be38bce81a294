// origin.h - whose frames a burst holds.
// Units: ns. Threads: owning worker (values).
#pragma once

#include "common/clock.h"

namespace weir {

struct VnicPath;

/// Frames of a VM wait at the expense of its quota, and hold it back; others wait by their sources' shares.
struct Origin {
    VnicPath* vm = nullptr;  ///< of this worker; nullptr: the wire, or with `inbox` each frame's own
    bool inbox = false;      ///< other workers': each frame says where it came from (frame_word.h)
    bool copies = false;     ///< of a flooded frame: they hold buffers besides the original's
    Nanos now = 0;
};

}  // namespace weir
