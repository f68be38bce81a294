// bill_reader.h - reads the bill through connections of its own, while the bill is written.
// Source: SoftBW 4.2; docs/algorithms.md 6.3
// Units: Unix nanoseconds, bytes; money in the unit of p0. Threads: any; one at a time per reader.
//
// Whole days come from the stored sums, so that a month of 24,000 vNICs is 744,000 rows and not 62 billion
// lines. Only the parts of days at both ends of a span are added up from lines.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ctrl/store/bill_file.h"

namespace weir {

/// The lines to add up: periods that began in [from, to).
struct BillSpan {
    std::string tenant{};  ///< empty = all tenants
    std::int64_t from = 0;
    std::int64_t to = INT64_MAX;
};

/// The periods of one vNIC with one kind of guarantee, added up.
struct BillSum {
    std::string tenant{};
    std::string vnic{};
    billing::GuaranteeKind guarantee = billing::GuaranteeKind::kBestEffort;
    std::uint64_t periods = 0;
    double seconds = 0;
    std::uint64_t delivered = 0;  ///< bytes
    double promised = 0;          ///< bytes: guaranteed rate times time
    double charge = 0;
    std::optional<double> fulfillment{};  ///< delivered / promised; none when nothing was promised
};

/// The result of a check of all lines and sums.
struct BillCheck {
    std::int64_t first_line = 0;                  ///< that was checked; 0 = there is none
    std::optional<std::int64_t> first_altered{};  ///< number of the first line that was altered or removed
    bool sums_altered = false;                    ///< a stored sum is not that of its lines
};

class BillReader {
  public:
    /// @param folder of the bill  @param memory the bill in memory, instead of a folder
    explicit BillReader(std::string folder, Database* memory = nullptr)
        : folder_(std::move(folder)), memory_(memory) {}

    /// Then it may be read only by the thread that writes it.
    [[nodiscard]] bool is_in_memory() const { return memory_ != nullptr; }
    /// Ordered by tenant, vNIC and guarantee. @param stop ends it early, with an incomplete result
    /// @throws HostError, as all functions do
    [[nodiscard]] std::vector<BillSum> sum(const BillSpan& span, const std::atomic<bool>& stop);
    [[nodiscard]] std::vector<BillSum> sum(const BillSpan& span);
    /// Calls `use` for every line, in their order.
    void for_lines(const std::function<void(const BillLine&)>& use);
    /// Computes all hashes and sums again.
    [[nodiscard]] BillCheck check(const std::atomic<bool>& stop);
    [[nodiscard]] BillCheck check();
    /// Hash of the last line, hexadecimal, and the number of lines. Lines that are removed at the end do not
    /// show in the chain itself, but in a hash that the operator noted before.
    [[nodiscard]] BillChain chain();
    /// Copies the files into a new folder, each as it is at one moment.
    void copy_to(const std::string& folder, const std::atomic<bool>& stop);

  private:
    template <typename Use>
    void for_files(const Use& use);

    std::string folder_;
    Database* memory_;
};

}  // namespace weir
