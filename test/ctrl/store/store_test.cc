// store_test.cc - durability of the store, also after kill -9, and the errors of files that cannot be opened.
#include "ctrl/store/store.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "common/error.h"
#include "test/support/catch.h"
#include "test/support/random.h"
#include "test/support/temp_folder.h"

using namespace weir;

namespace {

std::string why_not(const std::string& path) {
    try {
        Store store(path);
    } catch (const HostError& error) {
        return error.what();
    }
    return "";
}

StoredAllocation allocation(std::uint32_t interval) {
    return {5, interval, {{.flow = {1, 2}, .rate = {interval, 7, wire::kNoStatement}}}};
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
        store.save_allocations(by_host);
        store.audit("interval", std::to_string(interval), interval);
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

TEST_CASE("a specification is stored once, and the last one is read back") {
    const test::TempFolder folder;
    {
        Store store(folder.file("ctrl.db"));
        CHECK_FALSE(store.specification());
        CHECK(store.save_specification("{}", 1));
        CHECK_FALSE(store.save_specification("{}", 2));
        CHECK(store.save_specification("{ }", 3));
    }
    CHECK(Store(folder.file("ctrl.db")).specification() == "{ }");
}

TEST_CASE("pool settings are stored, and only the last ones") {
    const test::TempFolder folder;
    const std::vector<PoolSetting> settings{{"disk", "sales", false, "limit", PoolSetting::kNoLimit, 700},
                                            {"disk", "sales", true, "shares", 300, 100}};
    {
        Store store(folder.file("ctrl.db"));
        CHECK(store.pool_settings().empty());
        store.save_pool_settings(std::vector<PoolSetting>{{"disk", "web", false, "shares", 1, 2}});
        store.save_pool_settings(settings);
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
        store.save_measured_use({{"a", use}, {"b", {}}});
        store.save_measured_use({{"a", use}});
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
        store.save_allocations({{"h1", allocation(3)}, {"h2", allocation(3)}});
        store.save_allocations({{"h1", allocation(4)}, {"h2", {}}});
    }
    const auto read = Store(folder.file("ctrl.db")).allocations();
    REQUIRE(read.size() == 1);
    CHECK(read.at("h1").epoch == 5);
    CHECK(read.at("h1").interval == 4);
    CHECK(read.at("h1").flows == allocation(4).flows);
}

TEST_CASE("the audit trail returns the last entries in their order") {
    const test::TempFolder folder;
    Store store(folder.file("ctrl.db"));
    for (int i = 0; i < 5; ++i)
        store.audit("welcome", "h" + std::to_string(i), i);
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
