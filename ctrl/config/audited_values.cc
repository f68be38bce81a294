// audited_values.cc - the first values, as JSON.
#include "ctrl/config/audited_values.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace weir {
namespace {

using nlohmann::json;

/// "abc... (500 bytes)". A character of several bytes at the cut is replaced when the list is written.
std::string cut(const std::string& text) {
    if (text.size() <= AuditedValues::kTextMax)
        return text;
    return text.substr(0, AuditedValues::kTextMax) + "... (" + std::to_string(text.size()) + " bytes)";
}

}  // namespace

AuditedValues audited_values(std::span<const ChangedValue> changes) {
    AuditedValues audited{.in_all = changes.size()};
    for (const ChangedValue& each : changes.first(std::min(changes.size(), AuditedValues::kValuesMax))) {
        const std::string value =
            json{{"path", cut(each.path)}, {"before", cut(each.before)}, {"now", cut(each.now)}}.dump(
                -1, ' ', false, json::error_handler_t::replace);
        if (audited.list.size() + value.size() + 2 > AuditedValues::kBytesMax)
            break;
        audited.list += (audited.list.empty() ? "[" : ",") + value;
    }
    if (!audited.list.empty())
        audited.list += ']';
    return audited;
}

}  // namespace weir
