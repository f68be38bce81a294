// guest_memory.cc - memfds, mapped.
#include "test/hostile/guest_memory.h"

#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

namespace weir::hostile {
namespace {

int check(int result, const char* what) {
    if (result < 0)
        throw std::system_error(errno, std::generic_category(), what);
    return result;
}

Region make_region(std::uint64_t address, std::uint64_t bytes) {
    File file = File::memory(bytes);
    void* mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.number(), 0);
    if (mapped == MAP_FAILED)
        throw std::system_error(errno, std::generic_category(), "mmap");
    return {std::move(file),
            {address, bytes, GuestMemory::kUserBase + address, 0},
            static_cast<std::uint8_t*>(mapped)};
}

std::uint64_t unpainted(const std::uint8_t* bytes, std::uint64_t count) {
    static const std::vector<std::uint8_t> paint(GuestMemory::kGuardBytes, GuestMemory::kPaint);
    if (std::memcmp(bytes, paint.data(), count) == 0)
        return 0;
    return count - static_cast<std::uint64_t>(std::count(bytes, bytes + count, GuestMemory::kPaint));
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
    for (std::uint64_t address = 0; address < kBytes; address += kRegionBytes)
        regions_.push_back(make_region(address, kRegionBytes));
    for (std::uint64_t address = kGuardsAt; guards_.size() < 2; address += kGuardBytes) {
        guards_.push_back(make_region(address, kGuardBytes));
        std::memset(guards_.back().mapped, kPaint, kGuardBytes);
    }
}

GuestMemory::~GuestMemory() {
    for (const Region* region : guarded())
        munmap(region->mapped, region->entry.bytes);
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

std::vector<const Region*> GuestMemory::guarded() const {
    return {&regions_[0], &guards_[0], &regions_[1], &guards_[1]};
}

RegionTable GuestMemory::guarded_table() const {
    RegionTable table{};
    for (const Region* region : guarded())
        table.entries[table.count++] = region->entry;
    return table;
}

std::vector<int> GuestMemory::guarded_files() const {
    std::vector<int> files;
    for (const Region* region : guarded())
        files.push_back(region->file.number());
    return files;
}

void GuestMemory::paint() {
    std::memset(at(kRegionBytes), kPaint, kGuardBytes);
    std::memset(at(kBytes - kGuardBytes), kPaint, kGuardBytes);
    painted_ = true;
}

std::uint64_t GuestMemory::bytes_changed(std::span<const Extent> used) const {
    std::uint64_t changed = 0;
    for (const Region& guard : guards_)
        changed += unpainted(guard.mapped, kGuardBytes);
    if (!painted_)
        return changed;
    const std::uint8_t* region = regions_[1].mapped;
    std::vector<std::uint8_t> copy(region, region + kRegionBytes);
    for (const Extent& part : used)
        if (part.address >= kRegionBytes)
            std::memset(copy.data() + (part.address - kRegionBytes), kPaint, part.bytes);
    return changed + unpainted(copy.data(), kGuardBytes) +
           unpainted(copy.data() + kRegionBytes - kGuardBytes, kGuardBytes);
}

}  // namespace weir::hostile
