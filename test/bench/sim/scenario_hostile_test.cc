// scenario_hostile_test.cc - wrong scenarios: every fault is found, with its place, and none runs.
#include <algorithm>

#include "bench/sim/scenario_fields.h"
#include "test/bench/sim/sim_support.h"

using namespace weir;
using namespace weir::sim;
using namespace weir::sim::test;

namespace {

struct Wrong {
    const char* text;
    const char* path;
    const char* fragment;
};

#define TENANT R"("tenants": [{"name": "t", "hosts": "0,1"}])"
#define SOURCE(rest) R"("sources": [{"name": "s", "kind": )" rest "}]"
#define UDP SOURCE(R"("udp", "tenant": "t", "from": "0", "to": "1")")

constexpr Wrong kWrong[] = {
    {"", "line 1, column 1", "this is not JSON"},
    {"[1]", "", "an object"},
    {"{}", "tenants", "a list of 1 to 64 objects"},
    {"{}", "sources", "a list of 1 to 64 objects"},
    {R"({"durration": "1s"})", "durration", "did you mean \"duration\""},
    {R"({"duration": 5})", "duration", "bare number"},
    {R"({"duration": "0us"})", "duration", "out of range"},
    {R"({"duration": "1s", "sample": "1us"})", "sample", "at most 100000 samples"},
    {R"({"duration": "1ms", "warmup": "1ms"})", "warmup", "less than"},
    {R"({"isolation": "on"})", "isolation", "off, eyeq-linear, rate-limits, weir"},
    {R"({"seed": -1})", "seed", "out of range"},
    {R"({"network": 7})", "network", "an object"},
    {R"({"network": {"hosts": 1}})", "network.hosts", "2 to 4096"},
    {R"({"network": {"hosts": 10, "leaves": 3, "spines": 2}})", "network.leaves", "a divisor"},
    {R"({"network": {"hosts": 10, "leaves": 2}})", "network.spines", "come together"},
    {R"({"network": {"rate": "10"}})", "network.rate", "such as 10Gbit"},
    {R"({"network": {"ecmp": "both"}})", "network.ecmp", "flow, packet"},
    {R"({"hosts": {"headroom": "60%"}})", "hosts.headroom", "0% to 50%"},
    {R"({"hosts": {"scheduler": "fifo"}})", "hosts.scheduler", "wrr, fulfillment, rls"},
    {R"({"rate_limits": 7})", "rate_limits", "an object"},
    {R"({"rate_limits": {"period": "0us"}})", "rate_limits.period", "out of range"},
    {R"({"rate_limits": {"signal": "delay"}})", "rate_limits.signal", "loss, queue"},
    {R"({"rate_limits": {"ceiling": "101%"}})", "rate_limits.ceiling", "50% to 100%"},
    {R"({"tenants": [{}]})", "tenants[0].name", "a name"},
    {R"({"tenants": [{"name": "a"}, {"name": "a"}]})", "tenants[1].name", "another tenant"},
    {R"({"tenants": [{"name": "a", "hosts": "0-2"}]})", "tenants[0].hosts", "of 0 to 1"},
    {R"({"tenants": [{"name": "a", "hosts": "1-"}]})", "tenants[0].hosts", "no set of hosts"},
    {R"({"tenants": [{"name": "a", "hosts": "4294967296"}]})", "tenants[0].hosts", "no set of hosts"},
    {R"({"tenants": [{"name": "a", "hosts": ",,"}]})", "tenants[0].hosts", "no set of hosts"},
    {R"({"tenants": [{"name": "a", "reservation": "5Gbit"}, {"name": "b", "reservation": "5Gbit"}]})",
     "tenants", "cannot keep these promises"},
    {R"({"tenants": [{"name": "a", "reservation": "2Gbit", "limit": "1Gbit"}]})", "tenants[0].limit",
     "at least"},
    {R"({"watch": "9"})", "watch", "no set of hosts"},
    {"{" TENANT R"(, "sources": [3]})", "sources[0]", "an object"},
    {"{" TENANT "," SOURCE(R"("magic")") "}", "sources[0].kind", "udp, tcp, requests, poisson"},
    {"{" TENANT R"(, "sources": [{"name": "s"}]})", "sources[0].kind", "needs a kind"},
    {"{" TENANT "," SOURCE(R"("udp", "tenant": "u", "from": "0", "to": "1")") "}", "sources[0].tenant", "t"},
    {"{" TENANT "," SOURCE(R"("udp", "tenant": "t", "from": "0", "to": "0")") "}", "sources[0].to",
     "within a host"},
    {"{" TENANT "," SOURCE(R"("udp", "tenant": "t", "from": "0")") "}", "sources[0].to", "both ends"},
    {"{"
     R"("network": {"hosts": 3},)" TENANT "," SOURCE(R"("udp", "tenant": "t", "from": "2", "to": "1")") "}",
     "sources[0].from", "no vNIC"},
    {"{" TENANT "," SOURCE(R"("udp", "tenant": "t", "from": "0", "to": "1", "on": "1ms")") "}",
     "sources[0].off", "neither"},
    {"{" TENANT "," SOURCE(R"("udp", "tenant": "t", "from": "0", "to": "1", "window": 4)") "}",
     "sources[0].window", "unknown key"},
    {"{" TENANT
     "," SOURCE(R"("udp", "tenant": "t", "from": "0", "to": "1", "start": "2ms", "stop": "1ms")") "}",
     "sources[0].stop", "later than"},
    {"{" TENANT "," SOURCE(R"("tcp", "tenant": "t", "from": "0", "to": "1", "window": 100)") "}",
     "sources[0].window", "a power of two"},
    {"{" TENANT "," SOURCE(
         R"("requests", "tenant": "t", "from": "0", "to": "1", "outstanding": 1, "request_rate": 9)") "}",
     "sources[0].request_rate", "either"},
    {"{" TENANT "," SOURCE(R"("poisson", "tenant": "t", "from": "0", "to": "1", "sizes": "nowhere.txt")") "}",
     "sources[0].sizes", "No such file"},
    {"{" TENANT "," SOURCE(R"("poisson", "tenant": "t", "from": "0", "to": "1", "sizes": "README.md")") "}",
     "sources[0].sizes", "line 1"},
    {"{" TENANT "," SOURCE(R"("poisson", "tenant": "t", "from": "0", "to": "1")") "}", "sources[0].load",
     "need a load"},
    {"{" TENANT "," UDP R"(, "sources": []})", "sources", "duplicate key"},
};

}  // namespace

TEST_CASE("more may be promised than the link has where the scenario allows it") {
    const auto refused = [](const char* hosts) {
        const Faults faults = faults_of(std::string(R"({"hosts": )") + hosts + R"(, "tenants": [
            {"name": "a", "reservation": "6Gbit"}, {"name": "b", "reservation": "6Gbit"}]})");
        return std::ranges::any_of(faults, [](const Fault& fault) { return fault.path == "tenants"; });
    };
    CHECK(refused("{}"));
    CHECK_FALSE(refused(R"({"overcommit": true})"));
}

TEST_CASE("a wrong scenario is refused with the place, what was found and what is allowed") {
    for (const Wrong& wrong : kWrong) {
        const Faults faults = faults_of(wrong.text);
        std::string lines;
        for (const Fault& fault : faults)
            lines += fault.to_line() + '\n';
        INFO(wrong.text << "\n" << lines);
        CHECK(std::ranges::any_of(faults, [&](const Fault& fault) {
            return fault.path == wrong.path && fault.to_line().find(wrong.fragment) != std::string::npos;
        }));
    }
}

TEST_CASE("all faults of a scenario are listed, in the order of the text") {
    const Faults faults = faults_of(R"({"duration": 1, "network": {"hosts": 0},
        "tenants": [{"name": "?"}], "sources": [{"name": "s", "kind": "udp", "tenant": "x", "from": "0", "to": "1"}]})");
    std::vector<std::string> paths;
    for (const Fault& fault : faults)
        paths.push_back(fault.path);
    CHECK(paths ==
          std::vector<std::string>{"duration", "network.hosts", "tenants[0].name", "sources[0].tenant"});
}

TEST_CASE("a table of sizes rises to 1 and holds nothing else") {
    SizeTable table;
    std::string fault;
    CHECK(parse_sizes("# comment\n\n100 0.5 # half\n200 1\n", table, fault));
    CHECK(table == SizeTable{{100, 0.5}, {200, 1}});
    for (const char* text : {"", "100", "100 0.5", "100 1 1", "100 2", "100 0.5\n90 1", "100 0.5\n200 0.4",
                             "a b", "-5 1", "1e13 1", "nan 1", "100 nan", "inf 1"}) {
        SizeTable refused;
        INFO(text);
        CHECK_FALSE(parse_sizes(text, refused, fault));
    }
}
