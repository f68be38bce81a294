// learned_file_test.cc - a file that the switch wrote is read again, one that it cannot have written is
// refused.
#include "vswitch/agent/learned_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "test/support/catch.h"
#include "test/support/temp_folder.h"

using namespace weir;

namespace {

using From = LearnedAddress::From;

IpAddress address(const char* text) {
    return IpAddress::parse(text).value();
}

LearnedVnic guest(const std::string& name) {
    return {.name = name,
            .port = "/run/weir/" + name + ".sock",
            .mac = MacAddress::parse("52:54:00:00:00:01")->bits,
            .vlan = 7,
            .addresses = {{From::kDhcp, address("10.0.0.7"), 3600 * kNanosPerSec},
                          {From::kDhcp6, address("fd00::7"), kNever},
                          {From::kRouter, address("fd00:1::5054:ff:fe00:1"), 5},
                          {From::kRouter, address("fd00:2::5054:ff:fe00:1"), 6}}};
}

struct Written {
    Written() {
        REQUIRE(file.write({guest("vm1"), guest("vm2")}).empty());
        std::ifstream stream(file.path());
        text.assign(std::istreambuf_iterator<char>(stream), {});
    }
    /// Writes this text in the file's place. @return why the file is refused; empty: it is not
    std::string refusal(const std::string& content) {
        std::ofstream(file.path(), std::ios::trunc) << content;
        return refusal();
    }
    std::string refusal() {
        const auto found = file.read();
        return std::holds_alternative<std::string>(found) ? std::get<std::string>(found) : "";
    }
    std::string with(const std::string& what, const std::string& instead) {
        std::string changed = text;
        const std::size_t at = changed.find(what);
        REQUIRE(at != std::string::npos);
        return changed.replace(at, what.size(), instead);
    }

    weir::test::TempFolder folder;
    LearnedFile file{folder.file("switch.sock.learned")};
    std::string text;
};

}  // namespace

TEST_CASE("assigned addresses are read as they were written") {
    Written written;
    const auto found = written.file.read();
    REQUIRE(std::holds_alternative<std::vector<LearnedVnic>>(found));
    CHECK((std::get<std::vector<LearnedVnic>>(found) == std::vector{guest("vm1"), guest("vm2")}));
    struct stat state {};
    REQUIRE(::stat(written.file.path().c_str(), &state) == 0);
    CHECK((state.st_mode & 0777) == 0600);
}

TEST_CASE("no file holds nothing, and nothing to keep leaves no file") {
    Written written;
    CHECK(written.file.write({}).empty());
    CHECK(::access(written.file.path().c_str(), F_OK) != 0);
    CHECK(written.file.write({}).empty());
    CHECK(std::get<std::vector<LearnedVnic>>(written.file.read()).empty());
}

TEST_CASE("a file of addresses that is cut, changed or foreign is refused as a whole, with the reason") {
    Written written;
    CHECK(written.refusal(written.text).empty());
    for (std::size_t bytes = 0; bytes + 1 < written.text.size(); bytes += 7) {
        CAPTURE(bytes);
        CHECK_FALSE(written.refusal(written.text.substr(0, bytes)).empty());
    }
    CHECK_FALSE(written.refusal(std::string(100, '[')).empty());
    CHECK_FALSE(written.refusal(std::string(LearnedFile::kBytesMax + 1, ' ')).empty());
    const auto refused_at = [&](const char* what, const char* instead, const char* place) {
        CAPTURE(what, instead);
        CHECK(written.refusal(written.with(what, instead)).find(place) != std::string::npos);
    };
    refused_at("\"boot\":\"", "\"boot\":\"x", "boot");
    refused_at("\"weir_learned\":1", "\"weir_learned\":2", "weir_learned");
    refused_at("10.0.0.7", "10.0.0.777", "vnics[0].addresses[0].address");
    refused_at("10.0.0.7", "224.0.0.7", "vnics[0].addresses[0].address");
    refused_at("10.0.0.7", "fd00::7", "vnics[0].addresses[0].address");
    refused_at("\"dhcp\"", "\"static\"", "vnics[0].addresses[0].from");
    refused_at("\"until_ns\":3600000000000", "\"until_ns\":-1", "vnics[0].addresses[0].until_ns");
    refused_at("\"until_ns\":3600000000000", "\"until\":1", "vnics[0].addresses[0].until");
    refused_at("52:54:00:00:00:01", "52:54", "vnics[0].mac");
    refused_at("\"vlan\":7", "\"vlan\":4096", "vnics[0].vlan");
    refused_at("\"name\":\"vm1\"", "\"name\":\"../vm1\"", "vnics[0].name");
}

TEST_CASE("a file of addresses that another could have written is refused") {
    Written written;
    const std::string path = written.file.path();
    SECTION("others may write to it") {
        REQUIRE(::chmod(path.c_str(), 0620) == 0);
        CHECK(written.refusal().find("may write") != std::string::npos);
    }
    SECTION("it is a link") {
        const std::string other = written.folder.file("other");
        REQUIRE(::rename(path.c_str(), other.c_str()) == 0);
        REQUIRE(::symlink(other.c_str(), path.c_str()) == 0);
        CHECK_FALSE(written.refusal().empty());
    }
    SECTION("it is a pipe without a writer") {
        REQUIRE(::unlink(path.c_str()) == 0);
        REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
        CHECK(written.refusal().find("regular") != std::string::npos);
    }
    SECTION("it is a folder, which cannot be replaced either, and the reason is returned") {
        REQUIRE(::unlink(path.c_str()) == 0);
        REQUIRE(::mkdir(path.c_str(), 0700) == 0);
        CHECK_FALSE(written.refusal().empty());
        CHECK_FALSE(written.file.write({guest("vm1")}).empty());
        CHECK(::access((path + ".new").c_str(), F_OK) != 0);
        CHECK(::rmdir(path.c_str()) == 0);
    }
}

TEST_CASE("a vNIC is the same only with its name, port, MAC address and VLAN") {
    const LearnedVnic one = guest("vm1");
    VnicConfig config;
    config.name = "vm1";
    config.socket = one.port;
    config.mac = MacAddress{one.mac};
    config.vlan = 7;
    CHECK(one.same_vnic(LearnedVnic::of(config)));
    SECTION("name") {
        config.name = "vm2";
    }
    SECTION("port") {
        config.device = "net_tap0";
    }
    SECTION("MAC address") {
        config.mac->bits += 1;
    }
    SECTION("VLAN") {
        config.vlan = 0;
    }
    const bool changed =
        config.name != "vm1" || !config.device.empty() || config.vlan != 7 || config.mac->bits != one.mac;
    CHECK(one.same_vnic(LearnedVnic::of(config)) != changed);
}
