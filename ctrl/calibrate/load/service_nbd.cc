// service_nbd.cc - requests to an NBD export, at random places that are aligned to the request's size.
// Source: NBD proto.md
// Threads: one.
//
// Of the protocol: fixed newstyle negotiation, NBD_OPT_GO, simple replies.
#include <algorithm>

#include "common/units.h"
#include "cost_functions/protocols/binary.h"
#include "cost_functions/protocols/registry.h"
#include "ctrl/calibrate/load/service.h"
#include "ctrl/cli/failure.h"

namespace weir::calibrate {
namespace {

// Named as in proto.md.
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

constexpr std::uint32_t kTrimLength = 4096;     // bytes
constexpr std::size_t kOptionReplyMax = 4096;   // bytes; longer ones are refused
constexpr std::uint32_t kBlockMax = 32U << 20;  // bytes, unless the server states another bound

Bytes bytes_of(const std::string& text) {
    return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

[[noreturn]] void refuse(const TcpConnection& connection, std::string found, std::string message) {
    throw cli::Failure(cli::kExitRefused,
                       {{connection.endpoint().text(), std::move(found), "", std::move(message)}});
}

class NbdService : public Service {
  public:
    explicit NbdService(std::string export_name) : export_name_(std::move(export_name)) {}

    [[nodiscard]] const Protocol& protocol() const override { return *find_protocol("nbd"); }
    [[nodiscard]] std::uint16_t default_port() const override { return 10809; }
    [[nodiscard]] std::vector<Operation> operations() const override {
        return {Operation::kRead, Operation::kWrite, Operation::kDelete, Operation::kFlush};
    }
    [[nodiscard]] std::vector<Operation> default_operations() const override { return {Operation::kRead}; }
    [[nodiscard]] std::vector<std::uint64_t> default_sizes() const override {
        return {512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072, 262144, 524288, 1048576};
    }
    [[nodiscard]] unsigned default_connections() const override { return 4; }
    [[nodiscard]] bool destroys(Operation operation) const override {
        return operation == Operation::kWrite || operation == Operation::kDelete;
    }
    [[nodiscard]] bool is_sized(Operation operation) const override {
        return operation == Operation::kRead || operation == Operation::kWrite;
    }
    void greet(TcpConnection& connection) override;
    void plan(Step& step) const override;
    void append(std::string& out, const Step& step, std::uint64_t place, std::uint64_t cookie) const override;

  private:
    [[nodiscard]] std::string export_option() const;
    void read_info(const std::string& info);
    [[nodiscard]] std::uint32_t length(const Step& step) const;

    std::string export_name_;
    std::uint64_t size_ = 0;  // bytes of the export
    std::uint16_t flags_ = 0;
    std::uint32_t block_min_ = 1;
    std::uint32_t block_max_ = kBlockMax;
};

void NbdService::greet(TcpConnection& connection) {
    const std::string greeting = connection.receive(18);
    const Bytes hello = bytes_of(greeting);
    const auto server = big_endian<std::uint16_t>(hello, 16);
    if (big_endian<std::uint64_t>(hello, 0) != kNbdMagic ||
        big_endian<std::uint64_t>(hello, 8) != kOptionMagic || (server & kFixedNewstyle) == 0)
        refuse(connection, "another greeting",
               "this is not an NBD server of the fixed newstyle; check the port (--port)");
    std::string out;
    append_big_endian<std::uint32_t>(out, server & (kFixedNewstyle | kNoZeroes));
    connection.send_all(out + export_option());
    while (true) {
        const std::string header = connection.receive(20);
        const auto type = big_endian<std::uint32_t>(bytes_of(header), 12);
        const auto length = big_endian<std::uint32_t>(bytes_of(header), 16);
        if (big_endian<std::uint64_t>(bytes_of(header), 0) != kOptionReplyMagic || length > kOptionReplyMax)
            refuse(connection, "a malformed reply to NBD_OPT_GO",
                   "this is not an NBD server of the fixed newstyle");
        const std::string info = connection.receive(length);
        if ((type & kRepError) != 0)
            refuse(connection, info.empty() ? "error " + std::to_string(type & ~kRepError) : info,
                   "the server refuses the export \"" + export_name_ + "\"; choose another (--export)");
        if (type == kRepInfo)
            read_info(info);
        if (type == kRepAck)
            return;
    }
}

std::string NbdService::export_option() const {
    std::string out;
    append_big_endian(out, kOptionMagic);
    append_big_endian(out, kOptGo);
    append_big_endian(out, static_cast<std::uint32_t>(4 + export_name_.size() + 4));
    append_big_endian(out, static_cast<std::uint32_t>(export_name_.size()));
    out += export_name_;
    append_big_endian<std::uint16_t>(out, 1);  // one information is requested
    append_big_endian(out, kInfoBlockSize);
    return out;
}

void NbdService::read_info(const std::string& info) {
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
    append_big_endian(out, kRequestMagic);
    append_big_endian<std::uint16_t>(out, 0);  // flags
    append_big_endian(out, command);
    append_big_endian(out, cookie);
    append_big_endian<std::uint64_t>(out, place * bytes);
    append_big_endian(out, bytes);
    if (command == kWrite)
        out += random_payload(bytes);
}

}  // namespace

std::unique_ptr<Service> make_nbd_service(const ServiceOptions& options) {
    return std::make_unique<NbdService>(options.nbd_export);
}

}  // namespace weir::calibrate
