// http_body_test.cc - heads that announce a body, and those on which two readers would differ.
// Source: RFC 9112 6.1 to 6.3.
#include "common/http/http_body.h"

#include "test/support/catch.h"

using namespace weir;

TEST_CASE("a head announces as many bytes as its one Content-Length says, or none") {
    CHECK(body_of({}).bytes == 0);
    CHECK(body_of({}).status == 0);
    CHECK(body_of({{"content-LENGTH", "9"}, {"X", "1"}}).bytes == 9);
    CHECK(body_of({{"Content-Length", "000000000000000009"}}).status == 0);
    CHECK(body_of({{"Content-Length", "999999999999999999"}}).bytes == 999'999'999'999'999'999);
}

TEST_CASE("a head of which two readers would make different bodies is refused") {
    for (const char* value : {"", "chunked", "identity", "gzip, chunked", "x"})
        for (const char* name : {"Transfer-Encoding", "transfer-encoding", "TRANSFER-ENCODING"}) {
            CHECK(body_of({{name, value}}).status == 411);
            CHECK(body_of({{"Content-Length", "5"}, {name, value}}).status == 400);
        }
    for (const char* value :
         {"", "+5", "-5", "0x5", "5, 5", "5 5", "5;", "1000000000000000000", "\xd9\xa5"}) {
        const HttpBody body = body_of({{"Content-Length", value}});
        CHECK(body.status == 400);
        CHECK(body.found == value);
    }
    CHECK(body_of({{"Content-Length", "5"}, {"Content-Length", "5"}}).status == 400);
    CHECK(body_of({{"Content-Length", "5"}, {"content-length", "6"}}).status == 400);
    for (const char* name : {"Transfer-Encoding ", "Transfer-Encoding\t", "Transfer-Encodingchunked",
                             "content-length5", "", "X Y", "X\x01", "(X)"})
        CHECK(body_of({{name, "5"}}).status == 400);
    CHECK(body_of({{"X-Transfer-Encoding", "chunked"}, {"Content-Type", "a"}, {"X_1.2~", ""}}).status == 0);
}
