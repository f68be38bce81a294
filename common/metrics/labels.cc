// labels.cc - the three characters that are escaped, and bytes that are no UTF-8.
#include "common/metrics/labels.h"

namespace weir::metrics {
namespace {

/// Names come from configurations, which are ASCII; a foreign byte must not make the whole page unreadable.
constexpr char kForeign = '?';

bool is_ascii(char c) {
    return static_cast<unsigned char>(c) < 0x80;
}

}  // namespace

Labels& Labels::add(std::string_view name, std::string_view value) {
    if (!text_.empty())
        text_ += ',';
    text_ += name;
    text_ += "=\"";
    for (const char c : value) {
        if (c == '\\' || c == '"')
            text_ += '\\';
        if (c == '\n')
            text_ += "\\n";
        else
            text_ += is_ascii(c) ? c : kForeign;
    }
    text_ += '"';
    return *this;
}

Labels label(std::string_view name, std::string_view value) {
    return Labels().add(name, value);
}

}  // namespace weir::metrics
