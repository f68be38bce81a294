// usage.cc - one layout, written and read in the same order.
#include "common/wire/usage.h"

#include "common/wire/bytes.h"

namespace weir::wire {
namespace {

constexpr std::uint64_t kMost = std::uint64_t{1} << 62;

}  // namespace

void encode(const Usage& record, Bytes& body) {
    body.resize(body.size() + kUsageBytes);
    Writer out(&body[body.size() - kUsageBytes]);
    out.put(record.vnic);
    out.put(static_cast<std::uint32_t>(record.guarantee));
    for (const std::uint64_t value : {record.began, record.ended, record.promised, record.delivered})
        out.put(value);
}

std::size_t decode(std::span<const std::uint8_t> body, std::vector<Usage>& records) {
    records.clear();
    records.reserve(body.size() / kUsageBytes);
    std::size_t refused = 0;
    for (std::size_t at = 0; at + kUsageBytes <= body.size(); at += kUsageBytes) {
        Reader in(&body[at]);
        Usage record;
        std::uint32_t guarantee = 0;
        in.get(record.vnic);
        in.get(guarantee);
        for (std::uint64_t* value : {&record.began, &record.ended, &record.promised, &record.delivered})
            in.get(*value);
        record.guarantee = static_cast<GuaranteeKind>(guarantee);
        if (guarantee <= static_cast<std::uint32_t>(GuaranteeKind::kBestEffort) &&
            record.began < record.ended && record.ended < kMost && record.promised < kMost &&
            record.delivered < kMost)
            records.push_back(record);
        else
            ++refused;
    }
    return refused;
}

Bytes encode_billed(std::uint64_t through) {
    Bytes body(kBilledBytes);
    Writer(body.data()).put(through);
    return body;
}

std::uint64_t decode_billed(std::span<const std::uint8_t> body) {
    std::uint64_t through = 0;
    if (body.size() == kBilledBytes)
        Reader(body.data()).get(through);
    return through;
}

}  // namespace weir::wire
