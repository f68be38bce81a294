// exposition.h - measured values as the text that a monitoring system scrapes.
// Source: OpenMetrics 1.0; Prometheus text format 0.0.4. Units: seconds and bytes. Threads: one owner.
//
// The two formats differ in a few lines: OpenMetrics names a counter without _total in its head, has units
// and an end mark; the text format is older, and every tool reads it. A scraper names the formats that it
// takes.
//
//   Exposition page(format_for(accept));
//   page.begin(kOffered);                                   // the head of a family, then its samples
//   page.add(R"(vnic="vm1",direction="from_vm")", 1200);    // weir_vnic_offered_bytes_total{...} 1200
//   const std::string text = page.finish();
//
// A page has a bound of samples, so that no number of vNICs, resources or drop reasons fills the memory of
// the switch or of the monitoring system: samples beyond it are counted in weir_metrics_series_dropped.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/clock.h"
#include "common/metrics/family.h"

namespace weir::metrics {

enum class Format : std::uint8_t { kText, kOpenMetrics };

/// @param accept value of the HTTP header Accept; empty: it has none
[[nodiscard]] Format format_for(std::string_view accept);
/// Value of the HTTP header Content-Type.
[[nodiscard]] std::string_view content_type(Format format);

/// The families that each page ends with.
inline constexpr std::array kPageFamilies{
    Family{"weir_metrics_series", Type::kGauge, "", "Samples on this page, those of this line included"},
    Family{"weir_metrics_series_dropped", Type::kGauge, "",
           "Samples that are not on this page, because it is full"}};

class Exposition {
  public:
    static constexpr std::size_t kSeriesMax = 200'000;

    explicit Exposition(Format format, std::size_t series_max = kSeriesMax)
        : format_(format), series_max_(series_max) {}

    /// Begins a family; all its samples follow, before the next one begins. Each name once in a page.
    void begin(const Family& family);

    // A sample of the family. @param labels, more as of Labels::text(); empty: none
    void add(std::string_view labels, std::uint64_t value) { add(labels, {}, value); }
    void add(std::string_view labels, std::string_view more, std::uint64_t value);
    /// Any number; NaN where there is none.
    void add_real(std::string_view labels, std::string_view more, double value);
    void add_seconds(std::string_view labels, std::string_view more, Nanos value) {
        add_real(labels, more, to_seconds(value));
    }

    [[nodiscard]] std::size_t dropped() const { return dropped_; }
    /// The whole page; nothing may be added after it.
    [[nodiscard]] std::string finish();

  private:
    [[nodiscard]] bool open(std::string_view labels, std::string_view more);
    void head(std::string_view keyword, std::string_view text);

    Format format_;
    std::size_t series_max_;
    std::size_t series_ = 0;
    std::size_t dropped_ = 0;
    std::string name_;    // of the family
    std::string sample_;  // the name that its samples have
    std::string text_;
};

}  // namespace weir::metrics
