// process.h - exit codes, stop signals, the limit of open files and the folder of data files, for all
// programs.
// Threads: main, before it starts others.
#pragma once

#include <atomic>
#include <string>

namespace weir {

inline constexpr int kHostFailed = 1;        ///< exit code: the host lacks something, or refuses it
inline constexpr int kBadConfiguration = 2;  ///< exit code: wrong usage, or a fault in a file

/// Installs handlers of SIGINT and SIGTERM that set the returned flag and do nothing else.
const std::atomic<bool>& stop_on_signals();

/// Lets the process open as many files as its hard limit allows.
void raise_file_limit();

/// The folder that has `costs/` and `schema/` (cost tables, schemas, examples): the first that exists of
/// 1. the environment's WEIR_DATA_DIR, when it is set (not checked: a wrong value shows when a file is
/// missing);
/// 2. share/weir beside the program's bin, wherever the prefix was copied to;
/// 3. for a program of the build folder, configs/ of its source tree;
/// 4. share/weir of the prefix that the build was configured with;
/// 5. configs/ of the source tree.
/// @return without any of them the second, so that errors name a path
[[nodiscard]] std::string data_dir();

}  // namespace weir
