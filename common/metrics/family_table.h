// family_table.h - tables of families, each with the function that writes its samples of one subject.
// Source: docs/metrics.md. Threads: any.
//
//   constexpr std::array kWorkerFamilies{
//       FamilyOf<WorkerReport>{{"weir_worker_bursts", Type::kCounter, "", "Polls that gave frames"},
//                              [](const WorkerReport& worker, const Samples& out) { out(worker.bursts); }}};
//   write_families(page, kWorkerFamilies, report.workers, labels);
//
// docs/metrics.md has a row for each entry of such a table; a test compares.
#pragma once

#include <string_view>
#include <vector>

#include "common/metrics/exposition.h"
#include "common/metrics/labels.h"

namespace weir::metrics {

/// Samples of one family and one subject, with the subject's labels.
class Samples {
  public:
    Samples(Exposition& page, std::string_view labels) : page_(page), labels_(labels) {}

    void operator()(std::uint64_t value) const { page_.add(labels_, value); }
    /// @param more further labels, as of Labels::text()
    void operator()(std::string_view more, std::uint64_t value) const { page_.add(labels_, more, value); }
    void seconds(Nanos value) const { page_.add_seconds(labels_, {}, value); }
    void seconds(std::string_view more, Nanos value) const { page_.add_seconds(labels_, more, value); }
    void real(double value) const { page_.add_real(labels_, {}, value); }
    void real(std::string_view more, double value) const { page_.add_real(labels_, more, value); }

  private:
    Exposition& page_;
    std::string_view labels_;
};

template <typename Subject>
struct FamilyOf {
    Family family;
    void (*write)(const Subject& subject, const Samples& out);
};

/// All families of one subject.
template <typename Table, typename Subject>
void write_families(Exposition& page, const Table& table, const Subject& subject) {
    for (const auto& entry : table) {
        page.begin(entry.family);
        entry.write(subject, Samples(page, {}));
    }
}

/// All families of a list of subjects. @param labels of each subject, in its order
template <typename Table, typename Subjects>
void write_families(Exposition& page, const Table& table, const Subjects& subjects,
                    const std::vector<Labels>& labels) {
    for (const auto& entry : table) {
        page.begin(entry.family);
        auto label = labels.begin();
        for (const auto& subject : subjects)
            entry.write(subject, Samples(page, (label++)->text()));
    }
}

}  // namespace weir::metrics
