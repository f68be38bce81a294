// level_heap.h - resources by the level at which they may fill, the least on top. Binary, whole before it is
// used; the top is raised in place, which is most of what happens. Threads: one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace weir::alloc {

class LevelHeap {
  public:
    struct Item {
        double level;
        std::uint32_t resource;
    };

    void clear() { items_.clear(); }
    void add(Item item) { items_.push_back(item); }
    /// After the last add().
    void build() { std::make_heap(items_.begin(), items_.end(), later); }

    [[nodiscard]] bool empty() const { return items_.empty(); }
    [[nodiscard]] const Item& top() const { return items_.front(); }
    void pop() {
        const Item last = items_.back();
        items_.pop_back();
        if (!items_.empty())
            sink(last);
    }
    /// @param level at least the top's
    void replace_top(double level) { sink({level, items_.front().resource}); }

  private:
    // Equal levels by number, so that the same problem has the same answer whatever came before.
    static bool later(const Item& a, const Item& b) {
        return a.level > b.level || (a.level == b.level && a.resource > b.resource);
    }

    void sink(Item item) {
        const std::size_t size = items_.size();
        std::size_t at = 0;
        for (std::size_t child = 1; child < size; child = 2 * at + 1) {
            if (child + 1 < size && later(items_[child], items_[child + 1]))
                ++child;
            if (!later(item, items_[child]))
                break;
            items_[at] = items_[child];
            at = child;
        }
        items_[at] = item;
    }

    std::vector<Item> items_;
};

}  // namespace weir::alloc
