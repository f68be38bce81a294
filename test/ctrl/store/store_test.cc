// store_test.cc - durability of the store, also after kill -9, and the errors of files that cannot be opened.
#include "ctrl/store/store.h"

#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "common/error.h"
#include "test/support/catch.h"
#include "test/support/random.h"
#include "test/support/temp_folder.h"

using namespace weir;

namespace {

std::uint64_t synced = 0;  // calls of SQLite to make the disk durable

/// Makes a store of version 3.
constexpr const char* kWithoutVersion4 =
    "DROP INDEX audit_peers; DROP TABLE audit_values; ALTER TABLE audit DROP COLUMN peer; ALTER TABLE audit "
    "DROP "
    "COLUMN revision; ALTER TABLE audit DROP COLUMN changed; PRAGMA user_version = 3;";

}  // namespace

// In place of the C library's, which SQLite calls.
extern "C" int fsync(int file) {
    ++synced;
    return static_cast<int>(syscall(SYS_fsync, file));
}
extern "C" int fdatasync(int file) {
    ++synced;
    return static_cast<int>(syscall(SYS_fdatasync, file));
}

namespace {

std::string why_not(const std::string& path, const StoreTerms& terms = {}) {
    try {
        Store store(path, terms);
    } catch (const HostError& error) {
        return error.what();
    }
    return "";
}

StoredAllocation allocation(std::uint32_t interval) {
    return {5, interval, {{.flow = {1, 2}, .rate = {interval, 7, wire::kNoStatement}}}, interval};
}

constexpr std::uint32_t kStoredHosts = 20;

// Saves until it is killed; writes the interval's number to the pipe after each commit.
[[noreturn]] void save_until_killed(const std::string& file, int pipe, std::uint32_t interval) {
    Store store(file);
    store.begin_epoch(0);
    for (;;) {
        ++interval;
        std::map<std::string, StoredAllocation> by_host;
        for (std::uint32_t host = 0; host < kStoredHosts; ++host)
            by_host["h" + std::to_string(host)] = allocation(interval);
        store.write(
            {.allocations = by_host,
             .audit = {{.unix_time = interval, .kind = "interval", .text = std::to_string(interval)}}});
        if (write(pipe, &interval, sizeof interval) != sizeof interval)
            _exit(1);
    }
}

}  // namespace

TEST_CASE("epochs rise, also when the clock does not") {
    const test::TempFolder folder;
    Store store(folder.file("ctrl.db"));
    CHECK(store.last_epoch() == 0);
    CHECK(store.begin_epoch(1'000) == 1'000);
    CHECK(store.begin_epoch(1'000) == 1'001);
    CHECK(store.begin_epoch(-5) == 1'002);
    CHECK(store.begin_epoch(2'000) == 2'000);
    CHECK(store.last_epoch() == 2'000);
}

TEST_CASE("revisions of the specification are numbered, and read back by their numbers") {
    const test::TempFolder folder;
    {
        Store store(folder.file("ctrl.db"));
        CHECK_FALSE(store.specification());
        CHECK(store.revision() == 0);
        CHECK(store.add_revision({.text = "{}", .author = "uid 0"}, 1) == 1);
        CHECK(store.add_revision({.text = "{ }"}, 3) == 2);
    }
    Store store(folder.file("ctrl.db"));
    CHECK(store.specification() == "{ }");
    CHECK(store.specification(1) == "{}");
    CHECK(store.revisions(5).front().author == "uid 0");
    CHECK(store.audit_tail(1)[0].text == "revision 2, 3 bytes");
}

TEST_CASE("of old revisions a bounded number of bytes is kept") {
    Store store(":memory:");
    const std::string text(Store::kRevisionBytesMax / 3, 'x');
    for (int i = 0; i < 5; ++i)
        (void)store.add_revision({.text = text}, 1);
    const std::vector<Revision> kept = store.revisions(10);
    REQUIRE(kept.size() == 3);
    CHECK(kept.back().number == 5);
}

TEST_CASE("pool settings are stored, and only the last ones") {
    const test::TempFolder folder;
    const std::vector<PoolSetting> settings{{"disk", "sales", false, "limit", PoolSetting::kNoLimit, 700},
                                            {"disk", "sales", true, "shares", 300, 100}};
    {
        Store store(folder.file("ctrl.db"));
        CHECK(store.pool_settings().empty());
        store.write({.pool_settings = std::vector<PoolSetting>{{"disk", "web", false, "shares", 1, 2}}});
        store.write({.pool_settings = settings});
        store.write({});
    }
    CHECK(Store(folder.file("ctrl.db")).pool_settings() == settings);
}

TEST_CASE("a name keeps its id, over restarts too") {
    const test::TempFolder folder;
    std::uint32_t web = 0;
    {
        Store store(folder.file("ctrl.db"));
        web = store.endpoint_id("vnic", "web");
        CHECK(web != store.endpoint_id("appliance", "web"));
        CHECK(web == store.endpoint_id("vnic", "web"));
    }
    Store again(folder.file("ctrl.db"));
    CHECK(again.endpoint_id("vnic", "web") == web);
    CHECK(again.endpoint_id("vnic", "db") != web);
}

TEST_CASE("measured use comes back as it was, and damaged histograms are left out") {
    const test::TempFolder folder;
    const std::string file = folder.file("ctrl.db");
    billing::MeasuredUse use;
    use.add(0, 100);
    use.add(0.5, 0.25);
    use.add(1, 86'400);
    {
        Store store(file);
        store.write({.use = {{"a", use}, {"b", {}}}});
        store.write({.use = {{"a", use}}});
        CHECK(store.measured_use().at("a").bins() == use.bins());
        CHECK(store.measured_use().size() == 2);
    }
    Database(file).run("UPDATE use SET bins = x'0102' WHERE vnic = 'a'");
    CHECK(Store(file).measured_use().size() == 1);
}

TEST_CASE("last allocations come back; a host without any is removed") {
    const test::TempFolder folder;
    {
        Store store(folder.file("ctrl.db"));
        store.write({.allocations = {{"h1", allocation(3)}, {"h2", allocation(3)}}});
        store.write({.allocations = {{"h1", allocation(4)}, {"h2", {}}}});
    }
    const auto read = Store(folder.file("ctrl.db")).allocations();
    REQUIRE(read.size() == 1);
    CHECK(read.at("h1").epoch == 5);
    CHECK(read.at("h1").interval == 4);
    CHECK(read.at("h1").flows == allocation(4).flows);
    CHECK(read.at("h1").is_usable(4 + StoredAllocation::kAgeMax - 1));
    CHECK_FALSE(read.at("h1").is_usable(4 + StoredAllocation::kAgeMax));
    CHECK_FALSE(read.at("h1").is_usable(3));  // the clock went back: how old they are is not known
}

TEST_CASE("the audit trail returns the last entries in their order") {
    const test::TempFolder folder;
    Store store(folder.file("ctrl.db"));
    for (int i = 0; i < 5; ++i)
        store.write({.audit = {{.unix_time = i, .kind = "welcome", .text = "h" + std::to_string(i)}}});
    const auto tail = store.audit_tail(2);
    REQUIRE(tail.size() == 2);
    CHECK(tail[0].text == "h3");
    CHECK(tail[1].text == "h4");
    CHECK(tail[1].unix_time == 4);
}

TEST_CASE("the error of a store that cannot be opened names the cause and the remedy") {
    const test::TempFolder folder;
    CHECK(why_not(folder.file("none/ctrl.db")).find("folder") != std::string::npos);
    std::ofstream(folder.file("noise.db")) << std::string(4096, 'x');
    CHECK(why_not(folder.file("noise.db")).find("not a weir-ctrl store") != std::string::npos);
    const Store first(folder.file("ctrl.db"));
    CHECK(why_not(folder.file("ctrl.db")).find("another weir-ctrl uses it") != std::string::npos);
}

TEST_CASE("new ids are stored together: 24,000 of them with one sync of the disk", "[long]") {
    const test::TempFolder folder;
    Store store(folder.file("ctrl.db"));
    std::vector<std::string> texts;
    for (int i = 0; i < 24'000; ++i)
        texts.push_back("v" + std::to_string(i));
    std::vector<Store::Name> names;
    for (const std::string& text : texts)
        names.emplace_back("vnic", text);
    const std::uint64_t before = synced;
    store.add_endpoints(names);
    CHECK(synced - before <= 4);  // syncs of the log, and of a checkpoint
    const std::uint32_t id = store.endpoint_id("vnic", "v23999");
    CHECK(id != store.endpoint_id("vnic", "v0"));
    CHECK(synced - before <= 4);
    store.add_endpoints(names);
    CHECK(store.endpoint_id("vnic", "v23999") == id);
}

TEST_CASE("a tenant of 20,000 of 100,000 vNICs is renamed: its ids are new, all others are as they were",
          "[long]") {
    constexpr std::uint32_t kVnics = 100'000;
    constexpr std::uint32_t kRenamed = 20'000;
    const test::TempFolder folder;
    Store store(folder.file("ctrl.db"));
    std::vector<std::string> texts;
    for (std::uint32_t i = 0; i < kVnics; ++i)
        texts.push_back("v" + std::to_string(i));
    std::vector<Store::Name> names;
    for (const std::string& text : texts)
        names.emplace_back("vnic", text);
    store.add_endpoints(names);
    const std::uint32_t before = store.endpoint_id("vnic", "v0");
    const std::uint32_t other = store.endpoint_id("vnic", "v99999");
    NewRevision revision{.text = "{}"};
    for (std::uint32_t i = 0; i < kRenamed; ++i) {
        revision.ends.retired.push_back(store.endpoint_id("vnic", texts[i]));
        revision.ends.added.push_back({2 * kVnics + i, "vnic", texts[i]});
    }
    CHECK(store.add_revision(revision, 1) == 1);
    CHECK(store.find_endpoint("vnic", "v0") == 2 * kVnics);
    CHECK(store.find_endpoint("vnic", "v19999") == 2 * kVnics + kRenamed - 1);
    CHECK(store.find_endpoint("vnic", "v99999") == other);
    CHECK(before != 2 * kVnics);
    CHECK(store.endpoint_id("vnic", "new") == 2 * kVnics + kRenamed);
}

TEST_CASE("an epoch begins above the one that an operator names, and no lower afterwards") {
    const test::TempFolder folder;
    const std::string file = folder.file("ctrl.db");
    CHECK(Store(file, {.epoch_above = 5'000}).begin_epoch(1'000) == 5'001);
    CHECK(Store(file).begin_epoch(1'000) == 5'002);
    CHECK(Store(file, {.epoch_above = 5'000}).begin_epoch(1'000) == 5'003);
}

TEST_CASE("a store is of one cluster; another one is refused, and a cluster may be renamed") {
    const test::TempFolder folder;
    const std::string file = folder.file("ctrl.db");
    CHECK(why_not(file, {.cluster = "blue"}).empty());
    CHECK(why_not(file, {.cluster = "blue"}).empty());
    const std::string why = why_not(file, {.cluster = "red"});
    CHECK(why.find("is of the cluster \"blue\"") != std::string::npos);
    CHECK(why.find("--renamed-from blue") != std::string::npos);
    CHECK_FALSE(why_not(file, {.cluster = "red", .renamed_from = "green"}).empty());
    CHECK(why_not(file, {.cluster = "red", .renamed_from = "blue"}).empty());
    CHECK(why_not(file, {.cluster = "red"}).empty());
}

TEST_CASE("a store of a later version and a damaged one are refused, with the way out") {
    const test::TempFolder folder;
    const std::string file = folder.file("ctrl.db");
    {
        Store store(file);
        std::vector<PoolSetting> many(2'000, {"disk", "a pool of some length", false, "limit", 1, 2});
        for (std::size_t i = 0; i < many.size(); ++i)
            many[i].name += std::to_string(i);
        store.write({.pool_settings = many});
    }
    std::filesystem::copy_file(file, folder.file("late.db"));
    Database(folder.file("late.db")).run("PRAGMA user_version = 99");
    CHECK(why_not(folder.file("late.db")).find("version 99") != std::string::npos);
    {  // in the middle of the file, where opening alone reads nothing
        std::fstream damage(file, std::ios::in | std::ios::out | std::ios::binary);
        damage.seekp(static_cast<std::streamoff>(std::filesystem::file_size(file) / 2));
        damage << std::string(8192, 'x');
    }
    const std::string why = why_not(file);
    INFO(why);
    CHECK(why.find("damaged") != std::string::npos);
    CHECK(why.find("--epoch-above") != std::string::npos);
}

TEST_CASE("a store of version 1 is read on; the age of its rates is not known") {
    const test::TempFolder folder;
    const std::string file = folder.file("ctrl.db");
    std::uint32_t id = 0;
    {
        Store store(file);
        id = store.endpoint_id("vnic", "web");
        store.begin_epoch(700);
        store.write({.allocations = {{"h1", allocation(4)}}});
    }
    Database(file).run(kWithoutVersion4);
    Database(file).run(
        "DROP TABLE facts; DROP TABLE removed_vnics; ALTER TABLE allocations DROP COLUMN at; ALTER TABLE "
        "specifications DROP COLUMN author; PRAGMA user_version = 1;");
    Store store(file, {.cluster = "blue"});
    CHECK(store.endpoint_id("vnic", "web") == id);
    CHECK(store.last_epoch() == 700);
    CHECK(store.allocations().at("h1").flows == allocation(4).flows);
    CHECK_FALSE(store.allocations().at("h1").is_usable(1'000));
}

TEST_CASE("the audit trail of a store of version 3 is read on") {
    const test::TempFolder folder;
    const std::string file = folder.file("ctrl.db");
    (void)Store(file).begin_epoch(700);
    Database(file).run(kWithoutVersion4);
    Store store(file);
    CHECK(store.audit_tail(1)[0].text == "epoch 700");
    CHECK(store.audit_tail(1)[0].peer.empty());
    CHECK(store.add_revision({.text = "{}", .author = "uid 0"}, 800) == 1);
    CHECK(store.audit_tail(5).size() == 2);
}

TEST_CASE("the audit trail is trimmed while it is written", "[long]") {
    const test::TempFolder folder;
    Store store(folder.file("ctrl.db"));
    store.write({.audit = {{.unix_time = 1, .kind = "pool", .text = "an operator's change"}}});
    StoreChanges many;
    many.audit.resize(50'000, {.unix_time = 1, .kind = "refused", .text = "x"});
    for (int i = 0; i < 3; ++i)
        store.write(many);
    const auto kept = store.audit_tail(200'000);
    CHECK(kept.size() == Store::kAuditMax + 1);  // the flood of faults has not removed the change
    CHECK(kept.front().text == "an operator's change");
}

TEST_CASE("the changed values of the newest entries are kept; of older ones their number is") {
    Store store(":memory:");
    StoreChanges many;
    many.audit.resize(Store::kAuditValuesMax + 1,
                      {.unix_time = 1, .kind = "pool", .text = "x", .values = "[]", .values_in_all = 3});
    store.write(many);
    store.write({.audit = {{.unix_time = 1, .kind = "lost", .text = "between"}}});
    CHECK(store.add_revision({.text = "{}", .author = "uid 0", .values = "[1]", .values_in_all = 1}, 2) == 1);
    const auto tail = store.audit_tail(20'000);
    CHECK(tail.size() == many.audit.size() + 2);
    CHECK(tail[1].values.empty());
    CHECK(tail[1].values_in_all == 3);
    CHECK(tail[2].values == "[]");
    CHECK(tail.back().values == "[1]");
    CHECK(tail.back().peer == "uid 0");
    CHECK(tail.back().revision == 1);
    CHECK(store.audit_tail(20, true).size() == 1);  // the only one with a peer
}

TEST_CASE("killed at any moment, the store has all that was committed, and no half of a transaction") {
    const test::TempFolder folder;
    testing::Random32 random{11};
    std::uint32_t interval = 0;
    for (int round = 0; round < 15; ++round) {
        int ends[2];
        REQUIRE(pipe(ends) == 0);
        const pid_t child = fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            close(ends[0]);
            save_until_killed(folder.file("ctrl.db"), ends[1], interval);
        }
        close(ends[1]);
        std::uint32_t reported = 0;
        const std::uint32_t enough = 1 + random() % 8;
        for (std::uint32_t i = 0; i < enough; ++i)
            REQUIRE(read(ends[0], &reported, sizeof reported) == sizeof reported);
        usleep(random() % 2'000);
        kill(child, SIGKILL);
        REQUIRE(waitpid(child, nullptr, 0) == child);
        while (read(ends[0], &reported, sizeof reported) == sizeof reported) {
        }
        close(ends[0]);

        Store store(folder.file("ctrl.db"));
        const auto saved = store.allocations();
        REQUIRE(saved.size() == kStoredHosts);
        interval = saved.begin()->second.interval;
        CHECK(interval >= reported);
        CHECK(interval <= reported + 1);
        for (const auto& [host, stored] : saved)
            REQUIRE((stored.interval == interval && stored.flows == allocation(interval).flows));
        CHECK(store.audit_tail(1).front().unix_time >= reported);
        CHECK(store.last_epoch() == static_cast<std::uint64_t>(round) + 1);
    }
}

TEST_CASE("a store of version 2 is read on; its removed vNICs have their ids") {
    const test::TempFolder folder;
    const std::string file = folder.file("ctrl.db");
    std::uint32_t id = 0;
    {
        Store store(file);
        id = store.endpoint_id("vnic", "web");
        (void)store.add_revision({.text = "{}"}, 1);
    }
    Database(file).run(kWithoutVersion4);
    Database(file).run(
        "DROP TABLE removed_vnics; CREATE TABLE removed_vnics (name TEXT PRIMARY KEY, tenant TEXT NOT NULL, "
        "reservation INTEGER NOT NULL, at INTEGER NOT NULL) WITHOUT ROWID; INSERT INTO removed_vnics VALUES "
        "('web', 'A', 5, 700); ALTER TABLE specifications DROP COLUMN author; PRAGMA user_version = 2;");
    Store store(file);
    CHECK(store.removed_vnics() == std::vector<RemovedVnic>{{id, "web", "A", 5, 700}});
    CHECK(store.revisions(5)[0].author.empty());
    CHECK(store.specification() == "{}");
}
