// backup.cc - files that appear when they are whole.
#include "ctrl/store/backup.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "common/error.h"
#include "ctrl/store/store.h"

namespace weir {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail_at(const std::string& path) {
    throw HostError("backup " + path + ": " + std::strerror(errno));
}

void sync(const std::string& path, int flags) {
    const int file = ::open(path.c_str(), flags | O_CLOEXEC);
    if (file < 0 || ::fsync(file) != 0)
        fail_at(path);
    ::close(file);
}

void write_file(const std::string& path, std::span<const std::uint8_t> bytes) {
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0)
        fail_at(path);
    while (!bytes.empty()) {
        const ssize_t written = ::write(file, bytes.data(), bytes.size());
        if (written < 0 && errno != EINTR) {
            const int error = errno;
            ::close(file);
            errno = error;
            fail_at(path);
        }
        bytes = bytes.subspan(written < 0 ? 0 : static_cast<std::size_t>(written));
    }
    ::close(file);
    sync(path, O_RDONLY);
}

}  // namespace

std::string why_no_backup(const std::string& file) {
    std::error_code error;
    const fs::path path(file);
    if (!path.is_absolute() || !path.has_filename())
        return "it is no absolute path of a file";
    if (!fs::is_directory(path.parent_path(), error))
        return "there is no folder " + path.parent_path().string();
    for (const std::string& each : {file, Store::bill_folder(file)})
        if (fs::exists(each, error))
            return each + " exists, and a backup is never overwritten: name another file, or move it away";
    return {};
}

void write_backup(const std::string& file, std::span<const std::uint8_t> image, BillReader bill,
                  const std::atomic<bool>& stop) {
    const std::string part = file + ".part";
    const std::string folder = Store::bill_folder(file);
    const std::string folder_part = folder + ".part";
    std::error_code error;
    fs::remove_all(folder_part, error);
    try {
        write_file(part, image);
        bill.copy_to(folder_part, stop);
        if (!stop.load(std::memory_order_relaxed)) {
            if (fs::exists(folder_part, error))
                fs::rename(folder_part, folder);
            fs::rename(part, file);
            sync(fs::path(file).parent_path().string(), O_RDONLY | O_DIRECTORY);
        }
    } catch (const fs::filesystem_error& fault) {
        fs::remove(part, error);
        fs::remove_all(folder_part, error);
        throw HostError(std::string("backup: ") + fault.what());
    } catch (const HostError&) {
        fs::remove(part, error);
        fs::remove_all(folder_part, error);
        throw;
    }
}

}  // namespace weir
