// exposition_test.cc - pages of both formats byte by byte, their bound, and escaped labels.
#include "common/metrics/exposition.h"

#include <limits>
#include <string>

#include "common/metrics/labels.h"
#include "test/support/catch.h"
#include "test/support/text.h"

using namespace weir;
using namespace weir::metrics;
using weir::test::has;

namespace {

constexpr Family kBytes{"weir_vnic_offered_bytes", Type::kCounter, "bytes", "Bytes that were offered"};
constexpr Family kUp{"weir_vnic_up", Type::kGauge, "", "1: the guest is connected"};
constexpr Family kDelay{"weir_vnic_queue_delay_seconds", Type::kSummary, "seconds", "Wait in the switch"};
constexpr Family kBuild{"weir_switch", Type::kInfo, "", "The program"};

std::string page_of_four(Format format) {
    Exposition page(format);
    page.begin(kBytes);
    page.add(label("vnic", "vm1").text(), R"(direction="from_vm")", 1'234'567'890'123);
    page.begin(kUp);
    page.add("", 1);
    page.begin(kDelay);
    page.add_seconds(label("vnic", "vm1").text(), R"(quantile="0.5")", 1'500);
    page.begin(kBuild);
    page.add(label("version", "0.1.0").text(), 1);
    return page.finish();
}

}  // namespace

TEST_CASE("a page of OpenMetrics has types, units, totals and an end mark") {
    CHECK(page_of_four(Format::kOpenMetrics) ==
          "# TYPE weir_vnic_offered_bytes counter\n"
          "# UNIT weir_vnic_offered_bytes bytes\n"
          "# HELP weir_vnic_offered_bytes Bytes that were offered\n"
          "weir_vnic_offered_bytes_total{vnic=\"vm1\",direction=\"from_vm\"} 1234567890123\n"
          "# TYPE weir_vnic_up gauge\n"
          "# HELP weir_vnic_up 1: the guest is connected\n"
          "weir_vnic_up 1\n"
          "# TYPE weir_vnic_queue_delay_seconds summary\n"
          "# UNIT weir_vnic_queue_delay_seconds seconds\n"
          "# HELP weir_vnic_queue_delay_seconds Wait in the switch\n"
          "weir_vnic_queue_delay_seconds{vnic=\"vm1\",quantile=\"0.5\"} 1.5e-06\n"
          "# TYPE weir_switch info\n"
          "# HELP weir_switch The program\n"
          "weir_switch_info{version=\"0.1.0\"} 1\n"
          "# TYPE weir_metrics_series gauge\n"
          "# HELP weir_metrics_series Samples on this page, those of this line included\n"
          "weir_metrics_series 6\n"
          "# TYPE weir_metrics_series_dropped gauge\n"
          "# HELP weir_metrics_series_dropped Samples that are not on this page, because it is full\n"
          "weir_metrics_series_dropped 0\n"
          "# EOF\n");
}

TEST_CASE("a page of the text format names samples in its heads, and has neither units nor an end mark") {
    const std::string page = page_of_four(Format::kText);
    CHECK(page.starts_with(
        "# TYPE weir_vnic_offered_bytes_total counter\n"
        "# HELP weir_vnic_offered_bytes_total Bytes that were offered\n"
        "weir_vnic_offered_bytes_total{vnic=\"vm1\",direction=\"from_vm\"} 1234567890123\n"));
    CHECK(has(page, "# TYPE weir_switch_info gauge\n"));
    CHECK_FALSE(has(page, "# UNIT"));
    CHECK_FALSE(has(page, "# EOF"));
}

TEST_CASE("samples beyond the bound of a page are counted and left out") {
    Exposition page(Format::kOpenMetrics, 3);
    page.begin(kUp);
    for (std::uint64_t i = 0; i < 5; ++i)
        page.add(label("vnic", std::to_string(i)).text(), i);
    CHECK(page.dropped() == 2);
    const std::string text = page.finish();
    CHECK(has(text, "weir_vnic_up{vnic=\"2\"} 2\n"));
    CHECK_FALSE(has(text, "weir_vnic_up{vnic=\"3\"}"));
    CHECK(has(text, "weir_metrics_series 5\n"));
    CHECK(has(text, "weir_metrics_series_dropped 2\n"));
}

TEST_CASE("numbers that are none have the words of the format") {
    Exposition page(Format::kOpenMetrics);
    page.begin(kUp);
    for (const double value :
         {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
          -std::numeric_limits<double>::infinity(), 0.0, 0.25, 1e300})
        page.add_real("", "", value);
    const std::string text = page.finish();
    for (const char* line : {"weir_vnic_up NaN\n", "weir_vnic_up +Inf\n", "weir_vnic_up -Inf\n",
                             "weir_vnic_up 0\n", "weir_vnic_up 0.25\n", "weir_vnic_up 1e+300\n"})
        CHECK(has(text, line));
}

TEST_CASE("values of labels are escaped, and bytes that are no ASCII do not spoil the page") {
    Labels labels;
    labels.add("tenant", "a\\b\"c\nd").add("vnic", "\xff\xc3\xa4");
    CHECK(labels.text() == R"(tenant="a\\b\"c\nd",vnic="???")");
}

TEST_CASE("a scraper gets OpenMetrics when it takes it, and the text format otherwise") {
    CHECK(format_for("application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5") ==
          Format::kOpenMetrics);
    CHECK(format_for("text/plain;version=0.0.4") == Format::kText);
    CHECK(format_for("") == Format::kText);
    CHECK(content_type(Format::kOpenMetrics) == "application/openmetrics-text; version=1.0.0; charset=utf-8");
    CHECK(content_type(Format::kText) == "text/plain; version=0.0.4; charset=utf-8");
}
