// first_of_each.h - whether a thing comes for the first time, so that the log names each once.
// Threads: one owner.
#pragma once

#include <cstddef>
#include <set>
#include <utility>

namespace weir {

/// Other programs choose the things: beyond kKept all of them are first again.
template <class Thing>
class FirstOfEach {
  public:
    static constexpr std::size_t kKept = 1'000;

    [[nodiscard]] bool is_first(Thing thing) {
        if (seen_.size() >= kKept)
            seen_.clear();
        return seen_.insert(std::move(thing)).second;
    }

  private:
    std::set<Thing> seen_;
};

}  // namespace weir
