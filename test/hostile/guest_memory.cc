// guest_memory.cc - memfds, mapped.
#include "test/hostile/guest_memory.h"

#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace weir::hostile {
namespace {

int check(int result, const char* what) {
    if (result < 0)
        throw std::system_error(errno, std::generic_category(), what);
    return result;
}

}  // namespace

File::~File() {
    if (number_ >= 0)
        close(number_);
}

File& File::operator=(File&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
}

int File::release() {
    return std::exchange(number_, -1);
}

File File::memory(std::uint64_t bytes) {
    File file(check(memfd_create("hostile", MFD_CLOEXEC), "memfd_create"));
    check(ftruncate(file.number(), static_cast<off_t>(bytes)), "ftruncate");
    return file;
}

File File::event(std::uint64_t count, bool blocks) {
    File file(check(eventfd(0, EFD_CLOEXEC | (blocks ? 0 : EFD_NONBLOCK)), "eventfd"));
    if (count != 0)
        (void)!write(file.number(), &count, sizeof(count));
    return file;
}

GuestMemory::GuestMemory() {
    for (std::uint64_t address = 0; address < kBytes; address += kRegionBytes) {
        File file = File::memory(kRegionBytes);
        void* mapped = mmap(nullptr, kRegionBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.number(), 0);
        if (mapped == MAP_FAILED)
            throw std::system_error(errno, std::generic_category(), "mmap");
        regions_.push_back({std::move(file),
                            {address, kRegionBytes, kUserBase + address, 0},
                            static_cast<std::uint8_t*>(mapped)});
    }
}

GuestMemory::~GuestMemory() {
    for (const Region& region : regions_)
        munmap(region.mapped, kRegionBytes);
}

std::uint8_t* GuestMemory::at(std::uint64_t address) {
    return regions_[address / kRegionBytes].mapped + address % kRegionBytes;
}

RegionTable GuestMemory::table() const {
    RegionTable table{};
    for (const Region& region : regions_)
        table.entries[table.count++] = region.entry;
    return table;
}

}  // namespace weir::hostile
