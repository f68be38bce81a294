// bill.cc - lines, and their chain.
#include "ctrl/billing/bill.h"

#include <array>
#include <charconv>

namespace weir::billing {
namespace {

constexpr double kMbit = 125'000;  // bytes per second

}  // namespace

Place place_of(const Record& record, std::int64_t last_ended) {
    if (record.ended <= record.began)
        return Place::kBackwards;
    if (record.ended <= last_ended)
        return Place::kRepeated;
    return record.began < last_ended ? Place::kOverlaps : Place::kNext;
}

Charge charge_of(const Prices& prices, const Record& record) {
    const double seconds = static_cast<double>(record.ended - record.began) * 1e-9;
    if (seconds <= 0)
        return {};
    Charge charge =
        charge_of(prices, Period{.guarantee = record.guarantee,
                                 .promised = static_cast<double>(record.promised) / kMbit,
                                 .delivered = static_cast<double>(record.delivered) / kMbit / seconds});
    charge.money *= seconds;
    return charge;
}

std::string line_of(std::int64_t number, const Record& record, double charge) {
    std::array<char, 32> money{};
    const auto end = std::to_chars(money.data(), money.data() + money.size(), charge).ptr;
    std::string line = std::to_string(number);
    for (const std::string& part :
         {record.vnic, record.tenant, std::to_string(static_cast<unsigned>(record.guarantee)),
          std::to_string(record.began), std::to_string(record.ended), std::to_string(record.promised),
          std::to_string(record.delivered), std::string(money.data(), end)})
        line.append("|").append(part);
    return line;
}

Sha256 chain(const Sha256& before, std::string_view line) {
    return sha256(to_hex(before).append(line));
}

}  // namespace weir::billing
