// table.cc - width of columns, columns that fit the terminal, and escape sequences.
#include "ctrl/cli/table.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string_view>

namespace weir::cli {
namespace {

constexpr std::size_t kGap = 2;  // blanks between two columns

std::string_view environment(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? std::string_view() : std::string_view(value);
}

std::string formatted(const char* format, double number) {
    if (!std::isfinite(number))
        return "-";
    std::array<char, 400> text{};  // the longest double has 309 digits before the point
    std::snprintf(text.data(), text.size(), format, number);
    return text.data();
}

std::string cut(const std::string& text, std::size_t width) {
    constexpr std::size_t kDots = 3;
    if (text.size() <= width)
        return text;
    return width <= kDots ? text.substr(0, width) : text.substr(0, width - kDots) + "...";
}

}  // namespace

Terminal terminal_of_stdout() {
    Terminal terminal;
    terminal.interactive = ::isatty(STDOUT_FILENO) == 1;
    if (!terminal.interactive)
        return terminal;
    terminal.color = environment("NO_COLOR").empty() && environment("TERM") != "dumb";
    winsize size{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) {
        terminal.columns = size.ws_col;
        terminal.rows = size.ws_row;
    }
    return terminal;
}

std::string percent_text(double percent) {
    return formatted("%.1f%%", percent);
}
std::string whole_text(double number) {
    return formatted("%.0f", number);
}
std::string decimal_text(double number) {
    return formatted("%.1f", number);
}

std::string styled(const std::string& text, Style style, bool color) {
    if (!color || style == Style::kPlain || text.empty())
        return text;
    return "\x1b[" + std::to_string(static_cast<int>(style)) + 'm' + text + "\x1b[0m";
}

std::vector<std::size_t> Table::widths() const {
    std::vector<std::size_t> widths;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        std::size_t width = columns_[i].title.size();
        for (const auto& row : rows_)
            width = std::max(width, row[i].text.size());
        widths.push_back(width);
    }
    return widths;
}

std::vector<std::size_t> Table::fitting(const std::vector<std::size_t>& widths, std::size_t width) const {
    std::vector<std::size_t> shown(columns_.size());
    std::iota(shown.begin(), shown.end(), std::size_t{0});
    const auto total = [&] {
        std::size_t sum = 0;
        for (const std::size_t i : shown)
            sum += widths[i] + kGap;
        return sum - kGap;
    };
    while (width > 0 && total() > width) {
        const auto rank = [this](std::size_t a, std::size_t b) {
            return columns_[a].drop_rank < columns_[b].drop_rank;
        };
        const auto dropped = std::max_element(shown.begin(), shown.end(), rank);
        if (columns_[*dropped].drop_rank == 0)
            break;
        shown.erase(dropped);
    }
    return shown;
}

std::string Table::render(std::size_t width, bool color) const {
    const std::vector<std::size_t> all = widths();
    const std::vector<std::size_t> shown = fitting(all, width);
    std::vector<Cell> titles;
    for (const Column& column : columns_)
        titles.emplace_back(column.title, Style::kTitle);
    std::string out;
    const auto add_line = [&](const std::vector<Cell>& cells) {
        std::size_t begin = 0;    // where the column begins
        std::size_t written = 0;  // length of the line so far
        for (const std::size_t i : shown) {
            const bool bounded = width > 0 && i == shown.back();
            const std::size_t room = bounded ? width - std::min(width, begin) : std::string::npos;
            const std::string text = cut(cells[i].text, room);
            const std::size_t shift = columns_[i].right ? all[i] - text.size() : 0;
            if (!text.empty()) {
                out.append(begin + shift - written, ' ').append(styled(text, cells[i].style, color));
                written = begin + shift + text.size();
            }
            begin += all[i] + kGap;
        }
        out += '\n';
    };
    add_line(titles);
    for (const auto& row : rows_)
        add_line(row);
    return out;
}

}  // namespace weir::cli
