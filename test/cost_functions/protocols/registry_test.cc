// registry_test.cc - every protocol is found by its name, and keeps what the tracker relies on.
#include <set>

#include "cost_functions/tracker/protocol.h"
#include "test/support/catch.h"

using namespace weir;

TEST_CASE("every protocol is found by its name, and nothing by another") {
    std::set<std::string_view> names;
    for (const Protocol* protocol : protocols()) {
        CHECK(find_protocol(protocol->name) == protocol);
        CHECK(names.insert(protocol->name).second);
    }
    CHECK(names.count("bytes") == 1);
    CHECK(find_protocol("") == nullptr);
    CHECK(find_protocol("gopher") == nullptr);
}

TEST_CASE("the header of every protocol fits what is kept of one that comes in pieces") {
    for (const Protocol* protocol : protocols()) {
        INFO(protocol->name);
        CHECK(protocol->header_max >= 1);
        CHECK(protocol->header_max <= kHeaderMax);
        CHECK(protocol->request != nullptr);
        CHECK(protocol->response != nullptr);
    }
}
