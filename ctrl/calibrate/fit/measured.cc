// measured.cc - a measurement's name.
#include "ctrl/calibrate/fit/measured.h"

#include "common/units.h"

namespace weir::calibrate {

std::string Measured::name() const {
    const std::string word(kOperationNames[static_cast<std::size_t>(operation)]);
    if (keys > 1)
        return word + " " + std::to_string(keys) + " absent keys";
    return payload == 0 ? word : word + " " + format_size(payload);
}

}  // namespace weir::calibrate
