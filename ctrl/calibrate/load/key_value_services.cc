// key_value_services.cc - requests as doc/protocol.txt, protocol_binary.h and the RESP specification have
// them.
#include "ctrl/calibrate/load/key_value_services.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "cost_functions/protocols/memcached.h"
#include "cost_functions/protocols/redis.h"
#include "ctrl/calibrate/load/payload.h"

namespace weir::calibrate {
namespace {

constexpr std::uint64_t kBytesOfOneSize = 4U << 20;  // that the values of one size take together
constexpr std::uint64_t kPlacesMin = 4;
constexpr std::uint64_t kPlacesMax = 1000;
constexpr std::uint32_t kExpirySeconds = 86'400;  // for what is left behind when we are killed

}  // namespace

std::vector<std::uint64_t> KeyValueService::usual_sizes() const {
    return {64, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072, 262144};
}

void KeyValueService::plan(Step& step) const {
    const std::uint64_t places = kBytesOfOneSize / std::max<std::uint64_t>(step.size, 1);
    step.places = std::clamp(places, kPlacesMin, kPlacesMax);
}

std::optional<Step> KeyValueService::filling(const Step& step) const {
    if (step.keys > 1)
        return std::nullopt;
    Step fill = step;
    fill.operation = Operation::kWrite;
    return fill;
}

std::optional<Step> KeyValueService::clearing(const Step& step) const {
    if (step.keys > 1)
        return std::nullopt;
    Step clear = step;
    clear.operation = Operation::kDelete;
    return clear;
}

void KeyValueService::append_key(std::string& out, const Step& step, std::uint64_t place) {
    std::array<char, kKeyBytes + 1> key{};
    const char kind = step.keys > 1 ? 'n' : 'v';  // not there, value
    std::snprintf(key.data(), key.size(), "weir-calibrate:%c%08x:%07u", kind,
                  static_cast<unsigned>(step.size), static_cast<unsigned>(place % 10'000'000));
    out.append(key.data(), kKeyBytes);
}

const Protocol& MemcachedService::protocol() const {
    return kMemcachedProtocol;
}

void MemcachedService::append(std::string& out, const Step& step, std::uint64_t place, std::uint64_t) const {
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

const Protocol& MemcachedBinaryService::protocol() const {
    return kMemcachedProtocol;
}

void MemcachedBinaryService::append(std::string& out, const Step& step, std::uint64_t place,
                                    std::uint64_t cookie) const {
    enum Opcode : std::uint8_t { kGet = 0, kSet = 1, kDelete = 4 };
    const bool set = step.operation == Operation::kWrite;
    const Opcode opcode = set ? kSet : step.operation == Operation::kDelete ? kDelete : kGet;
    const std::uint8_t extras = set ? 8 : 0;
    append_big<std::uint8_t>(out, 0x80);
    append_big<std::uint8_t>(out, opcode);
    append_big<std::uint16_t>(out, kKeyBytes);
    append_big<std::uint8_t>(out, extras);
    append_big<std::uint8_t>(out, 0);   // data type
    append_big<std::uint16_t>(out, 0);  // vbucket
    append_big<std::uint32_t>(out, static_cast<std::uint32_t>(extras + kKeyBytes + (set ? step.size : 0)));
    append_big<std::uint32_t>(out, static_cast<std::uint32_t>(cookie));
    append_big<std::uint64_t>(out, 0);  // cas
    if (set) {
        append_big<std::uint32_t>(out, 0);  // flags
        append_big<std::uint32_t>(out, kExpirySeconds);
    }
    append_key(out, step, place);
    if (set)
        out += random_payload(step.size);
}

const Protocol& RedisService::protocol() const {
    return kRedisProtocol;
}

void RedisService::append(std::string& out, const Step& step, std::uint64_t place, std::uint64_t) const {
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

}  // namespace weir::calibrate
