// service_key_value.cc - requests to memcached (text and binary protocol) and to Redis.
// Source: memcached protocol.txt; RESP3
// Threads: one.
//
// Keys begin with "weir-calibrate:". Values are written before they are read and deleted at the end;
// memcached also forgets them after a day, should the process be killed.
#include <algorithm>
#include <array>
#include <cstdio>

#include "cost_functions/protocols/registry.h"
#include "ctrl/calibrate/load/service.h"

namespace weir::calibrate {
namespace {

constexpr std::size_t kKeyBytes = 32;
constexpr std::uint64_t kBytesOfOneSize = 4U << 20;  // of all values of one size together
constexpr std::uint64_t kPlacesMin = 4;
constexpr std::uint64_t kPlacesMax = 1000;
constexpr std::uint32_t kExpirySeconds = 86'400;

/// Keys have the same length for all places and sizes, so that responses of one size have too.
void append_key(std::string& out, const Step& step, std::uint64_t place) {
    std::array<char, kKeyBytes + 1> key{};
    const char kind = step.keys > 1 ? 'n' : 'v';  // 'n': never written
    std::snprintf(key.data(), key.size(), "weir-calibrate:%c%08x:%07u", kind,
                  static_cast<unsigned>(step.size), static_cast<unsigned>(place % 10'000'000));
    out.append(key.data(), kKeyBytes);
}

/// Appends one request, as Service::append() does.
using Append = void(std::string& out, const Step& step, std::uint64_t place, std::uint64_t cookie);

class KeyValueService : public Service {
  public:
    KeyValueService(std::string_view protocol, std::uint16_t port, bool several_keys, Append* append_in)
        : protocol_(*find_protocol(protocol)), port_(port), several_keys_(several_keys), append_(append_in) {}

    [[nodiscard]] const Protocol& protocol() const override { return protocol_; }
    [[nodiscard]] std::uint16_t default_port() const override { return port_; }
    [[nodiscard]] std::vector<Operation> operations() const override {
        return {Operation::kRead, Operation::kWrite};
    }
    [[nodiscard]] std::vector<Operation> default_operations() const override { return operations(); }
    [[nodiscard]] std::vector<std::uint64_t> default_sizes() const override {
        return {64, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072, 262144};
    }
    /// Many clients: of a few that pipeline, an appliance reads several requests with one system call.
    [[nodiscard]] unsigned default_connections() const override { return 64; }
    [[nodiscard]] bool has_several_keys() const override { return several_keys_; }

    void plan(Step& step) const override {
        const std::uint64_t places = kBytesOfOneSize / std::max<std::uint64_t>(step.size, 1);
        step.places = std::clamp(places, kPlacesMin, kPlacesMax);
    }
    [[nodiscard]] std::optional<Step> fill_step(const Step& step) const override {
        return with_operation(step, Operation::kWrite);
    }
    [[nodiscard]] std::optional<Step> clear_step(const Step& step) const override {
        return with_operation(step, Operation::kDelete);
    }
    void append(std::string& out, const Step& step, std::uint64_t place,
                std::uint64_t cookie) const override {
        append_(out, step, place, cookie);
    }

  private:
    static std::optional<Step> with_operation(Step step, Operation operation) {
        if (step.keys > 1)  // these keys never exist
            return std::nullopt;
        step.operation = operation;
        return step;
    }

    const Protocol& protocol_;
    std::uint16_t port_;
    bool several_keys_;
    Append* append_;
};

void append_memcached(std::string& out, const Step& step, std::uint64_t place, std::uint64_t) {
    switch (step.operation) {
        case Operation::kWrite:
            out += "set ";
            append_key(out, step, place);
            out += " 0 " + std::to_string(kExpirySeconds) + " " + std::to_string(step.size) + "\r\n";
            out += random_payload(step.size);
            break;
        case Operation::kDelete:
            out += "delete ";
            append_key(out, step, place);
            break;
        default:
            out += "get";
            for (std::uint32_t i = 0; i < step.keys; ++i) {
                out += ' ';
                append_key(out, step, place + i);
            }
    }
    out += "\r\n";
}

void append_memcached_binary(std::string& out, const Step& step, std::uint64_t place, std::uint64_t cookie) {
    enum Opcode : std::uint8_t { kGet = 0, kSet = 1, kDelete = 4 };
    const bool set = step.operation == Operation::kWrite;
    const Opcode opcode = set ? kSet : step.operation == Operation::kDelete ? kDelete : kGet;
    const std::uint8_t extras = set ? 8 : 0;
    append_big_endian<std::uint8_t>(out, 0x80);
    append_big_endian<std::uint8_t>(out, opcode);
    append_big_endian<std::uint16_t>(out, kKeyBytes);
    append_big_endian<std::uint8_t>(out, extras);
    append_big_endian<std::uint8_t>(out, 0);   // data type
    append_big_endian<std::uint16_t>(out, 0);  // vbucket
    append_big_endian<std::uint32_t>(out,
                                     static_cast<std::uint32_t>(extras + kKeyBytes + (set ? step.size : 0)));
    append_big_endian<std::uint32_t>(out, static_cast<std::uint32_t>(cookie));
    append_big_endian<std::uint64_t>(out, 0);  // cas
    if (set) {
        append_big_endian<std::uint32_t>(out, 0);  // flags
        append_big_endian<std::uint32_t>(out, kExpirySeconds);
    }
    append_key(out, step, place);
    if (set)
        out += random_payload(step.size);
}

void append_redis(std::string& out, const Step& step, std::uint64_t place, std::uint64_t) {
    const auto bulk = [&out](std::string_view word) {
        out += "$" + std::to_string(word.size()) + "\r\n";
        out += word;
        out += "\r\n";
    };
    const bool set = step.operation == Operation::kWrite;
    const bool clear = step.operation == Operation::kDelete;
    const std::string_view command = set ? "SET" : clear ? "DEL" : step.keys > 1 ? "MGET" : "GET";
    out += "*" + std::to_string(1 + step.keys + (set ? 1 : 0)) + "\r\n";
    bulk(command);
    for (std::uint32_t i = 0; i < step.keys; ++i) {
        out += "$" + std::to_string(kKeyBytes) + "\r\n";
        append_key(out, step, place + i);
        out += "\r\n";
    }
    if (set)
        bulk(random_payload(step.size));
}

}  // namespace

std::unique_ptr<Service> make_memcached_service(const ServiceOptions&) {
    return std::make_unique<KeyValueService>("memcached", 11211, true, append_memcached);
}
std::unique_ptr<Service> make_memcached_binary_service(const ServiceOptions&) {
    return std::make_unique<KeyValueService>("memcached", 11211, false, append_memcached_binary);
}
std::unique_ptr<Service> make_redis_service(const ServiceOptions&) {
    return std::make_unique<KeyValueService>("redis", 6379, true, append_redis);
}

}  // namespace weir::calibrate
