// run_locks.cc - DPDK's folder as EAL will name it, and the locks.
#include "vswitch/ports/run_locks.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string_view>

namespace weir {
namespace {

constexpr std::string_view kFilePrefix = "--file-prefix";

/// Where EAL makes the folders of all DPDK programs.
std::string run_folder() {
    if (const char* of_unit = std::getenv("RUNTIME_DIRECTORY"); of_unit != nullptr)
        return of_unit;
    if (getuid() == 0)
        return "/var/run";
    const char* of_user = std::getenv("XDG_RUNTIME_DIR");
    return of_user != nullptr ? of_user : "/tmp";
}

std::string make_folder(const SwitchConfig& config) {
    const std::string all = run_folder() + "/dpdk";
    std::string own = all + '/' + eal_file_prefix(config);
    mkdir(all.c_str(), 0700);
    mkdir(own.c_str(), 0700);  // the lock reports the fault
    return own;
}

}  // namespace

std::string eal_file_prefix(const SwitchConfig& config) {
    std::string prefix = "weir-" + (config.host.empty() ? std::to_string(getpid()) : config.host);
    for (std::size_t i = 0; i < config.eal.size(); ++i) {  // the last one counts
        const std::string& argument = config.eal[i];
        if (argument == kFilePrefix && i + 1 < config.eal.size())
            prefix = config.eal[i + 1];
        else if (argument.starts_with(std::string(kFilePrefix) + '='))
            prefix = argument.substr(kFilePrefix.size() + 1);
    }
    return prefix;
}

RunLocks::RunLocks(const SwitchConfig& config)
    : commands_(socket_claim(config.control_socket, config.control_socket, "control_socket")),
      folder_(make_folder(config)),
      host_({.file = folder_ + "/weir.lock",
             .socket = config.control_socket,
             .alternative = "another \"host\" and \"control_socket\""}) {
    if (!config.control_read_socket.empty())
        reading_.emplace(
            socket_claim(config.control_read_socket, config.control_socket, "control_read_socket"));
}

RunLocks::~RunLocks() {
    std::error_code ignored;  // files that remain are replaced at the next start
    std::filesystem::remove_all(folder_, ignored);
}

}  // namespace weir
