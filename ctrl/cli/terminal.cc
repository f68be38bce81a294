// terminal.cc - isatty, TIOCGWINSZ and the NO_COLOR convention (no-color.org).
#include "ctrl/cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace weir::cli {
namespace {

std::string_view environment(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? std::string_view() : std::string_view(value);
}

}  // namespace

Terminal terminal_of_stdout() {
    Terminal terminal;
    terminal.interactive = ::isatty(STDOUT_FILENO) == 1;
    if (!terminal.interactive)
        return terminal;
    terminal.colour = environment("NO_COLOR").empty() && environment("TERM") != "dumb";
    winsize size{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) {
        terminal.columns = size.ws_col;
        terminal.rows = size.ws_row;
    }
    return terminal;
}

}  // namespace weir::cli
