// error.cc - faults as one line each.
#include "common/error.h"

namespace weir {

std::string Fault::to_line() const {
    std::string line = path.empty() ? std::string("(root)") : path;
    if (!found.empty())
        line += ": found " + found;
    if (!allowed.empty())
        line += "; allowed: " + allowed;
    if (!message.empty())
        line += "; " + message;
    return line;
}

}  // namespace weir
