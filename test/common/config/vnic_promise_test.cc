// vnic_promise_test.cc - kinds and differences of promises, and the keys of guarantees.
#include "common/config/vnic_promise.h"

#include <nlohmann/json.hpp>

#include "test/support/catch.h"
#include "test/support/faults.h"

using namespace weir;

namespace {

constexpr std::uint64_t kGbit = 1'000'000'000;

struct GuaranteeRead {
    VnicPromise promise;
    Faults faults;
};

GuaranteeRead read(const char* text, bool is_rate_elsewhere = false) {
    const nlohmann::json object = nlohmann::json::parse(text);
    GuaranteeRead out;
    ObjectReader reader(object, "v", out.faults);
    read_guarantee(reader, out.promise, is_rate_elsewhere);
    reader.finish();
    return out;
}

std::string text_between(const VnicPromise& promise, const VnicPromise& file) {
    return text_of(differences(promise, file));
}

}  // namespace

TEST_CASE("a promise without a kind is strict with a reservation, and fairness without", "[promise]") {
    CHECK(kind_of({}) == GuaranteeKind::kFairness);
    CHECK(kind_of({.reservation_bps = 1}) == GuaranteeKind::kStrict);
    CHECK(kind_of({.guarantee = GuaranteeKind::kBestEffort}) == GuaranteeKind::kBestEffort);
    CHECK(dynamic_mean_bps(75'000'000'000, 600 * kNanosPerSec) == kGbit);
}

TEST_CASE("values that a file leaves at their defaults are no difference", "[promise]") {
    CHECK(differences({.reservation_bps = kGbit, .limit_bps = 4 * kGbit, .shares = 300}, {}).empty());
    CHECK(differences({.guarantee = GuaranteeKind::kDynamic, .size_bytes = 9, .time = 9}, {}).empty());
    const VnicPromise same{.reservation_bps = kGbit, .limit_bps = 4 * kGbit, .shares = 300};
    CHECK(differences(same, same).empty());
    CHECK(differences({}, {.limit_bps = kGbit}).empty());  // a bound of the host alone
}

TEST_CASE("each value of which both files state another one is named with both", "[promise]") {
    const VnicPromise promise{.reservation_bps = kGbit, .limit_bps = 4 * kGbit};
    CHECK(text_between(promise, {.reservation_bps = 2 * kGbit, .limit_bps = 3 * kGbit, .shares = 300}) ==
          "reservation 1Gbit (file: 2Gbit); limit 4Gbit (file: 3Gbit, which is lower and holds); "
          "shares 100 (file: 300)");
    CHECK(text_between(promise, {.limit_bps = 5 * kGbit}) == "limit 4Gbit (file: 5Gbit)");
    CHECK(text_between({}, {.reservation_bps = 2 * kGbit}) == "reservation 0bit (file: 2Gbit)");
    const VnicPromise dynamic{.guarantee = GuaranteeKind::kDynamic,
                              .reservation_bps = kGbit,
                              .size_bytes = 75'000'000'000,
                              .time = 600 * kNanosPerSec};
    CHECK(text_between(promise, dynamic) == "guarantee_kind strict (file: dynamic)");
    CHECK(text_between(dynamic, {.reservation_bps = 2 * kGbit}) == "reservation 1Gbit (file: 2Gbit)");
    VnicPromise shorter = dynamic;
    shorter.time /= 2;
    CHECK(text_between(dynamic, shorter) == "size 75000000000B in 600s (file: 75000000000B in 300s)");
    CHECK(text_between({.guarantee = GuaranteeKind::kBestEffort, .shares = 300}, {.shares = 300}) ==
          "shares 1 (file: 300)");
}

TEST_CASE("a guarantee's keys are those of its kind", "[promise]") {
    const GuaranteeRead dynamic = read(R"({"guarantee_kind": "dynamic", "size": "75GB", "time": "600s"})");
    CHECK(dynamic.faults.empty());
    CHECK(dynamic.promise.reservation_bps == kGbit);
    CHECK(read(R"({"reservation": "1Gbit"})").promise == VnicPromise{.reservation_bps = kGbit});
    CHECK(read(R"({"guarantee_kind": "strict"})", true).faults.empty());
    for (const auto& [text, path, message] :
         {std::tuple{R"({"guarantee_kind": "strict"})", "v.reservation", "a strict guarantee is a rate"},
          {R"({"guarantee_kind": "fairness", "reservation": "1Gbit"})", "v.reservation", "has no rate"},
          {R"({"guarantee_kind": "dynamic", "size": "75GB"})", "v.time", "a size within a time"},
          {R"({"guarantee_kind": "dynamic", "size": "1kB", "time": "720h"})", "v.size", "that is"},
          {R"({"guarantee_kind": "dynamic", "size": "1GB", "time": "1s", "reservation": "1bit"})",
           "v.reservation", "its size and time give the rate"},
          {R"({"size": "1GB"})", "v.size", "belongs to a dynamic guarantee"}}) {
        INFO(text);
        CHECK(test::has_fault(read(text).faults, path, message));
    }
}

TEST_CASE("promises of workers are within their limits, and their packets within the link's reservation",
          "[promise]") {
    const auto read_worker = [](const char* text, std::uint64_t reservation_bps = 0) {
        const nlohmann::json object = nlohmann::json::parse(text);
        GuaranteeRead out;
        out.promise.reservation_bps = reservation_bps;
        ObjectReader reader(object, "v", out.faults);
        read_worker_promise(reader, out.promise);
        reader.finish();
        return out;
    };
    CHECK(read_worker("{}").promise == VnicPromise{});
    CHECK(read_worker(R"({"reservation_pps": "100kpps", "limit_pps": "1Mpps", "cycle_shares": 9,
                          "encrypt_reservation": "5Mtokens", "encrypt_limit": "6Mtokens"})",
                      73'600'000)
              .promise.worker == WorkerPromise{100'000, 1'000'000, 9, 5'000'000, 6'000'000});
    CHECK(read_worker(R"({"reservation_pps": null, "encrypt_limit": null})").promise.worker ==
          WorkerPromise{});
    CHECK(test::has_fault(read_worker(R"({"reservation_pps": "100kpps"})", 73'599'999).faults,
                          "v.reservation_pps", "has to carry"));
    CHECK(
        test::has_fault(read_worker(R"({"reservation_pps": "100kpps", "limit_pps": "99kpps"})", kGbit).faults,
                        "v.reservation_pps", "above the limit"));
    CHECK(test::has_fault(
        read_worker(R"({"encrypt_reservation": "7Mtokens", "encrypt_limit": "6Mtokens"})").faults,
        "v.encrypt_reservation", "above the limit"));
    CHECK(test::has_fault(read_worker(R"({"cycle_shares": 0})").faults, "v.cycle_shares", "out of range"));
}

TEST_CASE("values of workers differ when both files state them", "[promise]") {
    const VnicPromise promise{.worker = {.limit_pps = 200, .cycle_shares = 50, .encrypt_limit = 7}};
    CHECK(differences(promise, {}).empty());
    CHECK(text_between(
              promise,
              {.worker = {.reservation_pps = 5, .limit_pps = 100, .cycle_shares = 60, .encrypt_limit = 9}}) ==
          "limit_pps 200pps (file: 100pps, which is lower and holds); cycle_shares 50 (file: 60); "
          "encrypt_limit 7tokens (file: 9tokens)");
}
