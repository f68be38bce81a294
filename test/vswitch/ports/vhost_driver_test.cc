// vhost_driver_test.cc - sockets that are opened and closed; faults of a path in one line.
#include "vswitch/ports/vhost_driver.h"

#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "common/error.h"
#include "test/hostile/frontend.h"
#include "test/support/catch.h"
#include "test/support/eal_fixture.h"
#include "test/support/wait.h"
#include "vswitch/ports/unix_socket.h"
#include "vswitch/ports/vhost_feature.h"

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
    Notifier notifier;
    GuestAccess access;
    SignalRelay relay;
    VhostPort port{1, std::array{VhostPort::Server{&notifier, &access, nullptr, buffer_pool(), &relay}}};

    /// Why no front-end can come to the vNIC; empty: one can.
    std::string fault(const VnicConfig& vnic) {
        driver.add(vnic, port);
        const std::string text = driver.socket_fault(vnic.socket);
        driver.remove(vnic.socket);
        return text;
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

TEST_CASE(
    "a missing socket folder is named, with the command that makes it, and the vNIC is served when it is "
    "there") {
    Folder folder;
    Driver vhost;
    const VnicConfig vnic = at(folder.path / "missing" / "vm1.sock");
    const std::string text = vhost.fault(vnic);
    CHECK(text.find("missing") != std::string::npos);
    CHECK(text.find("mkdir -p " + (folder.path / "missing").string()) != std::string::npos);
    CHECK(text.find('\n') == std::string::npos);
    vhost.driver.add(vnic, vhost.port);
    fs::create_directory(folder.path / "missing");
    CHECK(until([&] { return vhost.driver.look_at_sockets(), fs::exists(vnic.socket); }));
    CHECK(vhost.driver.socket_fault(vnic.socket).empty());
    CHECK(connect_to(vnic.socket));
    vhost.driver.remove(vnic.socket);
    CHECK(fs::is_empty(folder.path / "missing"));
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
    CHECK_FALSE(vhost.port.rings().up());
}

TEST_CASE("front-ends at new sockets are served at once, though the library's thread waits already") {
    // Each of these would wait for the end of the thread's wait, a second after its last event. Connections
    // stay open, as the end of one is an event.
    constexpr unsigned kVnics = 6;
    using Clock = std::chrono::steady_clock;
    Folder folder;
    Driver vhost;
    hostile::Tally tally;
    std::vector<VnicConfig> vnics;
    std::vector<std::unique_ptr<hostile::Endpoint>> endpoints;
    std::vector<std::unique_ptr<hostile::Frontend>> frontends;
    const auto serve = [](hostile::Frontend& frontend) {
        CHECK(until([&] { return frontend.reconnect() && frontend.ask(hostile::kGetFeatures).has_value(); }));
    };
    const auto began = Clock::now();
    for (unsigned number = 0; number < kVnics; ++number) {
        vnics.push_back(at(folder.path / ("vm" + std::to_string(number) + ".sock")));
        vhost.driver.add(vnics.back(), vhost.port);
        endpoints.push_back(std::make_unique<hostile::Endpoint>(vnics.back().socket, false));
        frontends.push_back(std::make_unique<hostile::Frontend>(*endpoints.back(), tally));
        serve(*frontends.back());
    }
    const auto served = Clock::now();
    for (const auto& frontend : frontends)
        serve(*frontend);
    const auto served_again = Clock::now();  // on a busy machine both take longer
    CHECK(served - began < wait_bound() / 30 + 10 * (served_again - served));  // 2 s, instead of 5
    for (const VnicConfig& vnic : vnics)
        vhost.driver.remove(vnic.socket);
}

TEST_CASE("a socket that a killed switch left is taken over, and nothing else that is there") {
    Folder folder;
    const VnicConfig vnic = at(folder.path / "vm1.sock");
    Driver vhost;
    FileHandle killed = listen_at(vnic.socket);
    REQUIRE(killed);
    CHECK_FALSE(vhost.fault(vnic).empty());
    killed.reset();
    REQUIRE(fs::exists(vnic.socket));
    CHECK(vhost.fault(vnic).empty());
    std::ofstream(vnic.socket) << "file";
    CHECK_FALSE(vhost.fault(vnic).empty());
    CHECK(fs::exists(vnic.socket));
}

TEST_CASE("a port without a connection gives and takes nothing") {
    Notifier notifier;
    GuestAccess access;
    SignalRelay relay;
    VhostPort port(1, std::array{VhostPort::Server{&notifier, &access, nullptr, buffer_pool(), &relay}});
    rte_mbuf* frame = nullptr;
    CHECK(port.rings().rx_burst(&frame, 1) == 0);
    CHECK(port.rings().tx_burst(&frame, 0) == 0);
    CHECK_FALSE(port.rings().up());
    CHECK(port.rings().features().empty());
    std::array<virtio::RingWatch, limits::kQueuesMax> words;
    CHECK(port.rings().watch(words) == 0);
    CHECK(port.rings().ring_errors() == 0);
}

TEST_CASE("a second connection neither resets nor ends the live one, and takes over when that goes") {
    using namespace weir::vhost;
    Notifier notifier;
    GuestAccess access;
    SignalRelay relay;
    VhostPort port(1, std::array{VhostPort::Server{&notifier, &access, nullptr, buffer_pool(), &relay}});
    const auto detach = [&port](int vid) {
        const bool used = port.hide(vid);
        port.reclaim(vid);
        port.detach(vid);
        return used;
    };
    port.connected(3);
    port.set_ring(3, 0, true);
    port.attach(3, mask({kMergeable}));
    CHECK(port.rings().features() == std::vector<std::string>{"mergeable"});
    port.connected(4);
    port.set_ring(4, 0, false);
    port.attach(4, mask({kChecksum}));
    CHECK(port.rings().features() == std::vector<std::string>{"mergeable"});
    CHECK_FALSE(detach(4));
    port.disconnected(4);
    CHECK(port.rings().up());
    port.connected(4);
    port.attach(4, mask({kChecksum}));
    CHECK(detach(3));  // late, of a guest that was killed: the new one is there already
    port.disconnected(3);
    CHECK(port.rings().features() == std::vector<std::string>{"checksum"});
    CHECK_FALSE(detach(3));
    CHECK(port.rings().up());
    CHECK(detach(4));
    CHECK_FALSE(port.rings().up());
    port.attach(4, mask({kChecksum}));  // the guest rebooted: the same connection
    CHECK(port.rings().up());
    CHECK(port.hide(4));
    CHECK(port.rings().up());  // a message changes its rings
    port.reclaim(4);
    CHECK(port.show(4, mask({kMtu})));
    CHECK(port.rings().features() == std::vector<std::string>{"mtu"});
    CHECK(detach(4));
}
