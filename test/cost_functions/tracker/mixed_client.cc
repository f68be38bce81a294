// mixed_client.cc - the requests of each kind of session, and the bytes of their replies.
#include "test/cost_functions/tracker/mixed_client.h"

#include "test/cost_functions/protocols/parser_checks.h"

namespace weir::testing {
namespace {

std::string text(const Octets& bytes) {
    return {bytes.begin(), bytes.end()};
}

std::string bulk(const std::string& word) {
    return "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
}

std::string array(const std::vector<std::string>& words) {
    std::string all = "*" + std::to_string(words.size()) + "\r\n";
    for (const std::string& word : words)
        all += bulk(word);
    return all;
}

std::string binary_message(unsigned magic, unsigned opcode, unsigned status, const std::string& extras,
                           const std::string& key, const std::string& value, std::uint32_t opaque) {
    return text(Wire()
                    .u8(magic)
                    .u8(opcode)
                    .big(static_cast<std::uint16_t>(key.size()))
                    .u8(static_cast<unsigned>(extras.size()))
                    .u8(0)
                    .big(static_cast<std::uint16_t>(status))
                    .big(static_cast<std::uint32_t>(extras.size() + key.size() + value.size()))
                    .big(opaque)
                    .zeroes(8)
                    .text(extras + key + value));
}

}  // namespace

MixedClient::MixedClient(std::string_view kind, std::uint32_t seed) : kind_(kind), random_(seed) {}

const std::vector<std::string_view>& MixedClient::kinds() {
    static const std::vector<std::string_view> all{"memcached", "memcached-meta", "memcached-binary", "redis",
                                                   "nbd",       "nbd-structured"};
    return all;
}

std::string_view MixedClient::protocol() const {
    return kind_.substr(0, kind_.find('-'));
}

Exchange MixedClient::next() {
    ++number_;
    if (kind_ == "memcached")
        return memcached();
    if (kind_ == "memcached-meta")
        return meta();
    if (kind_ == "memcached-binary")
        return binary();
    return kind_ == "redis" ? redis() : nbd(kind_ == "nbd-structured");
}

std::string MixedClient::key() {
    return "key:" + std::to_string(number_) + ":" + std::string(below(20) == 0 ? below(200) : below(20), 'k');
}

/// Mostly small.
std::string MixedClient::value() {
    return std::string(below(10) == 0 ? below(5000) : below(120), 'v');
}

Exchange MixedClient::memcached() {
    const std::string name = key();
    const std::string data = value();
    const std::string length = std::to_string(data.size());
    switch (below(8)) {
        case 0:
            return {"set " + name + " 0 0 " + length + "\r\n" + data + "\r\n", "STORED\r\n"};
        case 1:
            return {"append " + name + " 0 0 " + length + " noreply\r\n" + data + "\r\n", ""};
        case 2:
            return {"delete " + name + "\r\n", below(2) == 0 ? "DELETED\r\n" : "NOT_FOUND\r\n"};
        case 3:
            return {"incr " + name + " 1\r\n", std::to_string(below(1'000'000)) + "\r\n"};
        case 4: {
            Exchange exchange{"gets " + name, ""};
            for (std::uint32_t more = below(100); more > 0; --more) {
                const std::string other = "other:" + std::to_string(more);
                exchange.request += " " + other;
                if (below(4) == 0)
                    exchange.response += "VALUE " + other + " 0 " + length + " 77\r\n" + data + "\r\n";
            }
            exchange.request += "\r\n";
            exchange.response += "END\r\n";
            return exchange;
        }
        case 5:
            return {"get " + name + "\r\n", "END\r\n"};
        default:
            return {"get " + name + "\r\n", "VALUE " + name + " 0 " + length + "\r\n" + data + "\r\nEND\r\n"};
    }
}

Exchange MixedClient::meta() {
    const std::string name = key();
    const std::string data = value();
    const std::string length = std::to_string(data.size());
    const std::string opaque = " O" + std::to_string(number_);
    switch (below(6)) {
        case 0:
            return {"ms " + name + " " + length + " T0\r\n" + data + "\r\n", "HD\r\n"};
        case 1:
            return {"ms " + name + " " + length + " q\r\n" + data + "\r\n", ""};
        case 2:
            return {"md " + name + "\r\n", below(2) == 0 ? "HD\r\n" : "NF\r\n"};
        case 3: {
            const bool hit = below(2) == 0;
            return {"mg " + name + " v q" + opaque + "\r\nmn\r\n",
                    (hit ? "VA " + length + opaque + "\r\n" + data + "\r\n" : "") + "MN\r\n", 2};
        }
        case 4:
            return {"mg " + name + " v\r\n", "EN\r\n"};
        default:
            return {"mg " + name + " t v" + opaque + "\r\n",
                    "VA " + length + " t-1" + opaque + "\r\n" + data + "\r\n"};
    }
}

Exchange MixedClient::binary() {
    const std::string name = key();
    const std::string data = value();
    const std::string flags(4, '\0');
    const std::string none;
    switch (below(4)) {
        case 0:
            return {binary_message(0x80, 0x01, 0, flags + flags, name, data, number_),
                    binary_message(0x81, 0x01, 0, none, none, none, number_)};
        case 1:
            return {binary_message(0x80, 0x11, 0, flags + flags, name, data, number_), ""};
        case 2: {  // quiet gets, of which one hits, and a no-op
            Exchange exchange{"", "", 9};
            const std::uint32_t hit = below(8);
            for (std::uint32_t i = 0; i < 8; ++i)
                exchange.request += binary_message(0x80, 0x0d, 0, none, name + std::to_string(i), none, i);
            exchange.request += binary_message(0x80, 0x0a, 0, none, none, none, number_);
            exchange.response = binary_message(0x81, 0x0d, 0, flags, name + std::to_string(hit), data, hit) +
                                binary_message(0x81, 0x0a, 0, none, none, none, number_);
            return exchange;
        }
        default:
            return {binary_message(0x80, 0x00, 0, none, name, none, number_),
                    below(3) == 0 ? binary_message(0x81, 0x00, 1, none, none, "Not found", number_)
                                  : binary_message(0x81, 0x00, 0, flags, none, data, number_)};
    }
}

Exchange MixedClient::redis() {
    const std::string name = key();
    const std::string data = value();
    switch (below(7)) {
        case 0:
            return {array({"SET", name, data}), "+OK\r\n"};
        case 1:
            return {array({"GET", name}), bulk(data)};
        case 2:
            return {array({"GET", name}), below(2) == 0 ? "$-1\r\n" : "_\r\n"};
        case 3:
            return {"INCR " + name + "\r\n", ":" + std::to_string(below(1000)) + "\r\n"};
        case 4: {
            std::vector<std::string> words{"MSET"};
            for (std::uint32_t more = below(40); more > 0; --more) {
                words.push_back(name + std::to_string(more));
                words.push_back(data);
            }
            words.push_back(name);
            words.push_back(data);
            return {array(words), below(2) == 0 ? "+OK\r\n" : "-OOM command not allowed\r\n"};
        }
        case 5: {
            std::string reply = ">2\r\n+invalidate\r\n*1\r\n$1\r\nk\r\n%2\r\n+a\r\n*3\r\n";
            reply += bulk(data) + ":7\r\n" + bulk(name) + "$3\r\nkey\r\n~1\r\n#t\r\n";
            return {array({"HGETALL", name}), reply};
        }
        default: {
            std::string reply = "*60\r\n";
            for (int i = 0; i < 60; ++i)
                reply += bulk(std::to_string(i) + std::string(below(30), 'e'));
            return {array({"lrange", name, "0", "59"}), reply};
        }
    }
}

Exchange MixedClient::nbd(bool structured) {
    const bool read = below(3) != 0;
    const std::uint32_t length = 512 * (1 + below(below(8) == 0 ? 16 : 2));
    const std::string data(length, 'd');
    const std::uint64_t cookie = std::uint64_t{number_} << 20 | 0x5a5a;
    Wire request;
    request.big(0x25609513U).big(std::uint16_t{0}).big(static_cast<std::uint16_t>(read ? 0 : 1));
    request.big(cookie).big(std::uint64_t{number_} * 4096).big(length).text(read ? "" : data);
    Wire reply;
    if (!structured) {
        reply.big(0x67446698U).big(std::uint32_t{0}).big(cookie).text(read ? data : "");
    } else if (read) {  // two chunks of data
        for (const std::uint16_t last : {std::uint16_t{0}, std::uint16_t{1}})
            reply.big(0x668e33efU)
                .big(last)
                .big(std::uint16_t{1})
                .big(cookie)
                .big(8 + length / 2)
                .big(std::uint64_t{0})
                .text(data.substr(0, length / 2));
    } else {
        reply.big(0x668e33efU).big(std::uint16_t{1}).big(std::uint16_t{0}).big(cookie).big(std::uint32_t{0});
    }
    return {text(request), text(reply)};
}

}  // namespace weir::testing
