// weirctl_test.cc - the program itself: exit status, standard output, and its requests to the switch.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <mutex>
#include <sstream>
#include <vector>

#include "ctrl/alloc/registry.h"
#include "ctrl/what_if/registry.h"
#include "test/ctrl/cli/canned.h"
#include "test/ctrl/cli/fake_switch.h"
#include "test/support/catch.h"
#include "test/support/places.h"

using namespace weir::cli::test;
using nlohmann::json;

namespace {

struct Result {
    int status = -1;
    std::string output;  // standard output and error
};

Result run(const std::string& arguments) {
    Result result;
    FILE* pipe = ::popen(
        ("env -u WEIR_SOCKET " + weir::test::build_path("ctrl/cli/weirctl") + " " + arguments + " 2>&1")
            .c_str(),
        "r");
    REQUIRE(pipe != nullptr);
    std::array<char, 4096> buffer{};
    for (std::size_t n = 1; n > 0;) {
        n = std::fread(buffer.data(), 1, buffer.size(), pipe);
        result.output.append(buffer.data(), n);
    }
    const int status = ::pclose(pipe);
    result.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return result;
}

const char* const kCluster = R"({"topology": {"hosts": [{"name": "h1"}, {"name": "h2"}]}, "tenants": [
    {"name": "B", "vnics": [{"name": "b1", "reservation": "6Gbit"}, {"name": "b2", "host": "h2", "reservation": "6Gbit"}]}]})";

std::string file_with(const std::string& text) {
    const std::string file = "weirctl-test-" + std::to_string(::getpid()) + ".json";
    std::ofstream(file) << text;
    return file;
}

/// Reply to `apply`.
const char* const kAppliedChange =
    R"({"base": 7, "revision": 8, "applied": true, "changes_in_all": 3, "changes": [
        {"path": "tenants.A.weight", "before": "100", "now": "50"},
        {"path": "tenants.B", "before": "", "now": "{}"}, {"path": "hosts.h9", "before": "{}", "now": ""}],
    "smaller": ["tenant A: weight 100 -> 50"], "smaller_in_all": 1, "concerned": 2, "vnics": 9,
    "held": [{"vnic": "c1", "host": "h1", "why": "it is not in the cluster file"}]})";

/// A switch that replays the canned answers and keeps the last request.
class CannedSwitch {
  public:
    CannedSwitch() : fake_(fresh_socket(), [this](const std::string& text) { return answer(text); }) {}

    [[nodiscard]] Result ctl(const std::string& arguments) {
        return run("--socket " + fake_.path() + " " + arguments);
    }
    [[nodiscard]] const std::string& path() const { return fake_.path(); }
    [[nodiscard]] json last_request() {
        const std::lock_guard lock(mutex_);
        return last_;
    }

  private:
    std::string answer(const std::string& text) {
        const json request = json::parse(text);
        {
            const std::lock_guard lock(mutex_);
            last_ = request;
        }
        const std::string command = request["command"];
        json data = request["args"];
        if (command == "status")
            data = canned_status();
        else if (command == "vnic.list")
            data = canned_list();
        else if (command == "vnic.show")
            data = canned_vnic();
        else if (command == "flow.list")
            data = canned_flows();
        else if (command == "why")
            data = canned_why();
        else if (command == "running")
            data = {{"specification", kCluster}, {"vnics", {{"b1", "h1"}}}};
        else if (command == "apply")
            data = json::parse(kAppliedChange);
        else if (command == "observed")
            data = {{"revision", 8}, {"pending", {{{"host", "h2"}, {"state", "silent"}, {"revision", 7}}}}};
        else if (command == "specification")
            data = {{"revision", 8}, {"text", kCluster}};
        else if (command == "drops")
            data = canned_drops();
        else if (command == "vnic.remove" && data["name"] == "vm9")
            return R"({"schema":1,"ok":false,"faults":[{"path":"name","found":"vm9","allowed":"vm1, vm2","message":"no such vNIC"}]})";
        return json{{"schema", 1}, {"ok", true}, {"data", data}}.dump();
    }

    std::mutex mutex_;
    json last_;
    FakeSwitch fake_;
};

}  // namespace

TEST_CASE("with --json the whole reply is printed instead of text") {
    CannedSwitch fake;
    for (const auto& [command, data] : {std::pair{"status", canned_status()},
                                        {"drops", canned_drops()},
                                        {"vnic list", canned_list()},
                                        {"vnic show vm1", canned_vnic()}}) {
        const Result text = fake.ctl(command);
        CHECK(text.status == 0);
        CHECK(text.output.find("vm1") != std::string::npos);
        CHECK(text.output.find('\x1b') == std::string::npos);  // a pipe takes no colour
        const Result parsed = fake.ctl(std::string(command) + " --json");
        CHECK(parsed.status == 0);
        CHECK(json::parse(parsed.output) == json{{"schema", 1}, {"ok", true}, {"data", data}});
    }
}

TEST_CASE("vnic set sends typed values") {
    CannedSwitch fake;
    CHECK(fake.ctl("vnic set vm1 limit=2Gbit shares=200 limit_pps=none").output == "vm1 changed\n");
    CHECK(fake.last_request() == json::parse(R"({"schema": 1, "command": "vnic.set", "args":
        {"name": "vm1", "change": {"limit": "2Gbit", "shares": 200, "limit_pps": null}}})"));
}

TEST_CASE("vnic add takes pairs, an object, a file or standard input") {
    CannedSwitch fake;
    const json vnic{{"name", "vm9"}, {"socket", "/run/vm9"}};
    const std::string file = "weirctl_test_vnic.jsonc";
    std::ofstream(file) << "{ // with a comment\n\"name\": \"vm9\", \"socket\": \"/run/vm9\" }";
    for (const std::string& arguments :
         {std::string("name=vm9 socket=/run/vm9"), std::string(R"('{"name": "vm9", "socket": "/run/vm9"}')"),
          file, "- < " + file}) {
        INFO(arguments);
        CHECK(fake.ctl("vnic add " + arguments).output == "vm9 added\n");
        CHECK(fake.last_request()["args"] == json{{"vnic", vnic}});
    }
    std::remove(file.c_str());
}

TEST_CASE("a refusal is exit status 1, in text and in JSON") {
    CannedSwitch fake;
    const Result text = fake.ctl("vnic remove vm9");
    CHECK(text.status == 1);
    CHECK(text.output == "weirctl: name: found vm9; allowed: vm1, vm2; no such vNIC\n");
    const Result parsed = fake.ctl("--json vnic remove vm9");
    CHECK(parsed.status == 1);
    CHECK(json::parse(parsed.output)["faults"][0]["path"] == "name");
    CHECK(fake.ctl("vnic remove vm1").output == "vm1 removed\n");
}

TEST_CASE("an absent switch is exit status 1, and the error names the socket") {
    const Result result = run("--socket /tmp/weir-no-such.sock status");
    CHECK(result.status == 1);
    CHECK(result.output.find("weirctl: ipc:///tmp/weir-no-such.sock: found No such file or directory; no "
                             "switch or controller listens here") == 0);
}

TEST_CASE("a reply is waited for as long as --timeout says, before the command or after it") {
    const FakeSwitch silent(fresh_socket(), [](const std::string&) { return std::string(); });
    for (const char* arguments : {"--timeout 50ms status", "status --timeout 0.05s"}) {
        const Result result = run("--socket " + silent.path() + " " + arguments);
        INFO(arguments);
        CHECK(result.status == 1);
        CHECK(result.output.find("found no reply within 50 ms; the program is busy") != std::string::npos);
    }
    const Result unit = run("--timeout 5 status");
    CHECK(unit.status == 2);
    CHECK(unit.output.find("weirctl: --timeout: found 5; allowed: a number with a unit") == 0);
    const Result range = run("solve /no/such/file --timeout 2h");
    CHECK(range.status == 2);
    CHECK(range.output.find("weirctl: --timeout: found 2h; allowed: ") == 0);
    CHECK(run("--help").output.find("--timeout TIME") != std::string::npos);
}

TEST_CASE("solve prints the answer, or every fault with its path and exit status 2") {
    const std::string file = "weirctl_test_problem.json";
    const auto write = [&](const std::string& demand) {
        std::ofstream(file) << R"({"kind": "allocation", "mechanism": "drf", "resources": [{"id": "disk",
            "capacity": 10}], "flows": [{"id": "f", "demand": {"disk": )"
                            << demand << "}}]}";
    };
    write("40");
    const Result solved = run("solve " + file);
    CHECK(solved.status == 0);
    CHECK(json::parse(solved.output)["flows"][0]["fill"] == 0.25);
    const Result piped = run("--json solve - < " + file);
    CHECK(json::parse(piped.output)["data"]["resources"][0]["used"] == 10);
    CHECK(json::parse(piped.output)["ok"] == true);
    write("-1");
    const Result refused = run("solve " + file);
    CHECK(refused.status == 2);
    CHECK(refused.output.find("weirctl: flows[0].demand.disk: found -1; allowed: a number") == 0);
    std::remove(file.c_str());
    CHECK(run("solve " + file).status == 2);
    CHECK(run("solve").status == 2);
}

TEST_CASE("the help of solve lists every kind of problem and every mechanism") {
    const std::string help = run("solve --help").output;
    for (const weir::what_if::Kind& kind : weir::what_if::kKinds)
        CHECK(help.find("\n  " + std::string(kind.name) + ' ') != std::string::npos);
    for (const weir::alloc::MechanismEntry& mechanism : weir::alloc::kMechanisms)
        CHECK(help.find(mechanism.summary) != std::string::npos);
}

TEST_CASE("wrong usage is exit status 2") {
    for (const char* arguments : {"",
                                  "no-such-command",
                                  "vnic",
                                  "vnic no-such",
                                  "vnic show",
                                  "vnic set vm1",
                                  "vnic set vm1 x",
                                  "vnic add /no/such/file",
                                  "vnic add '{\"a\": 1,}'",
                                  "vnic add '{\"a\": 1, \"a\": 2}'",
                                  "top --interval 5",
                                  "top --interval 1us",
                                  "flow",
                                  "flow list --interval 1",
                                  "why",
                                  "why vm1 --interval 5us",
                                  "why vm1 --at soon",
                                  "why vm1 --at 10:00 --cluster",
                                  "events --since tomorrow",
                                  "top --once --count 2",
                                  "top --count x",
                                  "status --no-such-option",
                                  "doctor --config /no/such/file",
                                  "qemu-args vm1 --config /no/such/file"}) {
        INFO(arguments);
        CHECK(run(arguments).status == 2);
    }
    CHECK(run("--help").status == 0);
}

TEST_CASE("why --at asks for a second of Unix time, or for a time ago by the switch's clock") {
    CannedSwitch fake;
    const auto args = [&](const std::string& words) {
        CHECK(fake.ctl("--json " + words).status == 0);
        const json request = fake.last_request();
        return json{request.at("command"), request.at("args")};
    };
    CHECK(args("why vm1 --at '2026-11-27 10:00:05'") ==
          json{"why.at", {{"name", "vm1"}, {"at", 1'795'773'605}}});
    CHECK(args("why vm1 --at -5m") == json{"why.at", {{"name", "vm1"}, {"ago", "300s"}}});
    CHECK(args("events vm1 --since 2026-11-27T10:00") ==
          json{"events", {{"name", "vm1"}, {"since", 1'795'773'600}}});
    CHECK(args("events") == json{"events", json::object()});
}

TEST_CASE("--help lists every command, and each has a help of its own with an example") {
    const std::string help = run("--help").output;
    const std::size_t heading = help.find("\nCommands:\n");
    REQUIRE(heading != std::string::npos);
    std::istringstream lines(help.substr(heading + std::strlen("\nCommands:\n")));
    std::vector<std::string> commands;
    for (std::string line; std::getline(lines, line) && line.starts_with("  ");) {
        const std::string words = line.substr(2, line.find("  ", 2) - 2);
        commands.push_back(words);
        const Result own = run(words + " --help");
        INFO(words);
        CHECK(own.status == 0);
        CHECK(own.output.find("Usage: weirctl " + words) != std::string::npos);
        CHECK(own.output.find("Example") != std::string::npos);
    }
    CHECK(commands.size() == 44);
    CHECK(std::count(commands.begin(), commands.end(), "vnic list") == 1);
}

TEST_CASE("token create prints a secret and the line of its hash, and takes names and roles that exist") {
    const json made = json::parse(run("--json token create grafana --role operate").output).at("data");
    CHECK(made.at("token").get<std::string>().starts_with("weir_"));
    CHECK(made.at("line").get<std::string>().starts_with("grafana operate "));
    CHECK(made.at("line").get<std::string>().size() == std::strlen("grafana operate ") + 64);
    CHECK(run("token create 'a b'").status == 2);
    CHECK(run("token create a --role admin").status == 2);
}

TEST_CASE("the shells' scripts complete commands, options, values and names") {
    CannedSwitch fake;
    const auto next = [&](const std::string& words) {
        const Result result = fake.ctl("complete -- " + words);
        CHECK(result.status == 0);
        std::string line = result.output;
        std::ranges::replace(line, '\n', ' ');
        return line;
    };
    CHECK(next("vni") == "vnic ");
    CHECK(next("vnic s") == "set show ");
    CHECK(next("vnic show ''") == "vm1 vm2 ");
    CHECK(next("vnic show vm1 ''") == "");
    CHECK(next("top --so") == "--socket --sort ");
    CHECK(next("top --sort de") == "delay delivered ");
    CHECK(next("top --sort delay --fi") == "--filter ");
    CHECK(next("--json why vm2") == "vm2 ");
    CHECK(next("events v") == "vm1 vm2 ");
    CHECK(next("tenant show ''") == "B ");
    CHECK(next("tenant set-vnic B b") == "b1 b2 ");
    CHECK(next("tenant set-vnic X b") == "");
    CHECK(next("host set ''") == "h1 h2 ");
    CHECK(next("completion z") == "zsh ");
    CHECK(next("no such command ''") == "");
    CHECK(next("comple").find("complete ") == std::string::npos);
    CHECK(run("--socket /tmp/weir-no-such.sock complete -- why ''").output.empty());
    CHECK(run("complete -- --socket " + fake.path() + " why ''").output == "vm1\nvm2\n");
}

TEST_CASE("bash and zsh complete a word by their scripts") {
    CannedSwitch fake;
    const auto output_of = [&](const std::string& shell, const std::string& script) {
        FILE* pipe = ::popen(("WEIR_SOCKET=" + fake.path() + " PATH=" + weir::test::build_path("ctrl/cli") +
                              ":$PATH " + shell + " -c '" + script + "' 2>&1")
                                 .c_str(),
                             "r");
        REQUIRE(pipe != nullptr);
        std::array<char, 1'000> text{};
        const std::size_t bytes = std::fread(text.data(), 1, text.size(), pipe);
        ::pclose(pipe);
        return std::string(text.data(), bytes);
    };
    CHECK(output_of("bash",
                    "source <(weirctl completion bash); COMP_WORDS=(weirctl vnic show v); COMP_CWORD=3; "
                    "_weirctl; echo ${COMPREPLY[@]}") == "vm1 vm2\n");
    CHECK(output_of("zsh -f",
                    "autoload -U compinit; compinit -u -D; source <(weirctl completion zsh); "
                    "compadd() { print -r -- ${(P)2}; }; words=(weirctl vnic show v); CURRENT=4; _weirctl") ==
          "vm1 vm2\n");
}

TEST_CASE("top ends after its count and gives one line of JSON per table") {
    CannedSwitch fake;
    const Result once = fake.ctl("top --once --interval 50ms");
    CHECK(once.status == 0);
    CHECK(once.output.find("isolation on") != std::string::npos);
    const Result thrice = fake.ctl("top --count 3 --interval 50ms --json");
    CHECK(thrice.status == 0);
    CHECK(std::count(thrice.output.begin(), thrice.output.end(), '\n') == 3);
    const json first = json::parse(thrice.output.substr(0, thrice.output.find('\n')));
    CHECK(first["schema"] == 1);
    CHECK(first["data"]["vnics"].size() == 2);
    CHECK(first["data"]["seconds"].get<double>() >= 0.05);
}

TEST_CASE("flow list and why compare two readings, of one vNIC when it is named") {
    CannedSwitch fake;
    const Result list = fake.ctl("flow list --interval 50ms");
    CHECK(list.status == 0);
    CHECK(list.output.find("VNIC   APPLIANCE  REQUESTS/S") == 0);
    CHECK(fake.last_request()["args"] == json::object());
    const Result one = fake.ctl("--json flow list db --interval 50ms");
    CHECK(fake.last_request() ==
          json::parse(R"({"schema": 1, "command": "flow.list", "args": {"name": "db"}})"));
    CHECK(json::parse(one.output)["data"]["flows"][0]["vnic"] == "db");
    const Result why = fake.ctl("why db --interval 50ms");
    CHECK(why.status == 0);
    CHECK(why.output.find("db: up, offered") == 0);
    CHECK(fake.last_request() == json::parse(R"({"schema": 1, "command": "why", "args": {"name": "db"}})"));
    CHECK(json::parse(fake.ctl("why db --json --interval 50ms").output)["data"]["buckets"].size() == 7);
}

TEST_CASE("plan and apply --dry-run end with 3 when promises cannot be kept") {
    const std::string example = weir::test::source_path("configs/cluster.jsonc");
    const Result fits = run("plan " + example);
    CHECK(fits.status == 0);
    CHECK(fits.output.find("the controller accepts this file\n") != std::string::npos);
    std::string more = kCluster;
    more.insert(more.rfind("]}"),
                R"(, {"name": "C", "vnics": [{"name": "c1", "host": "h1", "reservation": "5Gbit"},
                                                              {"name": "c2", "host": "h2", "reservation": "5Gbit"}]})");
    const std::string file = file_with(more);
    const Result broken = run("--json plan " + file);
    CHECK(broken.status == 3);
    CHECK(json::parse(broken.output)["ok"] == false);
    CHECK(json::parse(broken.output)["data"]["broken"].size() == 2);
    CannedSwitch fake;
    const Result dry = fake.ctl("--json apply --dry-run " + file);
    CHECK(dry.status == 3);
    CHECK(fake.last_request() == json::parse(R"({"schema": 1, "command": "running", "args": {}})"));
    CHECK(json::parse(dry.output)["data"]["tenants"][0]["vnics"][0]["host"] == "h1");
    CHECK(json::parse(dry.output)["data"]["tenants"][1]["standing"] == "new");
    CHECK(
        json::parse(fake.ctl("--json plan --measured " + file).output)["data"]["resources"][0]["measured"] ==
        false);
    CHECK(fake.last_request()["command"] == "running");
    CHECK(run("--socket /nowhere.sock apply --dry-run " + file).status == 1);
    CHECK(run("plan " + file_with("{\"interval\": 3}")).status == 2);
    CHECK(fake.ctl("plan").output.find("the controller accepts this file\n") != std::string::npos);
    CHECK(fake.last_request() == json::parse(R"({"schema": 1, "command": "specification", "args": {}})"));
    CHECK(fake.ctl("plan --revision 3").status == 0);
    CHECK(fake.last_request()["args"] == json{{"revision", 3}});
    CHECK(fake.ctl("plan --revision 3 " + file).status == 2);
    std::remove(file.c_str());
}

TEST_CASE("apply sends the file, prints the difference, and waits for the switches") {
    CannedSwitch fake;
    const std::string file = file_with(kCluster);
    const Result plain = fake.ctl("apply " + file + " --base 7 --yes");
    CHECK(plain.status == 0);
    CHECK(fake.last_request()["args"] ==
          json{{"text", kCluster}, {"base", 7}, {"yes", true}, {"dry_run", false}, {"via", "apply"}});
    CHECK(plain.output ==
          "    tenants.A.weight 100 -> 50\n"
          "  + tenants.B {}\n"
          "  - hosts.h9 {}\n"
          "smaller promises:\n"
          "  tenant A: weight 100 -> 50\n"
          "vNICs that are connected and lose their place:\n"
          "  c1 on host h1: it is not in the cluster file\n"
          "concerns 2 of 9 vNICs\n"
          "revision 8 is in force\n");
    const Result blind = fake.ctl("apply " + file + " --yes");
    CHECK(blind.status == 2);
    CHECK(blind.output.find("--base") != std::string::npos);
    CHECK(fake.ctl("rollback 3").status == 2);
    const std::string shown = file_with("// revision 6\n" + std::string(kCluster));
    CHECK(fake.ctl("apply " + shown).status == 0);
    CHECK(fake.last_request()["args"]["base"] == 6);
    CHECK(fake.last_request()["args"]["text"] == kCluster);
    CHECK(fake.ctl("apply " + shown + " --base 7").status == 0);
    CHECK(fake.last_request()["args"]["base"] == 7);
    const Result waits = fake.ctl("apply " + file + " --force --wait 50ms");
    CHECK(waits.status == 1);
    CHECK(waits.output.ends_with("not confirmed yet:\n  host h2, silent\n"));
    CHECK(fake.last_request() == json{{"schema", 1}, {"command", "observed"}, {"args", {{"revision", 8}}}});
    const Result dry = fake.ctl("--json apply --dry-run " + file);
    CHECK(dry.status == 0);
    CHECK(json::parse(dry.output)["data"]["change"]["concerned"] == 2);
    CHECK(fake.last_request()["args"]["dry_run"] == true);
    CHECK(fake.ctl("rollback 3 --base 8").status == 0);
    CHECK(fake.last_request()["args"]["text"] == kCluster);
    CHECK(fake.last_request()["args"]["via"] == "rollback 3");
    CHECK(fake.ctl("show").output == "// revision 8\n" + std::string(kCluster) + "\n");
    CHECK(run("apply " + file_with("{\"interval\": 3}")).status == 2);
    std::remove(file.c_str());
}

TEST_CASE("tenants, their vNICs, hosts and appliances are edits of the specification in force") {
    CannedSwitch fake;
    const auto edited = [&](const std::string& words) {
        CHECK(fake.ctl(words).status == 0);
        const json args = fake.last_request()["args"];
        CHECK(args["base"] == 8);
        return json::parse(args["text"].get<std::string>());
    };
    json tenants =
        edited("tenant add name=C weight=50 disk.reservation=200tokens --vnic c1 --vnic c2")["tenants"];
    CHECK(tenants.back() ==
          json::parse(R"({"name": "C", "weight": 50, "vnics": [{"name": "c1"}, {"name": "c2"}],
        "appliances": [{"name": "disk", "reservation": "200tokens"}]})"));
    const json before = json::parse(kCluster)["tenants"];
    const std::string first = before[0]["name"];
    tenants = edited("tenant set " + first + " weight=70 disk.limit=5ktokens --yes")["tenants"];
    CHECK(tenants[0]["weight"] == 70);
    CHECK(tenants[0]["appliances"].back()["limit"] == "5ktokens");
    tenants = edited("tenant add-vnic " + first + " name=x1 reservation=1Mbit")["tenants"];
    CHECK(tenants[0]["vnics"].back() == json{{"name", "x1"}, {"reservation", "1Mbit"}});
    const std::string vnic = before[0]["vnics"][0]["name"];
    tenants = edited("tenant set-vnic " + first + " " + vnic + " limit=2Gbit host=none")["tenants"];
    CHECK(tenants[0]["vnics"][0]["limit"] == "2Gbit");
    CHECK_FALSE(tenants[0]["vnics"][0].contains("host"));
    tenants = edited("tenant remove-vnic " + first + " " + vnic)["tenants"];
    CHECK(tenants[0]["vnics"].size() + 1 == before[0]["vnics"].size());
    CHECK(edited("tenant remove " + first)["tenants"].size() + 1 == before.size());
    CHECK(edited("host add name=h9 uplink=25Gbit")["topology"]["hosts"].back()["name"] == "h9");
    CHECK(edited("host remove h1")["topology"]["hosts"].size() == 1);
    CHECK(edited("host set h2 uplink=5Gbit")["topology"]["hosts"][1]["uplink"] == "5Gbit");
    CHECK(edited("host drain h2")["topology"]["hosts"][1]["drain"] == true);
    CHECK_FALSE(edited("host drain h2 --off")["topology"]["hosts"][1].contains("drain"));
    CHECK(fake.ctl("tenant remove Z").status == 2);
    CHECK(fake.ctl("host add name=h1").status == 2);
    CHECK(fake.ctl("tenant list").output.find("TENANT") == 0);
    CHECK(json::parse(fake.ctl("tenant show " + first).output)["name"] == first);
}

TEST_CASE("the arguments for QEMU describe a vNIC of the switch or of a configuration") {
    CannedSwitch fake;
    CHECK(fake.ctl("qemu-args vm1").output.find("path=/run/weir/vm/vm1.sock,server=on,wait=off \\\n") !=
          std::string::npos);
    const std::string config = " --config " + weir::test::source_path("configs/qos.jsonc");
    CHECK(run("qemu-args db" + config).output.find(",mq=on,vectors=10,") != std::string::npos);
    CHECK(run("libvirt-xml db" + config).output.find("<driver queues='4'") != std::string::npos);
    const Result missing = run("qemu-args vm9" + config);
    CHECK(missing.status == 2);
    CHECK(missing.output.find("there is no vNIC of this name") != std::string::npos);
}

TEST_CASE("doctor works without a switch and names each check with its state") {
    const Result result = run("doctor --json --config " + weir::test::source_path("configs/minimal.jsonc"));
    CHECK((result.status == 0 || result.status == 1));
    const json report = json::parse(result.output);
    CHECK(report["ok"] == (result.status == 0));
    CHECK(report["data"]["checks"].size() >= 5);
}
