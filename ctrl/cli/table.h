// table.h - text output: the terminal, styles, numbers of cells, and tables of aligned columns.
// Units: a column of the terminal is one byte; cells are ASCII. Threads: any, but terminal_of_stdout: one.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace weir::cli {

/// Properties of standard output.
struct Terminal {
    bool interactive = false;  ///< it is a terminal, so that the screen can be redrawn
    bool color = false;        ///< interactive, NO_COLOR is unset or empty, and TERM is not "dumb"
    std::size_t columns = 0;   ///< 0 = unbounded (a pipe or a file)
    std::size_t rows = 0;      ///< 0 = unbounded
};

/// Reads the terminal at each call, so that output follows a window that is resized.
[[nodiscard]] Terminal terminal_of_stdout();

/// The values are the terminal's codes (SGR of ECMA-48).
enum class Style { kPlain = 0, kTitle = 1, kDim = 2, kBad = 31, kGood = 32, kWarn = 33 };

/// Text in a style; plain text when `color` is false.
[[nodiscard]] std::string styled(const std::string& text, Style style, bool color);

/// "42.1%", or "-" when `percent` is not finite.
[[nodiscard]] std::string percent_text(double percent);
/// A number without decimals, or "-".
[[nodiscard]] std::string whole_text(double number);
/// A number with one decimal, or "-".
[[nodiscard]] std::string decimal_text(double number);

struct Cell {
    Cell(std::string text_in, Style style_in = Style::kPlain) : text(std::move(text_in)), style(style_in) {}
    Cell(const char* text_in) : text(text_in) {}

    std::string text;
    Style style = Style::kPlain;
};

struct Column {
    std::string title;
    bool right = false;      ///< aligned to the right, as numbers are
    unsigned drop_rank = 0;  ///< 0 = always shown; in a narrow terminal the highest rank is left out first
};

class Table {
  public:
    explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

    /// @param cells one per column
    void add_row(std::vector<Cell> cells) { rows_.push_back(std::move(cells)); }

    /// @param width columns of the terminal, 0 = unbounded. Columns with a drop rank are left out until the
    /// table fits; if it still does not, the last column is cut.
    [[nodiscard]] std::string render(std::size_t width, bool color) const;

  private:
    [[nodiscard]] std::vector<std::size_t> widths() const;
    [[nodiscard]] std::vector<std::size_t> fitting(const std::vector<std::size_t>& widths,
                                                   std::size_t width) const;

    std::vector<Column> columns_;
    std::vector<std::vector<Cell>> rows_;
};

}  // namespace weir::cli
