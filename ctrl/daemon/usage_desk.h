// usage_desk.h - billing periods on their way from a USAGE message to the bill, and their acknowledgment.
// Source: SoftBW 4.2; docs/protocol.md; docs/algorithms.md 6.3
// Units: Unix nanoseconds, bytes. Threads: one owner.
//
// A period is stored, refused for good, or early. Periods that BILLED acknowledges are stored or refused for
// good, and each refusal is counted and audited. An early period ends a little after the controller's clock:
// its switch sends it again until its time has come. One that ends later than that is refused, because a
// switch whose clock is a year ahead would otherwise end its vNICs' bill for a year, or wait for ever.
//
// Example: at 12:00:00 a message has periods that end at 11:59:59, 12:00:02 and 12:03:00. The first two are
// stored, and BILLED covers the time before 12:03:00. The third one comes again, and is stored at 12:02:55. A
// period that ends at 12:11:00 is refused, and BILLED covers it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/wire/records.h"
#include "ctrl/billing/overcommit.h"
#include "ctrl/daemon/cluster.h"
#include "ctrl/daemon/renumbering.h"
#include "ctrl/store/store.h"

namespace weir {

struct UsageCounters {
    std::uint64_t stored = 0;
    std::uint64_t repeated = 0;  ///< were on the bill already
    std::uint64_t clipped = 0;   ///< of those stored: the part that no other period has
    std::uint64_t early = 0;     ///< not yet: their switch sends them again
    std::uint64_t future =
        0;  ///< refused: they end too long after the clock of the controller and most hosts
    std::uint64_t foreign = 0;     ///< refused: of a vNIC that the host does not have
    std::uint64_t impossible = 0;  ///< refused: more bytes than any link carries
    std::uint64_t promises = 0;    ///< stored with the cluster file's promise instead of the switch's
    std::uint64_t deferred = 0;  ///< messages for which the queue to the bill had no room, or that came twice
};

class UsageDesk {
  public:
    /// A period that ends up to so long after the controller's clock is stored: clocks that NTP keeps differ
    /// by less, and the controller's is read once an interval until its first tick.
    static constexpr std::int64_t kAheadMax = 5'000'000'000;
    /// One that ends later than so long after it is refused for good: a switch with 100 vNICs and periods of
    /// a second has room for as many.
    static constexpr std::int64_t kEarlyMax = 600'000'000'000;
    /// For which a host's clock counts after its last report.
    static constexpr std::int64_t kClockLife = 600'000'000'000;
    /// Bytes per second of a vNIC, 1 Tbit/s: sums of a month stay exact.
    static constexpr double kBytesPerSecondMax = 125e9;

    /// Adds an entry to the audit trail.
    using Note = std::function<void(const char* kind, const std::string& text, const std::string& host)>;
    /// All periods of the session that ended at `through` or before are stored, or refused for good.
    struct Billed {
        HostIndex host = kNowhere;
        std::uint32_t session = 0;
        std::uint64_t through = 0;
    };
    /// Where a message came from.
    struct Sender {
        HostIndex host = kNowhere;
        std::uint32_t session = 0;
        std::int64_t since = 0;  ///< Unix nanoseconds: all usage from then on was received
        /// Whether the switch has this vNIC, which the cluster file no longer has.
        std::function<bool(const std::string& vnic)> has_removed{};
    };

    /// @param cluster, bill, use outlive this
    UsageDesk(const Cluster& cluster, BillWriter& bill, billing::UseTable& use, Note note);

    /// Goes on with the cluster of another configuration, which outlives this.
    void adopt(const Cluster& cluster, const Renumbering& places);
    /// vNICs that the cluster file no longer has, by id.
    void set_removed(std::map<std::uint32_t, RemovedVnic> removed);
    [[nodiscard]] const std::map<std::uint32_t, RemovedVnic>& removed() const { return removed_; }
    /// Hands the periods to the bill. @param now Unix nanoseconds
    void on_usage(const Sender& sender, std::span<const wire::Usage> periods, std::int64_t now);
    /// Acknowledgments that became due since the last call.
    [[nodiscard]] std::vector<Billed> take_billed();
    [[nodiscard]] const UsageCounters& counters() const { return counters_; }

  private:
    /// Hosts that a vNIC's periods come from: the present one, and the one before.
    struct Origin {
        HostIndex host = kNowhere;
        HostIndex host_before = kNowhere;
        std::int64_t changed = 0;
    };
    struct Refused {
        std::uint64_t future = 0;
        std::uint64_t foreign = 0;
        std::uint64_t impossible = 0;
    };

    /// The vNIC of a time, by the cluster file of that time.
    struct Payer {
        const std::string* vnic = nullptr;
        const std::string* tenant = nullptr;
        std::uint64_t reservation_bps = 0;
        bool is_dynamic = false;  ///< the cluster file has a dynamic guarantee, of which that is the mean
        std::int64_t until = INT64_MAX;  ///< then another tenant has the vNIC; Unix nanoseconds
    };
    /// @param began of the part of the period @return nothing: the sender may not report it
    [[nodiscard]] std::optional<Payer> payer_of(const Sender& sender, const wire::Usage& period,
                                                std::int64_t began, std::int64_t now);
    [[nodiscard]] static std::int64_t nanos_of(const RemovedVnic& vnic);
    [[nodiscard]] const RemovedVnic* owner_at(const std::string& vnic, std::int64_t began) const;
    /// Appends the period to `records`, in parts where its vNIC changed tenants within it. @return false: the
    /// sender may not report it
    bool add_records(const Sender& sender, const wire::Usage& period, std::int64_t now,
                     std::vector<billing::Record>& records);
    /// Whether most hosts that reported lately have the controller's time, so that one that has not is wrong.
    [[nodiscard]] bool is_clock_shared(const Sender& sender, std::span<const wire::Usage> periods,
                                       std::int64_t now);
    [[nodiscard]] bool may_report(HostIndex host, const ClusterEnd& end, const wire::Usage& period,
                                  std::int64_t now);
    [[nodiscard]] std::uint64_t promise_of(const std::string& host, const Payer& payer,
                                           const wire::Usage& period);
    void note_refused(const std::string& host, const Refused& refused);
    void on_outcome(const BillWriter::Outcome& outcome);

    const Cluster* cluster_;
    BillWriter& bill_;
    billing::UseTable& use_;
    Note note_;
    UsageCounters counters_;
    std::map<std::uint32_t, RemovedVnic> removed_;  // by id
    std::multimap<std::string, const RemovedVnic*, std::less<>> removed_by_name_;
    struct Clock {
        std::int64_t at = 0;  ///< when the host reported last
        bool is_ahead = false;
    };
    std::map<HostIndex, Clock> clocks_;
    std::map<std::uint32_t, Origin> origins_;       // by id of the vNIC
    std::map<std::uint64_t, Billed> waiting_;       // by key: acknowledged when its periods are stored
    std::map<HostIndex, std::uint64_t> in_flight_;  // key of the host's message that is being stored
    std::uint64_t last_key_ = 0;
    std::vector<Billed> billed_;
};

}  // namespace weir
