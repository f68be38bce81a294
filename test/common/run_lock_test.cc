// run_lock_test.cc - one process at a time has the lock, also after an owner that was killed and left its
// file.
#include "common/run_lock.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "common/error.h"
#include "test/support/catch.h"
#include "test/support/temp_folder.h"

using namespace weir;
using weir::test::TempFolder;

namespace {

namespace fs = std::filesystem;

struct Place {
    TempFolder folder;
    RunLock::Claim claim{.file = folder.file("weir.lock"),
                         .socket = "/run/weir/admin/switch.sock",
                         .alternative = "another \"host\""};

    /// Why the lock cannot be had now; empty: it can.
    [[nodiscard]] std::string refusal() const {
        try {
            const RunLock lock(claim);
        } catch (const HostError& error) {
            return error.what();
        }
        return "";
    }
};

/// A process that has the lock until it is killed.
class Owner {
  public:
    explicit Owner(const RunLock::Claim& claim) {
        int ready[2];
        REQUIRE(pipe(ready) == 0);
        pid_ = fork();
        if (pid_ == 0) {
            const RunLock lock(claim);
            (void)!write(ready[1], "x", 1);
            for (;;)
                pause();
        }
        close(ready[1]);
        char byte = 0;
        REQUIRE(read(ready[0], &byte, 1) == 1);
        close(ready[0]);
    }
    ~Owner() { kill(); }
    void kill() {
        if (pid_ <= 0)
            return;
        ::kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
        pid_ = 0;
    }
    [[nodiscard]] std::string pid() const { return std::to_string(pid_); }

  private:
    pid_t pid_ = 0;
};

}  // namespace

TEST_CASE(
    "a lock that a process has is refused to others in one line with its process, its socket and the ways "
    "out") {
    const Place place;
    const Owner owner(place.claim);
    const std::string line = place.refusal();
    for (const std::string& part : {"process " + owner.pid(), place.claim.socket, place.claim.file,
                                    "kill " + owner.pid(), place.claim.alternative}) {
        INFO(part);
        CHECK(line.find(part) != std::string::npos);
    }
    CHECK(line.find('\n') == std::string::npos);
    CHECK(place.refusal() == line);  // a refusal takes nothing away
    CHECK(fs::exists(place.claim.file));
}

TEST_CASE("a lock ends with its process, and the file that is left keeps no process out") {
    const Place place;
    Owner owner(place.claim);
    REQUIRE_FALSE(place.refusal().empty());
    owner.kill();
    CHECK(fs::exists(place.claim.file));
    CHECK(place.refusal().empty());
    CHECK_FALSE(fs::exists(place.claim.file));
}

TEST_CASE(
    "a file that was locked and then replaced at its path is left to the process that has the new one") {
    const Place place;
    std::optional<RunLock> first(std::in_place, place.claim);
    REQUIRE(fs::remove(place.claim.file));
    const RunLock second(place.claim);
    first.reset();
    CHECK(fs::exists(place.claim.file));
    CHECK_FALSE(place.refusal().empty());
}

TEST_CASE("a lock that cannot be made says why, and a symbolic link is not followed") {
    Place place;
    std::ofstream(place.folder.file("other")) << "text";
    fs::create_symlink(place.folder.file("other"), place.claim.file);
    CHECK(place.refusal().find("cannot lock " + place.claim.file) != std::string::npos);
    CHECK(fs::file_size(place.folder.file("other")) == 4);
    place.claim.file = place.folder.file("missing/weir.lock");
    CHECK(place.refusal().find("No such file or directory") != std::string::npos);
}

TEST_CASE("the lock of a socket is a file beside it, in a folder that is made") {
    const TempFolder folder;
    const RunLock::Claim claim = socket_claim(folder.file("new/switch.sock"), "commands", "control_socket");
    CHECK(claim.file == folder.file("new/switch.sock.lock"));
    CHECK(claim.alternative.find("control_socket") != std::string::npos);
    CHECK(fs::is_directory(folder.file("new")));
    std::ofstream(folder.file("file")) << "text";
    CHECK_THROWS_AS(socket_claim(folder.file("file/switch.sock"), "commands", "listen"), HostError);
}
