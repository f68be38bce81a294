// guest_socket_test.cc - faults that keep a socket from use, and its use as soon as there is none.
#include "vswitch/ports/guest_socket.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "test/support/catch.h"
#include "test/support/temp_folder.h"
#include "vswitch/ports/unix_socket.h"

using namespace weir;
using weir::test::TempFolder;

namespace {

namespace fs = std::filesystem;

struct Place {
    TempFolder folder;
    std::string inner = folder.file("sockets");
    std::string path = inner + "/vm1.sock";
    GuestSocket server{path, true};
    GuestSocket client{path, false};

    void make() const { fs::create_directory(inner); }
    [[nodiscard]] bool connects() const { return static_cast<bool>(connect_to(path)); }
};

bool has(const std::string& text, const std::string& part) {
    INFO(text);
    return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a server listens as soon as its folder is there, and again when the folder was made anew") {
    Place place;
    CHECK_FALSE(place.server.look());
    CHECK(has(place.server.fault(), "missing; make it: mkdir -p " + place.inner));
    place.make();
    FileHandle first = place.server.look();
    REQUIRE(first);
    CHECK(place.server.fault().empty());
    CHECK(place.connects());
    CHECK_FALSE(place.server.look());  // nothing new
    CHECK(place.server.fault().empty());
    fs::remove_all(place.inner);
    CHECK_FALSE(place.server.look());
    CHECK(has(place.server.fault(), "missing"));
    place.make();
    const FileHandle second = place.server.look();
    REQUIRE(second);
    CHECK(place.connects());
    place.server.remove();
    CHECK(fs::is_empty(place.inner));
}

TEST_CASE("a folder that was renamed and renamed back has its socket still") {
    Place place;
    place.make();
    const FileHandle listener = place.server.look();
    REQUIRE(listener);
    fs::rename(place.inner, place.folder.file("away"));
    CHECK_FALSE(place.server.look());
    CHECK_FALSE(place.server.fault().empty());
    fs::rename(place.folder.file("away"), place.inner);
    CHECK_FALSE(place.server.look());
    CHECK(place.server.fault().empty());
    CHECK(place.connects());
}

TEST_CASE("a listener has its mode and group, and without the group there is none") {
    const test::TempFolder folder;
    const std::string path = folder.file("vm1.sock");
    struct stat file {};
    {
        GuestSocket server(path, true, {.group = "daemon", .mode = 0640});
        const FileHandle listener = server.look();
        REQUIRE(listener);
        REQUIRE(stat(path.c_str(), &file) == 0);
        CHECK((file.st_mode & 0777) == 0640);
        CHECK(file.st_gid == 1);  // on every Debian
        server.remove();
    }
    GuestSocket server(path, true, {.group = "no-such-group"});
    CHECK_FALSE(server.look());
    CHECK(has(server.fault(), "groupadd --system no-such-group"));
    CHECK_FALSE(fs::exists(path));
}

TEST_CASE("a socket that a process has open is left to it, and one that was left is replaced") {
    Place place;
    place.make();
    FileHandle other = listen_at(place.path);
    REQUIRE(other);
    CHECK(user_of(place.path) == SocketUser::kSome);
    CHECK_FALSE(place.server.look());
    CHECK(has(place.server.fault(), "listens on " + place.path));
    place.server.remove();
    CHECK(place.connects());
    other.reset();
    CHECK(user_of(place.path) == SocketUser::kNone);
    CHECK(place.server.look());
    CHECK(place.server.fault().empty());
}

TEST_CASE("a file, a folder and a symbolic link at the path are not removed") {
    Place place;
    place.make();
    const auto refused = [&] {
        return !place.server.look() && has(place.server.fault(), "is there and not a socket") &&
               fs::exists(fs::symlink_status(place.path));
    };
    std::ofstream(place.path) << "text";
    CHECK(refused());
    CHECK_FALSE(place.client.look());
    CHECK(has(place.client.fault(), "is there and not a socket"));
    fs::remove(place.path);
    fs::create_directory(place.path);
    CHECK(refused());
    fs::remove(place.path);
    fs::create_symlink("elsewhere", place.path);
    CHECK(refused());
    fs::remove(place.path);
    CHECK(place.server.look());
}

TEST_CASE("a client waits for its folder, but a VM that is not there yet is no fault") {
    Place place;
    CHECK_FALSE(place.client.look());
    CHECK(has(place.client.fault(), "missing; make it: mkdir -p " + place.inner));
    CHECK(place.client.fault() == place.client.folder_fault());
    place.make();
    CHECK_FALSE(place.client.look());
    CHECK(place.client.fault().empty());
    FileHandle vm = listen_at(place.path);
    CHECK_FALSE(place.client.look());
    CHECK(place.client.fault().empty());
    vm.reset();
    CHECK_FALSE(place.client.look());  // it ended, and another one may come
    CHECK(place.client.fault().empty());
    CHECK(fs::exists(place.path));
}

TEST_CASE("a folder on the way that is a file is named") {
    const Place place;
    std::ofstream(place.inner) << "text";
    CHECK(has(place.server.folder_fault(), place.inner + " is not a folder"));
    CHECK(has(GuestSocket(place.inner + "/more/vm1.sock", false).folder_fault(), "cannot be reached"));
}
