// data_dir.h - the folder of the files that come with the programs: cost tables, schemas, example
// configurations. Threads: any; at start.
#pragma once

#include <string>

namespace weir {

/// The folder that has `costs/` and `schema/`: the first that exists of
/// 1. the environment's WEIR_DATA_DIR, if it is set (not checked: a wrong value shows when a file is
/// missing);
/// 2. share/weir beside the program's bin, wherever the prefix was copied to;
/// 3. for a program of the build folder, configs/ of its source tree;
/// 4. share/weir of the prefix that the build was configured with;
/// 5. configs/ of the source tree.
/// @return without any of them the second, so that errors name a path
[[nodiscard]] std::string data_dir();

}  // namespace weir
