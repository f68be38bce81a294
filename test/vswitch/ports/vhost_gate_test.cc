// vhost_gate_test.cc - front-ends before a library that only takes messages: a file whose close() waits holds
// the vNIC that it came for, and no other.
#include "vswitch/ports/vhost_gate.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include "test/hostile/any_file.h"
#include "test/hostile/frontend.h"
#include "test/hostile/lingering.h"
#include "test/support/catch.h"
#include "test/support/sanitized.h"
#include "test/support/silent_file.h"
#include "test/support/temp_folder.h"
#include "test/support/wait.h"
#include "vswitch/ports/unix_socket.h"

using namespace weir;
using namespace weir::testing;
using hostile::Endpoint;
using hostile::File;
using hostile::Frontend;
using hostile::Lingering;

namespace {

/// A socket in place of the vhost library's.
File library_at(const std::string& path) {
    File listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    REQUIRE(path.size() < sizeof(address.sun_path));
    std::memcpy(address.sun_path, path.c_str(), path.size());
    REQUIRE(bind(listener.number(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
    REQUIRE(listen(listener.number(), 16) == 0);
    return listener;
}

/// A vNIC at the gate: its front-end's side, and the library's.
struct Vnic {
    Vnic(VhostGate& its_gate, const weir::test::TempFolder& folder, const std::string& name)
        : gate(its_gate), outside(folder.file(name)), listener(library_at(outside + ".inside")) {
        gate.add(outside, true, outside + ".inside", 1);
        gate.listen(outside, weir::listen_at(outside));
        endpoint = std::make_unique<Endpoint>(outside, false);
        frontend = std::make_unique<Frontend>(*endpoint, tally);
    }
    /// Whether a front-end connects and its first message reaches the library.
    bool serves() {
        return until([&] {
            return frontend->reconnect() && frontend->send(hostile::kGetFeatures) && library_accepts(200);
        });
    }
    bool library_accepts(int patience_ms) {
        pollfd state{listener.number(), POLLIN, 0};
        if (poll(&state, 1, patience_ms) != 1)
            return false;
        at_library = File(accept4(listener.number(), nullptr, nullptr, SOCK_CLOEXEC));
        hostile::MessageHeader header{};
        return recv(at_library.number(), &header, sizeof(header), MSG_WAITALL) == sizeof(header);
    }

    VhostGate& gate;
    hostile::Tally tally;
    std::string outside;
    File listener;
    std::unique_ptr<Endpoint> endpoint;
    std::unique_ptr<Frontend> frontend;
    File at_library;
};

constexpr int kLingerSeconds = 30;
/// Messages without payload: a socket holds some 280 of them.
constexpr int kMoreThanSocketsHold = 400;

/// That is well-formed but for the file.
std::vector<std::uint8_t> payload_of(hostile::Request request) {
    hostile::RegionTable table{};
    table.count = 1;
    table.entries[0] = {0, 4096, 0x7000'0000, 0};
    const hostile::LogArea log{4096, 0};
    const std::uint64_t ring = 0;
    std::span<const std::uint8_t> bytes = hostile::bytes_of(ring);
    if (request == hostile::kSetMemTable)
        bytes = hostile::bytes_of(table).first(8 + sizeof(table.entries[0]));
    else if (request == hostile::kSetLogBase)
        bytes = hostile::bytes_of(log);
    return {bytes.begin(), bytes.end()};
}

constexpr hostile::Request kRequestsWithFiles[] = {
    hostile::kSetMemTable,  hostile::kSetLogBase,  hostile::kSetLogFd,          hostile::kSetVringKick,
    hostile::kSetVringCall, hostile::kSetVringErr, hostile::kSetSlaveRequestFd, hostile::kGetFeatures};

}  // namespace

TEST_CASE("a file whose close waits holds no other vNIC, whatever message it comes with") {
    const weir::test::TempFolder folder;
    VhostGate gate;
    Vnic attacker(gate, folder, "vm1");
    Vnic other(gate, folder, "vm2");
    for (const hostile::Request request : kRequestsWithFiles) {
        INFO("request " << request);
        Lingering file(kLingerSeconds);
        REQUIRE(attacker.serves());
        const auto payload = payload_of(request);
        REQUIRE(attacker.frontend->send(request, std::span(payload), std::array{file.sender.number()}));
        file.sender = File(-1);
        CHECK(until([&] { return !attacker.frontend->connected(); }));
        CHECK(other.serves());
        CHECK(attacker.serves());  // the gate switches lingering off
    }
    gate.remove(attacker.outside);
    gate.remove(other.outside);
}

TEST_CASE("a file whose file system never answers holds no other vNIC, whatever message it comes with") {
    if (under_valgrind()) {
        WARN("skipped under Valgrind: a thread that waits in close() stops all; the suite unit runs it");
        return;
    }
    for (const hostile::Request request : kRequestsWithFiles) {
        INFO("request " << request);
        const weir::test::TempFolder folder;
        SilentFile file;
        if (file.number() < 0) {
            WARN("skipped: FUSE cannot be mounted here");
            return;
        }
        VhostGate gate;
        Vnic attacker(gate, folder, "vm1");
        Vnic other(gate, folder, "vm2");
        REQUIRE(attacker.serves());
        const auto payload = payload_of(request);
        REQUIRE(attacker.frontend->send(request, std::span(payload), std::array{file.number()}));
        const bool ended = until([&] { return !attacker.frontend->connected(); });
        const bool served = other.serves();
        if (!ended || !served)
            file.end();
        CHECK(ended);
        CHECK(served);
        gate.remove(attacker.outside);
        CHECK(other.serves());
    }
}

TEST_CASE("files of every kind in every message hold no other vNIC, though nothing is read or closed") {
    constexpr unsigned kAttackers = 8;  // each may connect 500 times a second
    const weir::test::TempFolder folder;
    VhostGate gate;
    std::vector<std::unique_ptr<Vnic>> attackers;
    for (unsigned number = 0; number < kAttackers; ++number)
        attackers.push_back(std::make_unique<Vnic>(gate, folder, "vm" + std::to_string(number + 2)));
    Vnic other(gate, folder, "vm1");
    unsigned next = 0;
    unsigned skipped = 0;
    for (const hostile::FileKind& kind : hostile::file_kinds()) {
        INFO(kind.name);
        std::vector<hostile::AnyFile> kept;
        for (unsigned request = 1; request < hostile::kRequestsEnd; ++request) {
            hostile::AnyFile file = kind.make();
            if (!file.sent) {
                ++skipped;
                break;
            }
            Vnic& attacker = *attackers[next++ % kAttackers];
            const auto payload = payload_of(static_cast<hostile::Request>(request));
            if (attacker.frontend->reconnect())
                attacker.frontend->send(static_cast<hostile::Request>(request), std::span(payload),
                                        std::array{file.sent.number()});
            if (!file.close_waits)
                file.sent = File();
            kept.push_back(std::move(file));
        }
        CHECK(other.serves());
    }
    CHECK(skipped < hostile::file_kinds().size() / 2);
    for (const std::unique_ptr<Vnic>& attacker : attackers)
        CHECK(attacker->serves());
    for (const std::unique_ptr<Vnic>& attacker : attackers)
        gate.remove(attacker->outside);
    gate.remove(other.outside);
}

TEST_CASE("files in unread messages hold their own vNIC until they are closed, and no other") {
    if (under_valgrind()) {
        WARN("skipped under Valgrind: a thread that waits in close() stops all; the suite unit runs it");
        return;
    }
    const weir::test::TempFolder folder;
    VhostGate gate;
    Vnic attacker(gate, folder, "vm1");
    Vnic other(gate, folder, "vm2");
    Lingering file(kLingerSeconds);
    REQUIRE(attacker.serves());
    // The library reads nothing more, so that the gate leaves the last of these in the socket.
    for (int i = 0; i < kMoreThanSocketsHold; ++i)
        REQUIRE(attacker.frontend->send(hostile::kGetFeatures));
    REQUIRE(attacker.frontend->send(hostile::kSetLogFd, std::uint64_t{0}, {file.sender.number()}));
    file.sender = File(-1);
    attacker.at_library = File();
    CHECK(until([&] { return !attacker.frontend->connected(); }));
    CHECK(other.serves());
    CHECK(attacker.frontend->reconnect());
    CHECK(attacker.frontend->send(hostile::kGetFeatures));
    CHECK(other.serves());
    CHECK_FALSE(attacker.library_accepts(0));
    file.receiver = File(-1);  // the file is closed at last
    CHECK(attacker.serves());
}

TEST_CASE("a vNIC is removed while a file that came for it waits to be closed") {
    const weir::test::TempFolder folder;
    VhostGate gate;
    Vnic attacker(gate, folder, "vm1");
    Vnic other(gate, folder, "vm2");
    Lingering file(kLingerSeconds);
    REQUIRE(attacker.serves());
    for (int i = 0; i < kMoreThanSocketsHold; ++i)
        REQUIRE(attacker.frontend->send(hostile::kGetFeatures));
    REQUIRE(attacker.frontend->send(hostile::kSetLogFd, std::uint64_t{0}, {file.sender.number()}));
    file.sender = File(-1);
    gate.remove(attacker.outside);
    CHECK(other.serves());
}

TEST_CASE("memory of a front-end that has gone is closed behind the library, and not by it") {
    const weir::test::TempFolder folder;
    VhostGate gate;
    Vnic vnic(gate, folder, "vm1");
    REQUIRE(vnic.serves());
    constexpr std::uint64_t kBytes = 4096;
    const auto open_memory = [] {
        std::size_t count = 0;
        for (const auto& file : std::filesystem::directory_iterator("/proc/self/fd")) {
            std::error_code gone;
            count += std::filesystem::read_symlink(file, gone).string().starts_with("/memfd:hostile");
        }
        return count;
    };
    REQUIRE(open_memory() == 0);
    const auto table = payload_of(hostile::kSetMemTable);
    {
        const File memory = File::memory(kBytes);
        REQUIRE(vnic.frontend->send(hostile::kSetMemTable, std::span(table), std::array{memory.number()}));
    }
    CHECK(until([&] { return open_memory() == 1; }));  // the gate's
    vnic.frontend->close();
    for (int question = 0; question < 2; ++question) {
        CHECK(until([&] { return vnic.library_accepts(200); }));
        CHECK(open_memory() == 1);
        vnic.at_library = File();  // the answer: it ends the connection
    }
    CHECK(until([&] { return open_memory() == 0; }));
    CHECK(vnic.serves());
}
