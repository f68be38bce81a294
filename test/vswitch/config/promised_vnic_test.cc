// promised_vnic_test.cc - the configuration in force of a vNIC with a promise of the controller.
#include "vswitch/config/promised_vnic.h"

#include <nlohmann/json.hpp>

#include "test/support/random.h"
#include "test/vswitch/config/config_support.h"

using namespace weir;

namespace {

constexpr std::uint64_t kPromisedGbit = 1'000'000'000;

VnicConfig vnic_of_file() {
    VnicConfig vnic;
    vnic.name = "vm1";
    vnic.tenant = "A";
    vnic.reservation_bps = 2 * kPromisedGbit;
    vnic.limit_bps = 3 * kPromisedGbit;
    vnic.shares = 300;
    vnic.cycle_shares = 7;
    vnic.limit_pps = 1'000'000;
    return vnic;
}

Faults change_faults(const nlohmann::json& change, const VnicConfig& changed, const VnicPromise& promise) {
    return faults_of_promised_keys(change, changed, promise, "change");
}

}  // namespace

TEST_CASE("reservation, guarantee and shares are the promise's, the limit is the lower one", "[promised]") {
    const VnicConfig file = vnic_of_file();
    const VnicConfig now = with_promise(
        file, {.reservation_bps = kPromisedGbit, .limit_bps = 4 * kPromisedGbit}, Accounting::kWire);
    CHECK(now.reservation_bps == kPromisedGbit);
    CHECK(now.limit_bps == 3 * kPromisedGbit);
    CHECK(now.shares == 100);
    CHECK_FALSE(now.guarantee);
    CHECK(now.cycle_shares == 7);  // the host's own
    CHECK(now.limit_pps == 1'000'000);
    CHECK(with_promise(file, {.limit_bps = kPromisedGbit}, Accounting::kWire).limit_bps == kPromisedGbit);
    CHECK(with_promise(file, {}, Accounting::kWire).reservation_bps == 0);
    CHECK(with_promise(file, {}, Accounting::kWire).limit_bps == 3 * kPromisedGbit);
    VnicConfig open = file;
    open.limit_bps.reset();
    CHECK_FALSE(with_promise(open, {}, Accounting::kWire).limit_bps);
}

TEST_CASE("a promise above the host's limit is cut to it", "[promised]") {
    const VnicConfig now =
        with_promise(vnic_of_file(), {.reservation_bps = 8 * kPromisedGbit}, Accounting::kWire);
    CHECK(now.reservation_bps == 3 * kPromisedGbit);
    VnicConfig packets = vnic_of_file();
    packets.reservation_pps = 500'000;  // 352 Mbit/s
    CHECK(with_promise(packets, {}, Accounting::kWire).reservation_pps == 500'000);
    CHECK(with_promise(packets, {.limit_bps = 70'400'000}, Accounting::kWire).reservation_pps == 100'000);
    CHECK(with_promise(packets, {.guarantee = GuaranteeKind::kFairness}, Accounting::kWire).reservation_pps ==
          0);
}

TEST_CASE("of the workers' cycles the promise has what the specification has, within the lower limits",
          "[promised]") {
    VnicConfig file = vnic_of_file();
    file.reservation_pps = 300'000;
    const WorkerPromise promise{.reservation_pps = 400'000,
                                .limit_pps = 350'000,
                                .cycle_shares = 50,
                                .encrypt_reservation = 8'000'000,
                                .encrypt_limit = 6'000'000};
    VnicConfig now = with_promise(file, {.worker = promise}, Accounting::kWire);
    CHECK(now.reservation_pps == 350'000);
    CHECK(now.limit_pps == 350'000);
    CHECK(now.cycle_shares == 50);
    CHECK(now.encrypt_reservation == 0);  // it does not encrypt
    CHECK_FALSE(now.encrypt_limit);
    file.encrypt = true;
    now = with_promise(file, {.worker = promise}, Accounting::kWire);
    CHECK(now.encrypt_reservation == 6'000'000);
    CHECK(now.encrypt_limit == 6'000'000);
    file.encrypt_limit = 5'000'000;
    CHECK(with_promise(file, {.worker = promise}, Accounting::kWire).encrypt_reservation == 5'000'000);
    now = with_promise(file, {}, Accounting::kWire);
    CHECK(now.reservation_pps == 300'000);
    CHECK(now.cycle_shares == 7);
    CHECK(now.encrypt_limit == 5'000'000);
}

TEST_CASE("a promise of encryption to a vNIC that does not encrypt is named", "[promised]") {
    VnicConfig file = vnic_of_file();
    const VnicPromise promise{.worker = {.cycle_shares = 9, .encrypt_reservation = 8'000'000}};
    CHECK(
        text_of(differences_from_file(promise, file)) ==
        "reservation 0bit (file: 2Gbit); shares 100 (file: 300); cycle_shares 9 (file: 7); encrypt true, as "
        "encrypt_reservation is promised (file: false)");
    file.encrypt = true;
    file.encrypt_reservation = 1'000'000;
    CHECK(
        text_of(differences_from_file(promise, file)).find("encrypt_reservation 8Mtokens (file: 1Mtokens)") !=
        std::string::npos);
}

TEST_CASE("a dynamic and a best-effort promise have the values of their kind", "[promised]") {
    const VnicConfig dynamic = with_promise(vnic_of_file(),
                                            {.guarantee = GuaranteeKind::kDynamic,
                                             .reservation_bps = kPromisedGbit,
                                             .size_bytes = 75'000'000'000,
                                             .time = 600 * kNanosPerSec},
                                            Accounting::kWire);
    CHECK(dynamic.guarantee == GuaranteeKind::kDynamic);
    CHECK(dynamic.size_bytes == 75'000'000'000);
    CHECK(dynamic.time == 600 * kNanosPerSec);
    CHECK(dynamic.reservation_bps == kPromisedGbit);
    const VnicConfig last = with_promise(
        vnic_of_file(), {.guarantee = GuaranteeKind::kBestEffort, .shares = 500}, Accounting::kWire);
    CHECK(last.shares == 1);
    CHECK(last.reservation_bps == 0);
    CHECK(stated_promise(last) == VnicPromise{.guarantee = GuaranteeKind::kBestEffort,
                                              .limit_bps = 3 * kPromisedGbit,
                                              .worker = {.limit_pps = 1'000'000, .cycle_shares = 7}});
    CHECK(stated_promise(VnicConfig{}) == VnicPromise{});
}

TEST_CASE("no promise lifts the host's limit, and the reservation is never above the limit", "[promised]") {
    testing::Random32 random(17);
    for (int run = 0; run < 2'000; ++run) {
        VnicConfig file = vnic_of_file();
        const auto rate = [&] { return 64'000 + std::uint64_t{random()}; };
        file.reservation_pps = random() % 2 == 0 ? 0 : random() % 1'000'000;
        if (random() % 3 == 0)
            file.limit_bps.reset();
        else
            file.limit_bps = rate();
        VnicPromise promise{.reservation_bps = rate()};
        if (random() % 2 == 0)
            promise.limit_bps = rate();
        const VnicConfig now = with_promise(file, promise, Accounting::kL2);
        const std::uint64_t limit = now.limit_bps.value_or(UINT64_MAX);
        CHECK(limit == std::min(file.limit_bps.value_or(UINT64_MAX), promise.limit_bps.value_or(UINT64_MAX)));
        CHECK(uplink_reservation_bps(now, Accounting::kL2) <= limit);
        CHECK(with_promise(now, promise, Accounting::kL2).reservation_bps == now.reservation_bps);
    }
}

TEST_CASE("a key that the promise has is refused at run time with the command of the controller",
          "[promised]") {
    const VnicPromise promise{.reservation_bps = kPromisedGbit, .limit_bps = 4 * kPromisedGbit};
    VnicConfig changed = vnic_of_file();
    const Faults faults =
        change_faults({{"reservation", "2Gbit"}, {"shares", 200}, {"time", nullptr}}, changed, promise);
    REQUIRE(faults.size() == 3);
    CHECK(faults[0].path == "change.reservation");
    CHECK(faults[0].allowed == "1Gbit, as promised");
    CHECK(faults[0].message ==
          "the controller's specification has it: change it there by `weirctl tenant set-vnic A vm1 "
          "reservation=VALUE`");
    CHECK(test::has_fault(faults, "change.shares", "vm1 weight=VALUE"));
    CHECK(test::has_fault(faults, "change.time", "vm1 time=VALUE"));
    changed.limit_bps = 5 * kPromisedGbit;
    CHECK(test::has_fault(change_faults({{"limit", "5Gbit"}}, changed, promise), "change.limit",
                          "the lower one of both limits holds"));
    changed.limit_bps = 2 * kPromisedGbit;
    CHECK(change_faults({{"limit", "2Gbit"}}, changed, promise).empty());
    changed.limit_bps.reset();
    CHECK(change_faults({{"limit", nullptr}, {"cycle_shares", 5}}, changed, promise).empty());
    CHECK(test::has_fault(change_faults({{"cycle_shares", 5}}, changed, {.worker = {.cycle_shares = 9}}),
                          "change.cycle_shares", "vm1 cycle_shares=VALUE"));
    changed.encrypt_limit = 7;
    CHECK(test::has_fault(
        change_faults({{"encrypt_limit", "7tokens"}}, changed, {.worker = {.encrypt_limit = 6}}),
        "change.encrypt_limit", "the lower one of both limits holds"));
    changed.reservation_pps = 5;
    const nlohmann::json packets{{"reservation_pps", "5pps"}};
    CHECK(change_faults(packets, changed, promise).empty());
    CHECK(test::has_fault(change_faults(packets, changed, {.guarantee = GuaranteeKind::kFairness}),
                          "change.reservation_pps", "has no rate"));
}
