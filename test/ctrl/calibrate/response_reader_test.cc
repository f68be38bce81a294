// response_reader_test.cc - responses of recorded servers, however their bytes are cut; requests as the
// switch parses them.
#include "ctrl/calibrate/load/response_reader.h"

#include <cstring>
#include <fstream>
#include <iterator>

#include "cost_functions/protocols/registry.h"
#include "ctrl/calibrate/load/service.h"
#include "test/support/catch.h"

using namespace weir;
using namespace weir::calibrate;

namespace {

struct Seen {
    std::vector<std::uint32_t> bytes;
    bool in_step = true;
    std::string failed_header;  // as much of it as had arrived
    friend bool operator==(const Seen& a, const Seen& b) {
        return a.bytes == b.bytes && a.in_step == b.in_step;
    }
};

Seen read_cut(const Protocol& protocol, const std::string& stream, std::size_t cut, std::uint32_t as_asked) {
    ResponseReader reader(protocol);
    Seen seen;
    for (std::size_t at = 0; at < stream.size() && seen.in_step; at += cut) {
        const std::size_t size = std::min(cut, stream.size() - at);
        REQUIRE(reader.room().size() >= size);
        std::memcpy(reader.room().data(), stream.data() + at, size);
        seen.in_step = reader.read(size, as_asked,
                                   [&](const Response& response) { seen.bytes.push_back(response.bytes); });
    }
    seen.failed_header = reader.failed_header();
    return seen;
}

// The same for every cut.
Seen read(const Protocol& protocol, const std::string& stream, std::uint32_t as_asked = 0) {
    const Seen whole = read_cut(protocol, stream, 1 << 16, as_asked);
    for (const std::size_t cut : {1U, 2U, 7U, 31U, 1460U})
        CHECK(read_cut(protocol, stream, cut, as_asked) == whole);
    return whole;
}

Parsed parsed(const Service& service, const Step& step) {
    std::string bytes;
    service.append(bytes, step, 3, 7);
    ParserState state;
    const Bytes all(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    Parsed header = service.protocol().request(
        all.first(std::min<std::size_t>(all.size(), service.protocol().header_max)), state);
    if (header.verdict == Parsed::Verdict::kRequest)
        CHECK(header.request.request_bytes == bytes.size());
    return header;
}

}  // namespace

TEST_CASE("a value counts once its last byte has come, however it is cut") {
    const std::string value = "VALUE k 0 5000\r\n" + std::string(5000, 'x') + "\r\nEND\r\n";
    const Seen seen = read(*find_protocol("memcached"), value + "END\r\n" + value + "STORED\r\n");
    CHECK(seen.in_step);
    CHECK(seen.bytes == std::vector<std::uint32_t>{static_cast<std::uint32_t>(value.size()), 5,
                                                   static_cast<std::uint32_t>(value.size()), 8});
}

TEST_CASE("a simple reply of NBD is as long as its request asks") {
    const std::string reply =
        std::string("\x67\x44\x66\x98\0\0\0\0\0\0\0\0\0\0\0\1", 16) + std::string(4096, 'd');
    const Seen seen = read(*find_protocol("nbd"), reply + reply, 4096 + 16);
    CHECK(seen.in_step);
    CHECK(seen.bytes == std::vector<std::uint32_t>{4112, 4112});
}

TEST_CASE("bytes that are no response are reported with their first line") {
    const Seen seen = read(*find_protocol("redis"), "+OK\r\nGET out of here\r\n");
    CHECK_FALSE(seen.in_step);
    CHECK(seen.bytes.size() == 1);
    CHECK(seen.failed_header.starts_with("G"));
    CHECK(read(*find_protocol("memcached"), "SERVER_ERROR object too large for cache\r\n").failed_header ==
          "SERVER_ERROR object too large for cache");
}

TEST_CASE("the switch parses every request as the step has it") {
    for (const std::string name : {"memcached", "memcached-binary", "redis", "nbd"}) {
        const std::unique_ptr<Service> service = make_service(name, {});
        REQUIRE(service);
        for (const Operation operation : {Operation::kRead, Operation::kWrite, Operation::kDelete})
            for (const std::uint64_t size : {1U, 64U, 4096U, 1U << 20}) {
                INFO(name << " " << static_cast<int>(operation) << " " << size);
                const Parsed found = parsed(*service, {.operation = operation, .size = size});
                REQUIRE(found.verdict == Parsed::Verdict::kRequest);
                CHECK(found.request.operation == operation);
                CHECK(found.request.keys == 1);
                CHECK((operation != Operation::kWrite || found.request.request_bytes > size));
            }
        if (service->has_several_keys())
            CHECK(parsed(*service, {.operation = Operation::kRead, .keys = 8}).request.keys == 8);
    }
    CHECK(make_service("iscsi", {}) == nullptr);
}

TEST_CASE("keys of all sizes and places have one length, so that responses have") {
    const std::unique_ptr<Service> service = make_service("memcached", {});
    const auto length = [&](std::uint64_t size, std::uint64_t place) {
        std::string bytes;
        service->append(bytes, {.operation = Operation::kRead, .size = size}, place, 0);
        return bytes.size();
    };
    CHECK(length(1, 0) == length(1 << 20, 999));
    CHECK(length(1, 0) == 4 + 32 + 2);
}
