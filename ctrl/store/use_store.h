// use_store.h - what vNICs were measured to use of their promises, over restarts of the controller. Written
// now and then: what a crash loses are minutes of days. Threads: one at a time.
#pragma once

#include "ctrl/billing/use_table.h"
#include "ctrl/store/database.h"

namespace weir {

class UseStore {
  public:
    /// Makes its table, if it is not there. @param database outlives this
    explicit UseStore(Database& database);

    /// Every `step`-th of them from `first` on, together or none. @throws HostError
    void save(const billing::UseTable::Uses& uses, std::size_t first = 0, std::size_t step = 1);
    /// What cannot be read any more is left out.
    [[nodiscard]] billing::UseTable::Uses load();

  private:
    Database& database_;
};

}  // namespace weir
