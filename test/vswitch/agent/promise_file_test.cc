// promise_file_test.cc - promises are read as they were written, and a file that is damaged or foreign is not
// used in any part.
#include "vswitch/agent/promise_file.h"

#include <sys/stat.h>

#include <fstream>

#include "test/support/catch.h"
#include "test/support/temp_folder.h"

using namespace weir;

namespace {

KeptPromises promises_of_a_cluster() {
    return {
        .confirmed = 1'795'257'000,
        .welcome = {.cluster = "c1", .interval = kNanosPerSec, .validity = 3},
        .tables = {.endpoints = {{.id = 3,
                                  .name = "vm1",
                                  .tenant = "A",
                                  .host = "h1",
                                  .mac = "52:54:00:00:00:01",
                                  .floor = 250'000,
                                  .promise = VnicPromise{.reservation_bps = 7'000'000}},
                                 {.id = 17, .kind = wire::Endpoint::Kind::kAppliance, .name = "disk"}},
                   .guarantees = {{.flow = {3, 17}, .rate = {wire::kNoStatement, 400, wire::kNoStatement}}}}};
}

struct PromisesOnDisk {
    weir::test::TempFolder folder;
    PromiseFile file{folder.file("switch.sock.promises"), "h1"};
    std::string text;

    PromisesOnDisk() {
        REQUIRE(file.write(promises_of_a_cluster()).empty());
        std::ifstream stream(file.path());
        text.assign(std::istreambuf_iterator<char>(stream), {});
    }
    /// Why this text in the file's place is refused; with it nothing of it is used.
    std::string refusal_of(const std::string& content) {
        std::ofstream(file.path(), std::ios::trunc) << content;
        const PromiseFile::Read read = file.read();
        CHECK_FALSE(read.promises);
        return read.refusal;
    }
};

}  // namespace

TEST_CASE("promises are read as they were written, by this user alone", "[promises]") {
    const PromisesOnDisk disk;
    const PromiseFile::Read read = disk.file.read();
    CHECK(read.refusal.empty());
    REQUIRE(read.promises);
    CHECK(*read.promises == promises_of_a_cluster());
    struct stat state {};
    REQUIRE(::stat(disk.file.path().c_str(), &state) == 0);
    CHECK((state.st_mode & 0777U) == 0600U);
    const PromiseFile::Read none = PromiseFile(disk.folder.file("other"), "h1").read();
    CHECK_FALSE(none.promises);
    CHECK(none.refusal.empty());
}

TEST_CASE("no byte of the file can be lost or altered unnoticed", "[promises]") {
    PromisesOnDisk disk;
    for (std::size_t size = 0; size < disk.text.size(); ++size) {
        INFO("cut after " << size << " bytes");
        CHECK_FALSE(disk.refusal_of(disk.text.substr(0, size)).empty());
    }
    for (std::size_t at = 0; at < disk.text.size(); ++at) {
        std::string altered = disk.text;
        altered[at] = altered[at] == '7' ? '8' : '7';
        INFO("byte " << at);
        CHECK_FALSE(disk.refusal_of(altered).empty());
    }
    CHECK_FALSE(disk.refusal_of(disk.text + '\n').empty());
}

TEST_CASE("the promises of another host, of another version and of another user's hand are refused",
          "[promises]") {
    PromisesOnDisk disk;
    const PromiseFile::Read foreign = PromiseFile(disk.file.path(), "h2").read();
    CHECK_FALSE(foreign.promises);
    CHECK(foreign.refusal == "it is of host \"h1\", not of h2");
    std::string later = disk.text;
    later.replace(later.find("\"weir_promises\":2"), 17, "\"weir_promises\":3, \"spam\": 1");
    CHECK(disk.refusal_of(later).find("of another version") != std::string::npos);
    REQUIRE(disk.file.write(promises_of_a_cluster()).empty());
    REQUIRE(::chmod(disk.file.path().c_str(), 0662) == 0);
    CHECK(disk.file.read().refusal == "other users may write to it");
}

TEST_CASE("a file of the version before, without promises to vNICs, is read", "[promises]") {
    PromisesOnDisk disk;
    KeptPromises before = promises_of_a_cluster();
    before.tables.endpoints[0].promise.reset();
    REQUIRE(disk.file.write(before).empty());
    std::ifstream stream(disk.file.path());
    std::string text{std::istreambuf_iterator<char>(stream), {}};
    text.replace(text.find("\"weir_promises\":2"), 17, "\"weir_promises\":1");  // the checksum has no version
    std::ofstream(disk.file.path(), std::ios::trunc) << text;
    const PromiseFile::Read read = disk.file.read();
    CHECK(read.refusal.empty());
    REQUIRE(read.promises);
    CHECK(*read.promises == before);
}

TEST_CASE("a WELCOME that refuses is no promise", "[promises]") {
    const PromisesOnDisk disk;
    KeptPromises refusal = promises_of_a_cluster();
    refusal.welcome.refused = "no host h1 here";
    REQUIRE(disk.file.write(refusal).empty());
    CHECK(disk.file.read().refusal == "its WELCOME promises nothing");
}
