// record_pool.h - bounded pool of small records that all connections share, with a quota per vNIC.
// Units: records. Threads: one owner. Allocates only when built.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/huge_pages.h"
#include "common/types.h"

namespace weir {

/// @tparam Record has a member `next` of type Id, which links the free records
template <class Record, class Id, Id kNone>
class RecordPool {
  public:
    /// @param records at most kNone  @param vnics VnicIds are 0 .. vnics-1  @param quota records of one vNIC
    RecordPool(std::size_t records, std::size_t vnics, std::size_t quota)
        : quota_(static_cast<std::uint32_t>(quota)), records_(records), taken_(vnics) {
        for (std::size_t i = 0; i < records; ++i)
            records_[i].next = i + 1 < records ? static_cast<Id>(i + 1) : kNone;
        free_ = records == 0 ? kNone : Id{0};
        left_ = static_cast<std::uint32_t>(records);
    }

    /// @param reserve records that this call must leave, in the pool and in the quota, for more important
    /// uses
    /// @return kNone when there is no record to take
    [[nodiscard]] Id take(VnicId vnic, std::uint32_t reserve = 0) {
        if (left_ <= reserve || taken_[vnic] + reserve >= quota_) {
            ++refused_;
            return kNone;
        }
        ++taken_[vnic];
        --left_;
        const Id id = free_;
        free_ = records_[id].next;
        return id;
    }
    void give_back(Id id, VnicId vnic) {
        --taken_[vnic];
        ++left_;
        records_[id].next = free_;
        free_ = id;
    }

    [[nodiscard]] Record& operator[](Id id) { return records_[id]; }
    [[nodiscard]] const Record& operator[](Id id) const { return records_[id]; }
    [[nodiscard]] std::uint32_t taken(VnicId vnic) const { return taken_[vnic]; }
    /// Calls of take() that got no record.
    [[nodiscard]] std::uint64_t refused() const { return refused_; }
    [[nodiscard]] std::size_t memory_bytes() const {
        return sizeof(*this) + records_.capacity() * sizeof(Record) +
               taken_.capacity() * sizeof(std::uint32_t);
    }

  private:
    Id free_;
    std::uint32_t left_;
    std::uint32_t quota_;
    std::uint64_t refused_ = 0;
    std::vector<Record, HugePages<Record>> records_;
    std::vector<std::uint32_t> taken_;  // by vNIC
};

}  // namespace weir
