// vhost_driver_test.cc - sockets that are opened and closed; faults of a path in one line.
#include "vswitch/ports/vhost_driver.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "common/error.h"
#include "test/support/catch.h"
#include "test/support/eal_fixture.h"

using namespace weir;
using namespace weir::testing;

namespace {

namespace fs = std::filesystem;

struct Folder {
    Folder() : path(fs::temp_directory_path() / ("weir_vhost_" + std::to_string(getpid()))) {
        fs::create_directories(path);
    }
    ~Folder() { fs::remove_all(path); }
    fs::path path;
};

struct Driver {
    Quiescence quiescence{(buffer_pool(), 1U)};
    VhostDriver driver{quiescence};
    VhostPort port{buffer_pool(), 1};

    std::string refusal(const VnicConfig& vnic) {
        try {
            driver.add(vnic, port);
        } catch (const HostError& error) {
            return error.what();
        }
        driver.remove(vnic.socket);
        return "";
    }
};

VnicConfig at(const fs::path& socket, VhostMode mode = VhostMode::kServer) {
    VnicConfig vnic;
    vnic.name = "vm1";
    vnic.socket = socket.string();
    vnic.mode = mode;
    return vnic;
}

std::size_t open_files() {
    const fs::directory_iterator files("/proc/self/fd");
    return static_cast<std::size_t>(std::distance(begin(files), end(files)));
}

}  // namespace

TEST_CASE("a missing socket directory is named, with the command that makes it") {
    Folder folder;
    Driver vhost;
    const std::string text = vhost.refusal(at(folder.path / "missing" / "vm1.sock"));
    CHECK(text.find("missing") != std::string::npos);
    CHECK(text.find("mkdir -p " + (folder.path / "missing").string()) != std::string::npos);
    CHECK(text.find('\n') == std::string::npos);
}

TEST_CASE("sockets that come and go a hundred times leave no file and no descriptor behind") {
    Folder folder;
    Driver vhost;
    for (const VhostMode mode : {VhostMode::kServer, VhostMode::kClient}) {
        const VnicConfig vnic = at(folder.path / "vm1.sock", mode);
        vhost.driver.add(vnic, vhost.port);  // the library's threads start with the first
        vhost.driver.remove(vnic.socket);
        const std::size_t before = open_files();
        for (int i = 0; i < 100; ++i) {
            vhost.driver.add(vnic, vhost.port);
            CHECK(fs::exists(vnic.socket) == (mode == VhostMode::kServer));
            vhost.driver.remove(vnic.socket);
        }
        CHECK(open_files() == before);
        CHECK(fs::is_empty(folder.path));
    }
    CHECK_FALSE(vhost.port.up());
}

TEST_CASE("a socket that a killed switch left is taken over") {
    Folder folder;
    const VnicConfig vnic = at(folder.path / "vm1.sock");
    Driver vhost;
    std::ofstream(vnic.socket) << "left";
    CHECK(vhost.refusal(vnic).empty());
}

TEST_CASE("a port without a connection gives and takes nothing") {
    VhostPort port(buffer_pool(), 1);
    rte_mbuf* frame = nullptr;
    CHECK(port.rx_burst(&frame, 1) == 0);
    CHECK(port.tx_burst(&frame, 0) == 0);
    CHECK_FALSE(port.up());
    CHECK(port.features().empty());
    port.housekeeping();
    CHECK(port.ring_errors() == 0);
}
