// console_files.cc - the list that embed.py makes.
#include "ctrl/console/console_files.h"

#include <array>

namespace weir {
namespace {

constexpr auto kFiles = std::to_array<SiteFile>({
#include <console_files.inc>
});

}  // namespace

std::span<const SiteFile> console_files() {
    return kFiles;
}

}  // namespace weir
