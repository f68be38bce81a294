// record_pool.h - bounded pool of small records that all connections share; each vNIC has some of its own.
// Units: records. Threads: one owner. Allocates only when built.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/huge_pages.h"
#include "common/shared_room.h"
#include "common/types.h"

namespace weir {

/// @tparam Record has a member `next` of type Id, which links the free records
template <class Record, class Id, Id kNone>
class RecordPool {
  public:
    /// @param size of at most kNone records; its users are the vNICs, by VnicId
    explicit RecordPool(const SharedRoom::Size& size) : room_(size), records_(size.total()) {
        const std::size_t records = size.total();
        for (std::size_t i = 0; i < records; ++i)
            records_[i].next = i + 1 < records ? static_cast<Id>(i + 1) : kNone;
        free_ = records == 0 ? kNone : Id{0};
    }

    /// @param reserve records that the vNIC must have left afterwards, for more important uses
    /// @return kNone when there is no record to take
    [[nodiscard]] Id take(VnicId vnic, std::uint32_t reserve = 0) {
        if (!room_.fits(vnic, 1 + reserve)) {
            ++refused_;
            return kNone;
        }
        room_.take(vnic, 1);
        const Id id = free_;
        free_ = records_[id].next;
        return id;
    }
    void give_back(Id id, VnicId vnic) {
        room_.give_back(vnic, 1);
        records_[id].next = free_;
        free_ = id;
    }

    [[nodiscard]] Record& operator[](Id id) { return records_[id]; }
    [[nodiscard]] const Record& operator[](Id id) const { return records_[id]; }
    [[nodiscard]] std::uint32_t taken(VnicId vnic) const { return room_.used(vnic); }
    /// Calls of take() that got no record.
    [[nodiscard]] std::uint64_t refused() const { return refused_; }
    [[nodiscard]] std::size_t memory_bytes() const {
        return sizeof(*this) + records_.capacity() * sizeof(Record) + room_.memory_bytes();
    }

  private:
    Id free_;
    std::uint64_t refused_ = 0;
    SharedRoom room_;
    std::vector<Record, HugePages<Record>> records_;
};

}  // namespace weir
