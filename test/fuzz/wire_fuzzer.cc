// wire_fuzzer.cc - any bytes as a message between a switch and the controller: header, records, JSON.
// Source: docs/protocol.md.
//
// The first 32 bytes are the header, the rest is the body. The body is also read as whatever its type is with
// a header that fits it, so that a fuzzer need not learn to count first.
#include <algorithm>
#include <string_view>

#include "common/wire/channel.h"
#include "common/wire/messages.h"
#include "common/wire/usage.h"
#include "test/fuzz/checks.h"

namespace {

using namespace weir;
using namespace weir::fuzz;
using namespace weir::wire;

void check(const FlowDemand& record) {
    for (const auto* part : {&record.used, &record.backlog, &record.queued, &record.outstanding})
        for (const float tokens : *part)
            require(tokens >= 0 && tokens <= kTokensMax, "what was taken is a number within bounds");
}
void check(const FlowAllocation& /*record*/) {}

template <typename Record>
void read_records(std::span<const std::uint8_t> body, std::size_t record_bytes) {
    const std::size_t whole = body.size() / record_bytes * record_bytes;
    std::vector<Record> records;
    const std::size_t refused = decode(body.first(whole), records);
    require(refused + records.size() == whole / record_bytes, "every record is taken or refused");
    Bytes again;
    for (const Record& record : records) {
        encode(record, again);
        check(record);
    }
    std::vector<Record> reread;
    require(decode(again, reread) == 0 && reread == records, "what was taken is written and read again");
    std::map<FlowKey, Record> table;
    apply(false, records, table);
    auto ordered = records;
    std::sort(ordered.begin(), ordered.end(), [](const auto& a, const auto& b) { return a.flow < b.flow; });
    Teller<Record> teller;
    std::vector<Record> said;
    require(teller.changes(ordered, said) && said == ordered, "what is said first is all");
}

template <typename Message>
void read_json(const std::variant<Message, Faults>& read,
               std::variant<Message, Faults> (*parse)(std::string_view)) {
    if (const Message* message = std::get_if<Message>(&read)) {
        const auto again = parse(to_text(*message));
        require(std::holds_alternative<Message>(again) && std::get<Message>(again) == *message,
                "what was taken is written and read again");
        return;
    }
    for (const Fault& fault : std::get<Faults>(read))
        require(!fault.to_line().empty(), "a fault says something");
}

void read_body(Type type, std::span<const std::uint8_t> body) {
    const std::string_view text(reinterpret_cast<const char*>(body.data()), body.size());
    switch (type) {
        case Type::kHello:
            return read_json(parse_hello(text), parse_hello);
        case Type::kWelcome:
            return read_json(parse_welcome(text), parse_welcome);
        case Type::kTables:
            return read_json(parse_tables(text), parse_tables);
        case Type::kDemand:
            return read_records<FlowDemand>(body, kDemandBytes);
        case Type::kAllocation:
            return read_records<FlowAllocation>(body, kAllocationBytes);
        case Type::kUsage: {
            std::vector<Usage> records;
            const std::size_t refused = decode(body, records);
            Bytes again;
            for (const Usage& record : records)
                encode(record, again);
            require(again.size() == body.size() - refused * kUsageBytes,
                    "periods are written as they were read");
            return;
        }
        case Type::kBilled:
            return require(encode_billed(decode_billed(body)).size() == body.size(), "an end is a number");
        case Type::kHeartbeat:
            return;
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::span bytes(data, size);
    const auto head = bytes.first(std::min(size, kHeaderBytes));
    const auto body = bytes.subspan(head.size());
    Header header;
    const Malformed malformed = decode_header(head, body.size(), header);
    require(name_of(malformed)[0] != '\0', "every fault has a name");
    if (malformed == Malformed::kNo) {
        const HeaderBytes again = encode_header(header);
        require(std::equal(again.begin(), again.end(), head.begin()), "a header is written as it was read");
        read_body(header.type, body);
        Listener listener(header.epoch, header.session);
        require(listener.accept(header) != Accepted::kForeign, "a session's message is its own");
        require(listener.accept(header) == Accepted::kStale, "no message counts twice");
    } else if (size > kHeaderBytes) {
        read_body(static_cast<Type>(1 + data[5] % 6), body);
    }
    return 0;
}
