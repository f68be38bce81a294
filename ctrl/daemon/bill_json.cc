// bill_json.cc - rows, the chain, and counters.
#include "ctrl/daemon/bill_json.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "common/config/field_kinds.h"

namespace weir {
namespace {

using nlohmann::json;

json bill_row(const BillSum& sum) {
    return {{"tenant", sum.tenant},
            {"vnic", sum.vnic},
            {"guarantee_kind", guarantee_name(sum.guarantee)},
            {"periods", sum.periods},
            {"seconds", sum.seconds},
            {"promised_bytes", sum.promised},
            {"delivered_bytes", sum.delivered},
            {"fulfillment", sum.fulfillment ? json(*sum.fulfillment) : json(nullptr)},
            {"charge", sum.charge}};
}

}  // namespace

json bill_json(BillReader& reader, const BillSpan& span, bool verify, bool is_billing,
               const std::atomic<bool>& stop) {
    json rows = json::array();
    double charge = 0;
    for (const BillSum& sum : reader.sum(span, stop)) {
        charge += sum.charge;
        rows.push_back(bill_row(sum));
    }
    const BillChain chain = reader.chain();
    json data{{"rows", std::move(rows)},
              {"charge", charge},
              {"billing", is_billing},
              {"lines", chain.lines},
              {"head", billing::to_hex(chain.head)}};
    if (verify) {
        const BillCheck check = reader.check(stop);
        data["first_altered"] = check.first_altered ? json(*check.first_altered) : json(nullptr);
        data["first_line"] = check.first_line;
        data["sums_altered"] = check.sums_altered;
    }
    return data;
}

json bill_state_json(const BillWriter::State& state) {
    return {{"failing_since", state.failing_since == 0 ? json(nullptr) : json(state.failing_since)},
            {"fault", state.fault},
            {"refused_writes", state.refused},
            {"transactions", state.transactions},
            {"longest_ms", state.longest_ms},
            {"periods_waiting", state.waiting},
            {"periods_turned_away", state.turned_away}};
}

json periods_json(const UsageCounters& counters) {
    return {{"stored", counters.stored},
            {"repeated", counters.repeated},
            {"clipped", counters.clipped},
            {"early", counters.early},
            {"refused_future", counters.future},
            {"refused_foreign", counters.foreign},
            {"refused_impossible", counters.impossible},
            {"other_promise", counters.promises},
            {"messages_deferred", counters.deferred}};
}

}  // namespace weir
