// wire_fuzzer.cc - any bytes as a message between a switch and the controller: header, records, JSON.
// Source: docs/protocol.md.
//
// The first 32 bytes are the header, the rest is the body. If the header is malformed, the body is decoded
// all the same, as the type that a byte of the header selects, so that the fuzzer reaches the decoders
// without a valid header.
#include <algorithm>
#include <string_view>

#include "common/wire/channel.h"
#include "common/wire/messages.h"
#include "common/wire/records.h"
#include "test/fuzz/checks.h"

namespace {

using namespace weir;
using namespace weir::fuzz;
using namespace weir::wire;

void check(const FlowDemand& record) {
    for (const auto* part : {&record.used, &record.backlog, &record.queued, &record.outstanding})
        for (const float tokens : *part)
            require(tokens >= 0 && tokens <= kTokensMax, "decoded amounts are numbers within bounds");
}
void check(const FlowAllocation& /*record*/) {}

template <typename Record>
void read_records(std::span<const std::uint8_t> body, std::size_t record_bytes) {
    const std::size_t whole = body.size() / record_bytes * record_bytes;
    std::vector<Record> records;
    const std::size_t refused = decode(body.first(whole), records);
    require(refused + records.size() == whole / record_bytes, "every record is decoded or refused");
    Bytes again;
    for (const Record& record : records) {
        encode(record, again);
        check(record);
    }
    std::vector<Record> reread;
    require(decode(again, reread) == 0 && reread == records, "decoded records survive encoding and decoding");
    std::map<FlowKey, Record> table;
    apply(false, records, table);
    auto ordered = records;
    std::sort(ordered.begin(), ordered.end(), [](const auto& a, const auto& b) { return a.flow < b.flow; });
    TableSender<Record> sender;
    std::vector<Record> sent;
    require(sender.changes(ordered, sent) && sent == ordered, "the first message is the whole table");
}

template <typename Message>
void read_json(const std::variant<Message, Faults>& read,
               std::variant<Message, Faults> (*parse)(std::string_view)) {
    if (const Message* message = std::get_if<Message>(&read)) {
        const auto again = parse(to_text(*message));
        require(std::holds_alternative<Message>(again) && std::get<Message>(again) == *message,
                "a parsed message survives writing and parsing");
        return;
    }
    for (const Fault& fault : std::get<Faults>(read))
        require(!fault.to_line().empty(), "a fault has a text");
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
        case Type::kAsk:
            return read_json(parse_ask(text), parse_ask);
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
                    "decoded periods are encoded in as many bytes");
            return;
        }
        case Type::kBilled:
            return require(encode_billed(decode_billed(body)).size() == body.size(), "a time is a number");
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
        require(std::equal(again.begin(), again.end(), head.begin()),
                "a decoded header is encoded in the same bytes");
        read_body(header.type, body);
        MessageFilter filter(header.epoch, header.session);
        require(filter.accept(header) != Acceptance::kForeign, "a message of the session is not foreign");
        require(filter.accept(header) == Acceptance::kStale, "no message is accepted twice");
    } else if (size > kHeaderBytes) {
        read_body(static_cast<Type>(1 + data[5] % 6), body);
    }
    return 0;
}
