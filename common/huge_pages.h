// huge_pages.h - allocator for large tables that are read in random order: asks the kernel for pages of 2
// MiB, so that a look-up does not also wait for the page table.
// Units: bytes. Threads: any.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <new>

namespace weir {

/// For containers. Those below 2 MiB are allocated as usual. Without huge pages the kernel uses small ones.
template <class T>
struct HugePages {
    using value_type = T;
    static constexpr std::size_t kPage = std::size_t{2} << 20;

    HugePages() = default;
    template <class U>
    HugePages(const HugePages<U>&) {}

    [[nodiscard]] T* allocate(std::size_t count) {
        const bool large = count * sizeof(T) >= kPage;
        const std::size_t align = large ? kPage : alignof(T) > sizeof(void*) ? alignof(T) : sizeof(void*);
        const std::size_t bytes = (count * sizeof(T) + align - 1) / align * align;
        void* const memory = std::aligned_alloc(align, bytes);
        if (memory == nullptr)
            throw std::bad_alloc();
        if (large)
            (void)madvise(memory, bytes, MADV_HUGEPAGE);
        return static_cast<T*>(memory);
    }
    void deallocate(T* memory, std::size_t) { std::free(memory); }

    template <class U>
    bool operator==(const HugePages<U>&) const {
        return true;
    }
};

}  // namespace weir
