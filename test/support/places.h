// places.h - where the test's checkout and build folder are, so that a test runs from any folder.
// Threads: any.
#pragma once

#include <string>

namespace weir::test {

/// @param path below the checkout: "configs/default.jsonc"
[[nodiscard]] std::string source_path(const std::string& path);
/// @param path below the build folder: "ctrl/cli/weirctl"
[[nodiscard]] std::string build_path(const std::string& path);

}  // namespace weir::test
