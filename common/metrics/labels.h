// labels.h - the labels of a sample as text: vnic="vm1",tenant="A".
// Source: OpenMetrics 1.0. Threads: one owner.
#pragma once

#include <string>
#include <string_view>

namespace weir::metrics {

class Labels {
  public:
    /// Values may be any bytes; backslash, quote and line feed are escaped. @param name [a-z_]+
    Labels& add(std::string_view name, std::string_view value);
    [[nodiscard]] std::string_view text() const { return text_; }

  private:
    std::string text_;
};

/// One label as text, where a value is a word of the program that needs no escape.
[[nodiscard]] Labels label(std::string_view name, std::string_view value);

}  // namespace weir::metrics
