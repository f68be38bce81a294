// report_test.cc - text, JSON, table file and picture; measurements that are read back.
#include "ctrl/calibrate/report.h"

#include "test/ctrl/calibrate/calibrate_support.h"

using namespace weir;
using namespace weir::calibrate;
using namespace weir::calibrate::test;
using nlohmann::json;

TEST_CASE("measurements that were printed are read back as they were") {
    const Calibration calibration = stored_calibration();
    const TableFit fit = fit_table(calibration.measurements, {}, {"n", "s"});
    for (const json& value : {calibration_json(calibration), report_json(calibration, fit),
                              json{{"schema", 1}, {"ok", true}, {"data", report_json(calibration, fit)}}}) {
        Faults faults;
        const Calibration again = read_calibration(value, faults);
        REQUIRE(faults.empty());
        CHECK(calibration_json(again) == calibration_json(calibration));
        CHECK(fit_table(again.measurements, {}, {"n", "s"}).table == fit.table);
    }
}

TEST_CASE("the report shows measured costs beside fitted ones") {
    const Calibration calibration = stored_calibration();
    const TableFit fit = fit_table(calibration.measurements, {}, {"n", "s"});
    const std::string text = report_text(calibration, fit, {});
    CHECK(text.find("nbd at 10.0.0.3:10809, 2026-11-21") == 0);
    CHECK(text.find("read       64KiB   65552B") != std::string::npos);
    CHECK(text.find("read is priced by its response size, linear: ") != std::string::npos);
    CHECK(text.find("a token is 1/1000 of a read 4KiB (4112B as counted)") != std::string::npos);
}

TEST_CASE("the file has every member of the table, the name first") {
    const TableFit fit = fit_table(stored_calibration().measurements, {}, {"n", "s"});
    const std::string text = table_text(fit);
    CHECK(json::parse(text) == fit.table);
    CHECK(text.starts_with("{\n  \"name\": \"n\",\n  \"unit\""));
}

TEST_CASE("the picture has a mark for every measurement and the same bytes for the same fit") {
    const Calibration calibration = stored_calibration();
    const TableFit fit = fit_table(calibration.measurements, {}, {"n", "s"});
    const std::string picture = picture_svg("a <store> & more", fit);
    CHECK(picture == picture_svg("a <store> & more", fit));
    CHECK(picture.find("a &lt;store&gt; &amp; more") != std::string::npos);
    std::size_t marks = 0;
    for (std::size_t at = 0; (at = picture.find("r=\"3\"", at)) != std::string::npos; ++at)
        ++marks;
    CHECK(marks == calibration.measurements.size());
    CHECK(picture.ends_with("</svg>\n"));
}

TEST_CASE("one size alone can be drawn") {
    Calibration calibration = stored_calibration();
    calibration.measurements.resize(1);
    const std::string picture = picture_svg("one", fit_table(calibration.measurements, {}, {"n", "s"}));
    CHECK(picture.find("nan") == std::string::npos);
    CHECK(picture.find("inf") == std::string::npos);
}
