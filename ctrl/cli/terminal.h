// terminal.h - what standard output is: its size, and whether it takes colour.
// Threads: the command's only one.
#pragma once

#include <cstddef>

namespace weir::cli {

struct Terminal {
    bool interactive = false;  ///< a terminal: the screen may be redrawn
    bool colour = false;       ///< interactive, NO_COLOR is unset or empty, TERM is not "dumb"
    std::size_t columns = 0;   ///< 0 = unbounded (a pipe or a file)
    std::size_t rows = 0;      ///< 0 = unbounded
};

/// Asks anew at each call, so that a resized window is followed.
[[nodiscard]] Terminal terminal_of_stdout();

}  // namespace weir::cli
