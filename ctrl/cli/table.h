// table.h - a small table renderer: aligned columns, colour where it is wanted, fitted to a width.
// Cells are ASCII: a byte is a column. Threads: any (pure).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace weir::cli {

enum class Style { kPlain, kDim, kGood, kWarn, kBad, kTitle };

/// Text in a style; plain text when `colour` is false.
[[nodiscard]] std::string styled(const std::string& text, Style style, bool colour);

struct Cell {
    Cell(std::string text_in, Style style_in = Style::kPlain) : text(std::move(text_in)), style(style_in) {}
    Cell(const char* text_in) : text(text_in) {}

    std::string text;
    Style style = Style::kPlain;
};

struct Column {
    std::string title;
    bool right = false;      ///< numbers align right
    unsigned drop_rank = 0;  ///< 0 = always shown; when the width is short the highest rank goes first
};

class Table {
  public:
    explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

    /// @param cells as many as there are columns
    void add_row(std::vector<Cell> cells) { rows_.push_back(std::move(cells)); }

    /// @param width columns of the terminal, 0 = unbounded; the last column is cut when nothing more can be
    /// dropped
    [[nodiscard]] std::string render(std::size_t width, bool colour) const;

  private:
    [[nodiscard]] std::vector<std::size_t> widths() const;
    [[nodiscard]] std::vector<std::size_t> fitting(const std::vector<std::size_t>& widths,
                                                   std::size_t width) const;

    std::vector<Column> columns_;
    std::vector<std::vector<Cell>> rows_;
};

}  // namespace weir::cli
