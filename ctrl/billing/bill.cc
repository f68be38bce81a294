// bill.cc - charges, lines, and their hash chain.
#include "ctrl/billing/bill.h"

#include <sodium/crypto_hash_sha256.h>
#include <sodium/utils.h>

#include <array>
#include <charconv>

namespace weir::billing {
namespace {

constexpr double kMbit = 125'000;        // bytes per second
constexpr std::size_t kLineBytes = 192;  // of most lines, with the hash before them

static_assert(sizeof(Sha256) == crypto_hash_sha256_BYTES);

}  // namespace

Charge charge_of(const Prices& prices, const Record& record) {
    const double seconds = static_cast<double>(record.ended - record.began) * 1e-9;
    if (seconds <= 0)
        return {};
    Charge charge =
        charge_of(prices, Period{.guarantee_kind = record.guarantee_kind,
                                 .promised = static_cast<double>(record.promised) / kMbit,
                                 .delivered = static_cast<double>(record.delivered) / kMbit / seconds});
    charge.money *= seconds;
    return charge;
}

Sha256 sha256(std::string_view text) {
    Sha256 hash;
    crypto_hash_sha256(hash.data(), reinterpret_cast<const unsigned char*>(text.data()), text.size());
    return hash;
}

std::string to_hex(const Sha256& hash) {
    std::string text(2 * hash.size() + 1, '\0');  // with the terminator that sodium writes
    sodium_bin2hex(text.data(), text.size(), hash.data(), hash.size());
    text.pop_back();
    return text;
}

std::string line_of(std::int64_t number, const Record& record, double charge) {
    std::string line;
    line.reserve(kLineBytes);
    const auto add = [&line](auto value) {
        std::array<char, 32> digits{};
        line.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr);
    };
    add(number);
    line.append("|").append(record.vnic).append("|").append(record.tenant).append("|");
    add(static_cast<unsigned>(record.guarantee_kind));
    for (const std::int64_t time : {record.began, record.ended}) {
        line += '|';
        add(time);
    }
    for (const std::uint64_t bytes : {record.promised, record.delivered}) {
        line += '|';
        add(bytes);
    }
    line += '|';
    add(charge);
    return line;
}

Sha256 chain(const Sha256& before, std::string_view line) {
    return sha256(to_hex(before).append(line));
}

}  // namespace weir::billing
