// report_test.cc - what people and programs are shown; measurements that are read back.
#include "ctrl/calibrate/report.h"

#include "ctrl/calibrate/picture.h"
#include "test/ctrl/calibrate/calibrate_support.h"

using namespace weir;
using namespace weir::calibrate;
using namespace weir::calibrate::test;
using nlohmann::json;

namespace {

Samples stored_samples() {
    Samples samples{"nbd at 10.0.0.3:10809", "2026-11-21", {}};
    samples.measured =
        measure(Operation::kRead, sizes_between(4096, 65536), [](double s) { return 1e-4 + s * 1e-8; });
    samples.measured[1].half_rates = {5000.5};
    samples.measured[1].generator = 0.25;
    return samples;
}

Faults faults_of(json value) {
    Faults faults;
    (void)read_samples(value, faults);
    return faults;
}

}  // namespace

TEST_CASE("measurements that were printed are read back as they were") {
    const Samples samples = stored_samples();
    const TableFit fit = fit_table(samples.measured, {}, {"n", "s"});
    for (const json& value : {samples_json(samples), report_json(samples, fit),
                              json{{"schema", 1}, {"ok", true}, {"data", report_json(samples, fit)}}}) {
        Faults faults;
        const Samples again = read_samples(value, faults);
        REQUIRE(faults.empty());
        CHECK(samples_json(again) == samples_json(samples));
        CHECK(fit_table(again.measured, {}, {"n", "s"}).table == fit.table);
    }
}

TEST_CASE("measurements that make no sense are refused by their path") {
    const json good = samples_json(stored_samples());
    CHECK(faults_of(json::array())[0].path.empty());
    CHECK(faults_of(json::object())[0].path == "measurements");
    json bad = good;
    bad["measurements"][2]["per_second"] = json::array();
    CHECK(faults_of(bad)[0].path == "measurements[2].per_second");
    bad = good;
    bad["measurements"][0]["per_second"][1] = -1;
    CHECK(faults_of(bad)[0].path == "measurements[0].per_second");
    bad = good;
    bad["measurements"][0]["operation"] = "think";
    CHECK(faults_of(bad)[0].path == "measurements[0].operation");
    bad = good;
    bad["measurements"][1].erase("response_bytes");
    CHECK(faults_of(bad)[0].path == "measurements[1].response_bytes");
    bad = good;
    bad["measurements"][1]["colour"] = 3;
    CHECK(faults_of(bad)[0].path == "measurements[1].colour");
    bad = good;
    while (bad["measurements"].size() < 70)
        bad["measurements"].push_back(bad["measurements"][0]);
    CHECK(faults_of(bad)[0].message == "too many sizes of one operation");
}

TEST_CASE("the report shows what was measured beside what was fitted") {
    const Samples samples = stored_samples();
    const TableFit fit = fit_table(samples.measured, {}, {"n", "s"});
    const std::string text = report_text(samples, fit, {});
    CHECK(text.find("nbd at 10.0.0.3:10809, 2026-11-21") == 0);
    CHECK(text.find("read       64KiB   65552B") != std::string::npos);
    CHECK(text.find("read by its response, linear: ") != std::string::npos);
    CHECK(text.find("a token is 1/1000 of a read 4KiB (4112B as counted)") != std::string::npos);
}

TEST_CASE("the file has every member of the table, the name first") {
    const TableFit fit = fit_table(stored_samples().measured, {}, {"n", "s"});
    const std::string text = table_text(fit);
    CHECK(json::parse(text) == fit.table);
    CHECK(text.starts_with("{\n  \"name\": \"n\",\n  \"unit\""));
}

TEST_CASE("the picture has a mark for every measurement and the same bytes for the same fit") {
    const Samples samples = stored_samples();
    const TableFit fit = fit_table(samples.measured, {}, {"n", "s"});
    const std::string picture = picture_svg("a <store> & more", fit);
    CHECK(picture == picture_svg("a <store> & more", fit));
    CHECK(picture.find("a &lt;store&gt; &amp; more") != std::string::npos);
    std::size_t marks = 0;
    for (std::size_t at = 0; (at = picture.find("r=\"3\"", at)) != std::string::npos; ++at)
        ++marks;
    CHECK(marks == samples.measured.size());
    CHECK(picture.ends_with("</svg>\n"));
}

TEST_CASE("one size alone can be drawn") {
    Samples samples = stored_samples();
    samples.measured.resize(1);
    const std::string picture = picture_svg("one", fit_table(samples.measured, {}, {"n", "s"}));
    CHECK(picture.find("nan") == std::string::npos);
    CHECK(picture.find("inf") == std::string::npos);
}
