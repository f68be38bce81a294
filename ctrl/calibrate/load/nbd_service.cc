// nbd_service.cc - the negotiation byte by byte; requests.
#include "ctrl/calibrate/load/nbd_service.h"

#include <algorithm>

#include "common/units.h"
#include "cost_functions/protocols/fields.h"
#include "cost_functions/protocols/nbd.h"
#include "ctrl/calibrate/load/payload.h"
#include "ctrl/cli/failure.h"

namespace weir::calibrate {
namespace {

// The names are those of proto.md.
constexpr std::uint64_t kNbdMagic = 0x4e42444d41474943;
constexpr std::uint64_t kOptionMagic = 0x49484156454f5054;
constexpr std::uint64_t kOptionReplyMagic = 0x0003e889045565a9;
constexpr std::uint32_t kRequestMagic = 0x25609513;
constexpr std::uint32_t kOptGo = 7;
constexpr std::uint32_t kRepAck = 1;
constexpr std::uint32_t kRepInfo = 3;
constexpr std::uint32_t kRepError = 1U << 31;
constexpr std::uint16_t kInfoExport = 0;
constexpr std::uint16_t kInfoBlockSize = 3;
constexpr std::uint16_t kFixedNewstyle = 1;
constexpr std::uint16_t kNoZeroes = 2;
enum Flag : std::uint16_t { kReadOnly = 1 << 1, kSendFlush = 1 << 2, kSendTrim = 1 << 5 };
enum Command : std::uint16_t { kRead = 0, kWrite = 1, kFlush = 3, kTrim = 4 };

constexpr std::uint32_t kTrimLength = 4096;
constexpr std::size_t kOptionReplyMax = 4096;

Bytes bytes_of(const std::string& text) {
    return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

[[noreturn]] void refuse(const Link& link, std::string found, std::string message) {
    throw cli::Failure(cli::kExitRefused,
                       {{link.endpoint().text(), std::move(found), "", std::move(message)}});
}

}  // namespace

const Protocol& NbdService::protocol() const {
    return kNbdProtocol;
}

void NbdService::greet(Link& link) {
    const std::string greeting = link.receive(18);
    const Bytes hello = bytes_of(greeting);
    const auto server = big_endian<std::uint16_t>(hello, 16);
    if (big_endian<std::uint64_t>(hello, 0) != kNbdMagic ||
        big_endian<std::uint64_t>(hello, 8) != kOptionMagic || (server & kFixedNewstyle) == 0)
        refuse(link, "another greeting", "this is no NBD server of the fixed newstyle");
    std::string out;
    append_big<std::uint32_t>(out, server & (kFixedNewstyle | kNoZeroes));
    append_big(out, kOptionMagic);
    append_big(out, kOptGo);
    append_big(out, static_cast<std::uint32_t>(4 + export_name_.size() + 4));
    append_big(out, static_cast<std::uint32_t>(export_name_.size()));
    out += export_name_;
    append_big<std::uint16_t>(out, 1);  // one more information is wanted
    append_big(out, kInfoBlockSize);
    link.send_all(out);
    while (true) {
        const std::string header = link.receive(20);
        const auto type = big_endian<std::uint32_t>(bytes_of(header), 12);
        const auto length = big_endian<std::uint32_t>(bytes_of(header), 16);
        if (big_endian<std::uint64_t>(bytes_of(header), 0) != kOptionReplyMagic || length > kOptionReplyMax)
            refuse(link, "no reply to an option", "the negotiation went wrong");
        const std::string info = link.receive(length);
        if ((type & kRepError) != 0)
            refuse(link, info.empty() ? "error " + std::to_string(type & ~kRepError) : info,
                   "the server does not give the export \"" + export_name_ + "\" (--export)");
        if (type == kRepInfo)
            take_info(info);
        if (type == kRepAck)
            return;
    }
}

void NbdService::take_info(const std::string& info) {
    const Bytes bytes = bytes_of(info);
    if (bytes.size() >= 12 && big_endian<std::uint16_t>(bytes, 0) == kInfoExport) {
        size_ = big_endian<std::uint64_t>(bytes, 2);
        flags_ = big_endian<std::uint16_t>(bytes, 10);
    }
    if (bytes.size() >= 14 && big_endian<std::uint16_t>(bytes, 0) == kInfoBlockSize) {
        block_min_ = std::max(1U, big_endian<std::uint32_t>(bytes, 2));
        block_max_ = big_endian<std::uint32_t>(bytes, 10);
    }
}

std::uint32_t NbdService::length(const Step& step) const {
    if (step.operation == Operation::kFlush)
        return 0;
    if (step.operation == Operation::kDelete)
        return std::max(block_min_, kTrimLength);
    return static_cast<std::uint32_t>(step.size);
}

void NbdService::plan(Step& step) const {
    const auto refuse_step = [&](const std::string& allowed, const std::string& message) {
        throw cli::Failure(cli::kExitRefused, {{step.name(), "", allowed, message}});
    };
    const std::uint32_t bytes = length(step);
    if ((flags_ & kReadOnly) != 0 && destroys(step.operation))
        refuse_step("read", "the export is read-only");
    if ((flags_ & kSendFlush) == 0 && step.operation == Operation::kFlush)
        refuse_step("other operations", "the export has no flush");
    if ((flags_ & kSendTrim) == 0 && step.operation == Operation::kDelete)
        refuse_step("other operations", "the export has no trim");
    if (bytes > std::min<std::uint64_t>(block_max_, size_))
        refuse_step("up to " + format_size(std::min<std::uint64_t>(block_max_, size_)),
                    "the export does not take requests of this size");
    if (bytes % block_min_ != 0)
        refuse_step("multiples of " + format_size(block_min_), "the export has larger blocks");
    step.places = bytes == 0 ? 1 : size_ / bytes;
}

void NbdService::append(std::string& out, const Step& step, std::uint64_t place, std::uint64_t cookie) const {
    const auto command = [&]() -> std::uint16_t {
        switch (step.operation) {
            case Operation::kWrite:
                return kWrite;
            case Operation::kDelete:
                return kTrim;
            case Operation::kFlush:
                return kFlush;
            default:
                return kRead;
        }
    }();
    const std::uint32_t bytes = length(step);
    append_big(out, kRequestMagic);
    append_big<std::uint16_t>(out, 0);  // flags
    append_big(out, command);
    append_big(out, cookie);
    append_big<std::uint64_t>(out, place * bytes);
    append_big(out, bytes);
    if (command == kWrite)
        out += random_payload(bytes);
}

}  // namespace weir::calibrate
