// views_test.cc - lists and members of a status and a specification, also of ones that are not as expected.
#include "ctrl/api/views.h"

#include "test/support/catch.h"

using namespace weir;
using nlohmann::json;

TEST_CASE("resources are the links of the hosts and the appliances") {
    const json status =
        json::parse(R"({"hosts": [{"name": "h1", "state": "absent", "link": {"planned_bps": 7}}],
                                        "appliances": [{"name": "disk"}]})");
    CHECK(hosts_view(status) == status["hosts"]);
    CHECK(resources_view(status) ==
          json::parse(R"({"links": [{"host": "h1", "state": "absent", "planned_bps": 7}],
                                                    "appliances": [{"name": "disk"}]})"));
    Faults faults;
    CHECK(host_view(status, "h1", faults) == status["hosts"][0]);
    CHECK(faults.empty());
    CHECK(host_view(status, "h2", faults) == json::object());
    CHECK(faults.at(0).found == "h2");
}

TEST_CASE("vNICs have their tenant, and are those of one on request") {
    const json text = json::parse(R"({"tenants": [{"name": "A", "vnics": [{"name": "a1"}, {"name": "a2"}]},
                                                  {"name": "B", "vnics": [{"name": "b1", "host": "h1"}]}, {"name": "C"}]})");
    Faults faults;
    CHECK(tenants_view(text) == text["tenants"]);
    CHECK(tenant_view(text, "B", faults) == text["tenants"][1]);
    CHECK(vnics_view(text, "", faults).size() == 3);
    CHECK(vnics_view(text, "B", faults) == json::parse(R"([{"name": "b1", "host": "h1", "tenant": "B"}])"));
    CHECK(vnics_view(text, "C", faults) == json::array());
    CHECK(faults.empty());
    (void)vnics_view(text, "D", faults);
    CHECK(faults.size() == 1);
    CHECK(tenants_view(json()) == json::array());
    CHECK(vnics_view(json::array(), "", faults) == json::array());
}
