// price.cc - what-if kind `price`: charges of billing periods.
// Source: SoftBW 4.3; docs/design.md 5.4
// Units: rates in any one unit, money in that of p0.
#include "ctrl/billing/price.h"

#include "common/config/field_kinds.h"
#include "ctrl/what_if/fields.h"
#include "ctrl/what_if/registry.h"

namespace weir::what_if {

using nlohmann::json;

namespace {

constexpr Bounds kAboveZero{1e-9, 1e18};

/// Refuses S / T beyond the link, as for B: one vNIC cannot have more.
void read_dynamic(ObjectReader& reader, double link, double& promised) {
    double size = 0;
    double time = 1;
    const bool sized = require_number(reader, "size", size, kTokenBounds);
    const bool timed = require_number(reader, "time", time, kAboveZero);
    if (!sized || !timed)
        return;
    promised = size / time;
    if (promised > link)
        reader.fault("size", "at most link x time", "the link cannot carry it within its time");
}

billing::Period read_period(ObjectReader& reader, double link) {
    billing::Period period;
    require(reader, "guarantee_kind", "\"strict\", \"dynamic\", \"fairness\" or \"best_effort\"");
    reader.read_word<weir::GuaranteeKind>("guarantee_kind", period.guarantee_kind, kGuaranteeWords);
    if (period.guarantee_kind == weir::GuaranteeKind::kStrict)
        require_number(reader, "reservation", period.promised, {0, link});
    if (period.guarantee_kind == weir::GuaranteeKind::kDynamic)
        read_dynamic(reader, link, period.promised);
    require_number(reader, "delivered", period.delivered, kTokenBounds);
    return period;
}

}  // namespace

json solve_price(ObjectReader& problem, Faults& faults) {
    billing::Prices prices;
    require_number(problem, "p0", prices.p0, {0, 1e12});
    require_number(problem, "beta", prices.beta, {0, 1});
    const bool linked = require_number(problem, "link", prices.link, kAboveZero);
    const double promised_most = linked ? prices.link : kTokenBounds.max;
    std::vector<billing::Period> periods;
    require(problem, "periods", "a list of billing periods, which may be empty");
    for_objects(problem, "periods", false, faults,
                [&](ObjectReader& reader) { periods.push_back(read_period(reader, promised_most)); });
    if (!faults.empty())
        return {};
    json rows = json::array();
    double money = 0;
    double promised = 0;
    double delivered = 0;
    for (const billing::Period& period : periods) {
        const billing::Charge charge = billing::charge_of(prices, period);
        rows.push_back({{"charge", charge.money}, {"fulfillment", nullptr}});
        money += charge.money;
        if (charge.fulfillment) {
            rows.back()["fulfillment"] = *charge.fulfillment;
            promised += period.promised;
            delivered += period.delivered;
        }
    }
    json total{{"charge", money}, {"fulfillment", nullptr}};
    if (promised > 0)
        total["fulfillment"] = delivered / promised;
    return {{"periods", std::move(rows)}, {"total", std::move(total)}};
}

}  // namespace weir::what_if
