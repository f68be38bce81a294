// controller_specification_test.cc - the commands apply, history, specification and observed: all of a
// change, or nothing.
#include <nlohmann/json.hpp>

#include "ctrl/daemon/interval_solver.h"
#include "ctrl/daemon/new_revision.h"
#include "test/ctrl/daemon/controller_world.h"
#include "test/support/catch.h"
#include "test/support/temp_folder.h"

using namespace weir;
using nlohmann::json;
using test::FakeSwitch;
using wire::Part;

namespace {

const char* const kFirst = R"({"name": "test", "headroom": "0%",
    "topology": {"hosts": [{"name": "h1", "uplink": "1Gbit"}, {"name": "h2", "uplink": "1Gbit"}]},
    "appliances": [{"name": "disk", "capacity_min": "1ktokens", "capacity_max": "1ktokens"}],
    "tenants": [
        {"name": "A", "vnics": [{"name": "a1"}, {"name": "a2"}, {"name": "a3"}, {"name": "a4"}, {"name": "a5"}],
         "appliances": [{"name": "disk", "reservation": "400tokens"}]},
        {"name": "B", "vnics": [{"name": "b1", "reservation": "300Mbit"}, {"name": "b2", "reservation": "300Mbit"}],
         "appliances": [{"name": "disk", "reservation": "300tokens"}]}]})";

struct SpecifiedWorld : test::ControllerWorld {
    json stated = json::parse(kFirst);
    FakeSwitch h1{"h1", {"a1", "b1"}, "r1"};
    FakeSwitch h2{"h2", {"a2", "b2"}, "r2"};

    SpecifiedWorld() : ControllerWorld(kFirst) {
        (void)import_specification(store, config, kFirst, "weir-ctrl --config", 900);
        restart();
        switches = {&h1, &h2};
        for (FakeSwitch* each : switches) {
            each->hello.appliances = {{.name = "disk"}};
            each->hello.capabilities = {std::string(wire::capability::kTablesByNeed)};
            join(*each);
        }
        h1.want("b1", "disk", {0, 900, 0});
        h2.want("a2", "disk", {0, 900, 0});
        pass_interval();
        pass_interval();
    }
    void pass_interval() { ControllerWorld::pass_interval(switches); }
    json command(const char* name, json args) {
        const json request{{"schema", 1}, {"command", name}, {"args", std::move(args)}};
        json reply =
            json::parse(controller->on_command(request.dump(), {}, now, {}, {.peer = "uid 0, process 7"}));
        deliver();
        return reply;
    }
    json apply(json args = json::object()) {
        args["text"] = stated.dump();
        return command("apply", std::move(args));
    }
    json& tenant(std::size_t index) { return stated["tenants"][index]; }
    [[nodiscard]] json pending() { return command("observed", json::object())["data"]["pending"]; }
};

std::string fault_of(const json& reply) {
    return reply["ok"] == true ? "none" : reply["faults"][0]["path"].get<std::string>();
}

}  // namespace

TEST_CASE(
    "apply makes a text the next revision, and says what it changes and whose promises become smaller") {
    SpecifiedWorld world;
    world.tenant(1)["appliances"][0]["reservation"] = "200tokens";
    world.tenant(1)["vnics"][0]["limit"] = "800Mbit";
    const json reply = world.apply({{"base", 1}, {"yes", true}});
    REQUIRE(reply["ok"] == true);
    const json& data = reply["data"];
    CHECK(data["applied"] == true);
    CHECK(data["base"] == 1);
    CHECK(data["revision"] == 2);
    CHECK(
        data["changes"] ==
        json::parse(
            R"([{"path": "tenants.B.appliances.disk.reservation", "before": "\"300tokens\"", "now": "\"200tokens\""},
                          {"path": "tenants.B.vnics.b1.limit", "before": "", "now": "\"800Mbit\""}])"));
    CHECK(data["smaller"] == json::parse(R"(["tenant B: reservation at disk 300 -> 200 tokens/s",
                                             "vNIC b1: limit none -> 800Mbit"])"));
    CHECK(data["concerned"] == 2);
    CHECK(data["vnics"] == 7);
    CHECK(world.controller->revision() == 2);
    CHECK(world.store.specification() == world.stated.dump());
    CHECK(world.h1.tables.guarantees.back().rate[wire::kTokens] == 100);
    const json history = world.command("history", json::object())["data"];
    CHECK(history["revision"] == 2);
    CHECK(history["revisions"][0]["author"] == "weir-ctrl --config");
    CHECK(history["revisions"][1]["author"] == "uid 0, process 7");
    CHECK(world.apply()["data"]["applied"] == false);  // no value differs
    CHECK(world.controller->revision() == 2);
}

TEST_CASE("each change of the specification is audited: the peer, its command, the values, the revision") {
    SpecifiedWorld world;
    const auto last = [&world](json args) {
        return world.command("audit", std::move(args))["data"]["entries"].back();
    };
    const json imported = last({{"changes", true}});
    CHECK(imported["peer"] == "weir-ctrl --config");
    CHECK(imported["revision"] == 1);
    CHECK(imported["changes_in_all"] == 5);  // name, headroom, topology, appliances, tenants
    world.tenant(1)["appliances"][0]["reservation"] = "200tokens";
    (void)world.apply({{"yes", true}, {"via", "tenant set"}});
    const json entry = last({{"last", 1}});
    CHECK(entry["kind"] == "specification");
    CHECK(entry["peer"] == "uid 0, process 7");
    CHECK(entry["revision"] == 2);
    CHECK(entry["text"].get<std::string>().ends_with("by `tenant set`"));
    CHECK(
        entry["changes"] ==
        json::parse(
            R"([{"path": "tenants.B.appliances.disk.reservation", "before": "\"300tokens\"", "now": "\"200tokens\""}])"));
    CHECK(fault_of(world.apply({{"yes", true}, {"via", std::string(300, 'x')}})) == "args.via");
}

TEST_CASE("a change that the store refuses, a dry run and a refused one leave no audit entry") {
    SpecifiedWorld world;
    const auto entries = [&world] { return world.store.audit_tail(100).size(); };
    const std::size_t before = entries();
    world.tenant(1)["appliances"][0]["reservation"] = "200tokens";
    world.store.spoil(
        "CREATE TRIGGER full BEFORE INSERT ON specifications BEGIN SELECT RAISE(ABORT, 'full'); END");
    CHECK(fault_of(world.apply({{"yes", true}})) == "store");
    CHECK(world.apply({{"dry_run", true}})["ok"] == true);
    CHECK(fault_of(world.apply({{"base", 7}})) == "base");
    CHECK(entries() == before);
    world.store.spoil("DROP TRIGGER full");
    world.store.spoil("CREATE TRIGGER full BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'full'); END");
    CHECK(fault_of(world.apply({{"yes", true}})) == "store");  // no revision without its entry
    CHECK(world.store.revision() == 1);
}

TEST_CASE("the audit trail is read since a time, and only operators' commands if so wanted") {
    SpecifiedWorld world;
    const auto kinds = [&world](json args) {
        std::string text;
        const json reply = world.command("audit", std::move(args));
        for (const json& each : reply["data"]["entries"])
            text += each["kind"].get<std::string>() + ' ';
        return text;
    };
    CHECK(kinds({{"last", 2}}) == "welcome welcome ");
    CHECK(kinds({{"last", 9}, {"changes", true}}) == "specification ");
    CHECK(kinds({{"last", 9}, {"since", 1'000}}).find("specification") == std::string::npos);
    CHECK(kinds({{"last", 9}, {"since", 900}}).find("specification") != std::string::npos);
    CHECK(world.command("audit", {{"last", 1}})["data"]["more"] == true);
    CHECK(world.command("audit", {{"last", 90}})["data"]["more"] == false);
}

TEST_CASE("the hosts that have not confirmed a revision are listed until their switches have its tables") {
    SpecifiedWorld world;
    CHECK(world.pending().empty());
    world.tenant(1)["appliances"][0]["reservation"] = "200tokens";
    (void)world.apply({{"yes", true}});
    CHECK(world.pending().size() == 2);
    world.pass_interval();
    CHECK(world.pending().size() == 2);  // their demands were sent before the tick
    world.now += test::kInterval;
    world.give(world.h1, world.h1.send_demands());
    CHECK(world.pending() == json::parse(R"([{"host": "h2", "state": "connected", "revision": 1}])"));
    world.pass_interval();
    CHECK(world.pending().empty());
    world.stated["topology"]["hosts"].push_back({{"name", "h3"}});
    (void)world.apply();
    CHECK(world.pending().empty());  // it concerns no host
}

TEST_CASE("a dry run, another base, and a change of much of the cluster without --yes change nothing") {
    SpecifiedWorld world;
    world.tenant(0)["weight"] = 50;
    const json dry = world.apply({{"dry_run", true}});
    REQUIRE(dry["ok"] == true);
    CHECK(dry["data"]["applied"] == false);
    CHECK(dry["data"]["concerned"] == 5);
    CHECK(dry["data"]["smaller"] == json::parse(R"(["tenant A: weight 100 -> 50"])"));
    const json surprising = world.apply();
    CHECK(fault_of(surprising) == "yes");
    CHECK(surprising["faults"][0]["found"] == "5 of 7 vNICs");
    CHECK(fault_of(world.apply({{"yes", true}, {"base", 7}})) == "base");
    CHECK(world.controller->revision() == 1);
    CHECK(world.store.revision() == 1);
    CHECK(world.apply({{"yes", true}, {"base", 1}})["ok"] == true);
}

TEST_CASE("all faults of a text are named with their places, and nothing is applied") {
    SpecifiedWorld world;
    world.tenant(0)["vnics"][1]["reservation"] = "much";
    world.tenant(1)["vnics"][0]["colour"] = "red";
    const json reply = world.apply();
    REQUIRE(reply["ok"] == false);
    REQUIRE(reply["faults"].size() == 2);
    CHECK(reply["faults"][0]["path"] == "tenants[0].vnics[1].reservation");
    CHECK(reply["faults"][1]["path"] == "tenants[1].vnics[0].colour");
}

TEST_CASE(
    "a change that does not fit beside the vNICs that are there is refused with the link that is short") {
    SpecifiedWorld world;
    world.stated["topology"]["hosts"].push_back({{"name", "h3"}});  // they would fit there together
    world.tenant(0)["vnics"][0]["reservation"] = "800Mbit";
    world.tenant(0)["vnics"][1]["reservation"] = "800Mbit";
    const json reply = world.apply({{"yes", true}});
    REQUIRE(reply["ok"] == false);
    REQUIRE(reply["faults"].size() == 2);
    CHECK(reply["faults"][0]["path"] == "tenants.A.vnics.a1");
    CHECK(reply["faults"][0]["found"] == "on host h1");
    CHECK(reply["faults"][0]["message"].get<std::string>().find(
              "the uplink of host h1 would need 1.1Gbit of 1Gbit") != std::string::npos);
    CHECK(world.host("h1")["refused_vnics"].empty());
}

TEST_CASE("vNICs that a revision removes are named with their hosts, and held there") {
    SpecifiedWorld world;
    world.tenant(1)["vnics"].erase(0);
    const json reply = world.apply({{"yes", true}});
    REQUIRE(reply["ok"] == true);
    CHECK(reply["data"]["held"] ==
          json::parse(R"([{"vnic": "b1", "host": "h1", "why": "it is not in the cluster file"}])"));
    world.pass_interval();
    CHECK(world.host("h1")["refused_vnics"] == json::parse(R"(["b1: it is not in the cluster file"])"));
    CHECK(world.store.removed_vnics().size() == 1);
    CHECK(world.h2.rate("a2", "disk", Part::kAppliance) == 900);
}

TEST_CASE("the interval, the name and the keys of the process do not change while it runs") {
    SpecifiedWorld world;
    world.stated["interval"] = "2s";
    world.stated["name"] = "other";
    world.stated["control_socket"] = "/tmp/other.sock";
    const json reply = world.apply();
    REQUIRE(reply["faults"].size() == 3);
    CHECK(reply["faults"][0]["path"] == "name");
    CHECK(reply["faults"][1]["path"] == "interval");
    CHECK(reply["faults"][2]["path"] == "control_socket");
    world.stated = json::parse(kFirst);
    world.stated["control_socket"] = world.config.control_socket;
    CHECK(world.apply()["data"]["changes"].empty());
}

TEST_CASE(
    "a drained host takes no further vNIC without a host of its own; those that are there stay, and are "
    "listed") {
    SpecifiedWorld world;
    const auto refused = [&world] {
        world.give(world.h2, world.h2.send_hello());
        world.deliver();
        return world.host("h2")["refused_vnics"];
    };
    world.stated["topology"]["hosts"][1]["drain"] = true;
    world.tenant(0)["vnics"][3]["host"] = "h2";  // a4
    const json reply = world.apply();
    REQUIRE(reply["ok"] == true);
    CHECK(reply["data"]["concerned"] == 1);  // a4, and none of those that are on h2
    CHECK(reply["data"]["drained"] == json::parse(R"({"h2": {"floating": ["a2", "b2"], "stated": []}})"));
    CHECK(reply["data"]["held"].empty());
    for (const char* name : {"a3", "a4"})
        world.h2.hello.vnics.emplace_back().name = name;
    CHECK(refused() ==
          json::parse(R"(["a3: host h2 is drained, and the specification names no host for this vNIC"])"));
    CHECK(world.host("h2")["drained"] == json::parse(R"({"floating": ["a2", "b2"], "stated": ["a4"]})"));
    CHECK_FALSE(world.host("h1").contains("drained"));
    world.pass_interval();
    CHECK(world.host("h2")["refused_vnics"].size() == 1);  // it is tried again, and refused again

    world.config = std::get<ClusterConfig>(parse_cluster(world.stated.dump(), placement_faults));
    world.restart();
    std::erase_if(world.h2.hello.vnics, [](const auto& vnic) { return vnic.name == "a3"; });
    world.join(world.h2);
    CHECK(world.host("h2")["refused_vnics"].empty());
    world.h2.hello.vnics.emplace_back().name = "a5";
    CHECK(refused().size() == 1);
    world.stated["topology"]["hosts"][1]["drain"] = false;
    REQUIRE(world.apply()["ok"] == true);
    CHECK(world.host("h2")["refused_vnics"].empty());
}

TEST_CASE("a host whose promises fit nowhere else is not drained") {
    SpecifiedWorld world;
    world.stated["topology"]["hosts"][0]["vms_max"] = 3;
    world.stated["topology"]["hosts"][1]["drain"] = true;
    const json reply = world.apply({{"yes", true}});
    CHECK(fault_of(reply) == "topology.hosts[0].vms_max");
    world.stated["topology"]["hosts"][0]["drain"] = true;
    CHECK(world.apply({{"yes", true}})["faults"].dump().find("which is drained") != std::string::npos);
}

TEST_CASE("a store that cannot be written refuses the change, and the revision before goes on") {
    SpecifiedWorld world;
    world.tenant(0)["vnics"].push_back({{"name", "a6"}, {"$comment", ""}});
    world.tenant(0)["vnics"].back().erase("$comment");
    world.store.spoil(
        "CREATE TRIGGER full BEFORE INSERT ON specifications BEGIN SELECT RAISE(ABORT, 'full'); END");
    const json reply = world.apply({{"yes", true}});
    CHECK(fault_of(reply) == "store");
    CHECK(world.controller->revision() == 1);
    CHECK_FALSE(world.store.find_endpoint("vnic", "a6"));
    world.store.spoil("DROP TRIGGER full");
    CHECK(world.apply({{"yes", true}})["data"]["revision"] == 2);
    CHECK(world.store.find_endpoint("vnic", "a6"));
}

TEST_CASE("an earlier revision is read by its number, and comes into force by apply") {
    SpecifiedWorld world;
    world.tenant(1)["appliances"][0]["reservation"] = "200tokens";
    (void)world.apply({{"yes", true}});
    const json first = world.command("specification", {{"revision", 1}});
    CHECK(first["data"]["text"] == kFirst);
    const json back = world.command("apply", {{"text", first["data"]["text"]}, {"yes", true}});
    CHECK(back["data"]["revision"] == 3);
    CHECK(world.h1.tables.guarantees.back().rate[wire::kTokens] == 150);
    CHECK(fault_of(world.command("specification", {{"revision", 9}})) == "revision");
}

TEST_CASE("a change is parsed and built on another thread, while messages come and vNICs move") {
    const test::TempFolder folder;
    const ClusterConfig config = std::get<ClusterConfig>(parse_cluster(kFirst, placement_faults));
    Store store(folder.file("ctrl.db"));
    (void)import_specification(store, config, kFirst, "test", 900);
    Controller controller(
        config, [](const ClusterConfig& of) { return std::make_shared<IntervalSolver>(of); }, store, 1'000);
    FakeSwitch h1{"h1", {"a1", "b1"}, "r1"};
    FakeSwitch h2{"h2", {"a2", "b2"}, "r2"};
    const auto send = [&](FakeSwitch& from, const FakeSwitch::Message& message) {
        controller.on_message(from.peer, message.header, message.body, 0);
        for (const Outgoing& each : controller.take_outgoing())
            (each.route == "r1" ? h1 : h2).receive(each);
    };
    send(h1, h1.send_hello());
    send(h2, h2.send_hello());
    for (std::uint64_t number = 1; number <= 20; ++number) {
        json stated = json::parse(kFirst);
        stated["tenants"][1]["vnics"][0]["limit"] = std::to_string(900 - number) + "Mbit";
        const json request{
            {"schema", 1}, {"command", "apply"}, {"args", {{"text", stated.dump()}, {"yes", true}}}};
        CHECK(controller.on_command(request.dump(), {}, 0, {}, {.ticket = number}).empty());
        std::vector<SideWork::Reply> replies;
        while (replies.empty()) {  // a1 and a5 come and go meanwhile
            h1.hello.vnics[0].name = h1.hello.vnics[0].name == "a1" ? "a5" : "a1";
            send(h1, h1.send_hello());
            replies = controller.take_replies(0);
        }
        REQUIRE(replies.size() == 1);
        CHECK(replies[0].ticket == number);
        CHECK(json::parse(replies[0].text)["data"]["revision"] == number + 1);
        const json running = controller.running();
        CHECK(running["vnics"].size() == 4);
        CHECK(running["vnics"].contains(h1.hello.vnics[0].name));
    }
    CHECK(store.revision() == 21);
}
