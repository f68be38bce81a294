// process.cc - the handler of stop signals, and the search of the data folder among the places that Meson
// recorded.
#include "common/process.h"

#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>

namespace weir {
namespace {

namespace fs = std::filesystem;

std::atomic<bool> stop{false};

void on_signal(int) {
    stop.store(true, std::memory_order_relaxed);
}

bool is_below(const fs::path& path, const fs::path& folder) {
    return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first == folder.end();
}

}  // namespace

const std::atomic<bool>& stop_on_signals() {
    std::signal(SIGINT, on_signal);
    std::signal(SIGTERM, on_signal);
    return stop;
}

void raise_file_limit() {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

std::string data_dir() {
    if (const char* chosen = std::getenv("WEIR_DATA_DIR"); chosen != nullptr && *chosen != '\0')
        return chosen;
    std::error_code error;
    const fs::path program = fs::read_symlink("/proc/self/exe", error).parent_path();
    const fs::path source = fs::path(WEIR_SOURCE_ROOT) / "configs";
    const fs::path configured = WEIR_INSTALLED_DATA;
    const fs::path beside = (program / configured.lexically_relative(WEIR_INSTALLED_BIN)).lexically_normal();
    for (const fs::path& folder : {beside, is_below(program, WEIR_BUILD_ROOT) ? source : configured, source})
        if (fs::is_directory(folder / "costs", error))
            return folder;
    return beside;
}

}  // namespace weir
