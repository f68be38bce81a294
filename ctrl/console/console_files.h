// console_files.h - the files of the console, which are a part of the program.
// Source: docs/console.md. Threads: any (constants).
#pragma once

#include <span>

#include "ctrl/api/api.h"

namespace weir {

/// index.html as "/", the others by their paths below ctrl/console.
[[nodiscard]] std::span<const SiteFile> console_files();

}  // namespace weir
