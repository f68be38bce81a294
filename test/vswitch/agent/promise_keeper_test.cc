// promise_keeper_test.cc - when promises are written, and those of a switch that starts without a controller.
#include "vswitch/agent/promise_keeper.h"

#include <map>

#include "test/support/catch.h"
#include "test/support/temp_folder.h"
#include "test/vswitch/agent/session_line.h"

using namespace weir;
using test::hello_of_h1;
using test::Line;
using test::tables_of_h1;

namespace {

constexpr std::int64_t kNoon = 1'795'257'000;
constexpr std::uint64_t kUnstated = wire::kNoStatement;

const LocalFlow kToDisk{"a1", 0, {}};
const LocalFlow kToPeer{"a1", 0, "52:54:00:00:00:02"};

}  // namespace

TEST_CASE("a switch that starts while the controller is away has the last promises, of pairs too",
          "[promises]") {
    const weir::test::TempFolder folder;
    const std::string path = folder.file("promises");
    {
        Line line;
        PromiseKeeper keeper(path, "h1");
        keeper.restore(line.session, kNoon);
        CHECK(keeper.report(line.session, kNoon).confirmed == 0);
        line.welcome(kNanosPerSec);
        line.tables(400, kNanosPerSec);
        keeper.tick(line.session, kNanosPerSec, kNoon);
    }
    Line line;
    PromiseKeeper keeper(path, "h1");
    keeper.restore(line.session, kNoon + 720);
    CHECK(line.session.state() == ControllerSession::State::kSilent);
    CHECK(line.session.cluster() == "c1");
    FlowRates rates = line.rates();
    CHECK(rates.at(kToDisk) == FlowTokens{kUnstated, 400, kUnstated});
    CHECK(rates.at(kToPeer) == FlowTokens{300, kUnstated, kUnstated});  // the smaller floor of 500 and 300
    const PromiseReport report = keeper.report(line.session, kNoon + 720);
    CHECK(report.of_file);
    CHECK(report.in_force);
    CHECK(report.age == 720);
    // The controller is there: its word counts, and the first whole ALLOCATION ends the guarantees.
    line.welcome(2 * kNanosPerSec);
    line.tables(200, 2 * kNanosPerSec);
    rates = line.rates();
    CHECK(rates.at(kToDisk)[1] == 200);
    CHECK(rates.at(kToPeer)[0] == 300);
    line.send(wire::Type::kAllocation, "", 2 * kNanosPerSec, wire::flags::kSnapshot);
    CHECK(line.rates().at(kToPeer)[0] == 300);  // it has no allocation yet
    keeper.tick(line.session, 2 * kNanosPerSec, kNoon + 730);
    CHECK_FALSE(keeper.report(line.session, kNoon + 730).of_file);
}

TEST_CASE("a switch that the controller refuses says so, and keeps to the promises that it has",
          "[promises]") {
    const weir::test::TempFolder folder;
    REQUIRE(PromiseFile(folder.file("h1"), "h1")
                .write({kNoon, {.interval = kNanosPerSec, .validity = 3}, tables_of_h1(400)})
                .empty());
    Line line;
    PromiseKeeper keeper(folder.file("h1"), "h1");
    keeper.restore(line.session, kNoon);
    line.session.tick(kNanosPerSec);
    wire::Header hello;
    const auto sent = line.session.take_outgoing();
    REQUIRE(wire::decode_header(sent.front().header, sent.front().body.size(), hello) ==
            wire::Malformed::kNo);
    line.sequencer = {.epoch = 1'000, .session = hello.session};
    line.send(wire::Type::kWelcome, wire::to_text(wire::Welcome{.refused = "there is no host h1"}),
              kNanosPerSec);
    for (Nanos second = 1; second < 10; ++second) {
        line.session.tick(second * kNanosPerSec);
        keeper.tick(line.session, second * kNanosPerSec, kNoon + 5);
        CHECK(line.session.state() == ControllerSession::State::kRefused);
        CHECK(line.session.is_static());
    }
    CHECK(line.rates().at(kToDisk)[1] == 400);
    CHECK(keeper.report(line.session, kNoon + 5).age == 5);
}

TEST_CASE("promises to vNICs of this host outlast the switch, and count as kept until a controller's come",
          "[promises]") {
    const weir::test::TempFolder folder;
    wire::Tables tables = tables_of_h1(400);
    tables.endpoints[0].promise = VnicPromise{.reservation_bps = 7'000'000};
    tables.endpoints[1].promise = VnicPromise{.reservation_bps = 9'000'000};  // of another host's vNIC
    const auto promised = [](const VnicPromises& promises) {
        REQUIRE(promises.by_vnic.size() == 1);
        return promises.by_vnic.at("a1").reservation_bps;
    };
    REQUIRE(PromiseFile(folder.file("h1"), "h1")
                .write({kNoon, {.interval = kNanosPerSec, .validity = 3}, tables})
                .empty());
    Line line;
    CHECK(line.session.promises() == VnicPromises{});
    PromiseKeeper keeper(folder.file("h1"), "h1");
    keeper.restore(line.session, kNoon);
    (void)line.rates();
    CHECK(promised(line.session.promises()) == 7'000'000);
    CHECK(line.session.promises().is_kept);
    line.welcome(kNanosPerSec);
    CHECK(promised(line.session.promises()) == 7'000'000);
    CHECK(line.session.promises().is_kept);
    tables.endpoints[0].promise->reservation_bps = 8'000'000;
    const std::uint64_t revision = line.session.promise_revision();
    line.send(wire::Type::kTables, wire::to_text(tables), kNanosPerSec);
    CHECK(promised(line.session.promises()) == 8'000'000);
    CHECK_FALSE(line.session.promises().is_kept);
    CHECK(line.session.promise_revision() > revision);
    line.session.tick(20 * kNanosPerSec);  // silent: the promise stays
    CHECK(line.session.state() == ControllerSession::State::kSilent);
    CHECK(promised(line.session.promises()) == 8'000'000);
    FlowRates rates;
    (void)line.session.update_rates(rates);
    wire::Tables change{.endpoints = {tables.endpoints[0]}, .changes = true};
    change.endpoints[0].promise->reservation_bps = 6'000'000;
    line.welcome(21 * kNanosPerSec);
    line.send(wire::Type::kTables, wire::to_text(change), 21 * kNanosPerSec);
    CHECK(promised(line.session.promises()) == 6'000'000);
    CHECK(line.session.update_rates(rates));  // they are applied together with rates
    line.tables(400, 22 * kNanosPerSec);      // a controller that knows no promises
    CHECK(line.session.promises().by_vnic.empty());
}

TEST_CASE("without a file, and with one of another host, nothing is put into force", "[promises]") {
    const weir::test::TempFolder folder;
    Line line;
    PromiseKeeper(folder.file("none"), "h1").restore(line.session, kNoon);
    CHECK(line.session.state() == ControllerSession::State::kConnecting);
    REQUIRE(PromiseFile(folder.file("h2"), "h2")
                .write({kNoon, {.interval = kNanosPerSec, .validity = 3}, tables_of_h1(400)})
                .empty());
    PromiseKeeper(folder.file("h2"), "h1").restore(line.session, kNoon);
    CHECK(line.session.state() == ControllerSession::State::kConnecting);
    CHECK(line.rates().empty());
}

TEST_CASE("promises are written at once, then at most every 5 s, once a minute, and at the end",
          "[promises]") {
    const weir::test::TempFolder folder;
    const PromiseFile file(folder.file("promises"), "h1");
    Line line;
    PromiseKeeper keeper(file.path(), "h1");
    const auto kept = [&](Nanos second) {
        keeper.tick(line.session, second * kNanosPerSec, kNoon + static_cast<std::int64_t>(second));
        const PromiseFile::Read read = file.read();
        return read.promises ? std::pair(read.promises->confirmed - kNoon,
                                         read.promises->tables.guarantees.at(0).rate[wire::kTokens])
                             : std::pair(std::int64_t{-1}, std::uint64_t{0});
    };
    using Kept = std::pair<std::int64_t, std::uint64_t>;
    CHECK(kept(1) == Kept{-1, 0});
    line.welcome(2 * kNanosPerSec);
    CHECK(kept(2) == Kept{-1, 0});  // without TABLES nothing is promised
    line.tables(400, 2 * kNanosPerSec);
    CHECK(kept(2) == Kept{2, 400});
    line.tables(401, 3 * kNanosPerSec);
    CHECK(kept(3) == Kept{2, 400});
    CHECK(kept(7) == Kept{7, 401});
    line.send(wire::Type::kAllocation, "", 66 * kNanosPerSec, wire::flags::kSnapshot);
    CHECK(kept(66) == Kept{7, 401});
    CHECK(kept(67) == Kept{67, 401});  // nothing changed: the file says when the controller was there
    line.send(wire::Type::kAllocation, "", 68 * kNanosPerSec, wire::flags::kSnapshot);
    CHECK(kept(68) == Kept{67, 401});
    line.session.tick(72 * kNanosPerSec);  // silent since 71 s
    CHECK(kept(72) == Kept{68, 401});
    CHECK(kept(200) == Kept{68, 401});
}

TEST_CASE("an age is given in the largest unit of which there are two", "[promises]") {
    const std::map<std::int64_t, std::string> texts{{-5, "0 s"},     {119, "119 s"}, {120, "2 min"},
                                                    {720, "12 min"}, {7'200, "2 h"}, {172'800, "2 d"}};
    for (const auto& [seconds, text] : texts)
        CHECK(age_text(seconds) == text);
}
