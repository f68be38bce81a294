// price.cc - the kind `price`: what billing periods cost (SoftBW 4.3, Table 2).
#include "ctrl/billing/price.h"

#include <span>

#include "common/config/guarantee_words.h"
#include "ctrl/what_if/fields.h"
#include "ctrl/what_if/registry.h"

namespace weir::what_if {

using nlohmann::json;

namespace {

constexpr Bounds kAboveZero{1e-9, 1e18};

/// S / T beyond the link is refused as B is: one vNIC cannot have more.
void read_dynamic(ObjectReader& reader, double link, double& promised) {
    double size = 0;
    double time = 1;
    const bool sized = need_number(reader, "size", size, kTokenBounds);
    const bool timed = need_number(reader, "time", time, kAboveZero);
    if (!sized || !timed)
        return;
    promised = size / time;
    if (promised > link)
        reader.fault("size", "at most link x time", "the link cannot carry it within its time");
}

billing::Period read_period(ObjectReader& reader, double link) {
    billing::Period period;
    need(reader, "guarantee", "\"strict\", \"dynamic\", \"fairness\" or \"best_effort\"");
    reader.read_word("guarantee", period.guarantee_kind,
                     std::span<const Word<weir::GuaranteeKind>>(kGuaranteeWords));
    if (period.guarantee_kind == weir::GuaranteeKind::kStrict)
        need_number(reader, "reservation", period.promised, {0, link});
    if (period.guarantee_kind == weir::GuaranteeKind::kDynamic)
        read_dynamic(reader, link, period.promised);
    need_number(reader, "delivered", period.delivered, kTokenBounds);
    return period;
}

}  // namespace

json solve_price(ObjectReader& problem, Faults& faults) {
    billing::Prices prices;
    need_number(problem, "p0", prices.p0, {0, 1e12});
    need_number(problem, "beta", prices.beta, {0, 1});
    const bool linked = need_number(problem, "link", prices.link, kAboveZero);
    const double promised_most = linked ? prices.link : kTokenBounds.max;
    std::vector<billing::Period> periods;
    need(problem, "periods", "a list of billing periods, which may be empty");
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
