// socket_file.h - a local socket that listens, its file, and the file's return after its folder vanished.
// Source: unix(7). Threads: one owner.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "common/clock.h"
#include "common/file_identity.h"

namespace weir {

class SocketFile {
  public:
    struct Place {
        std::string path;
        std::string key;             ///< of the configuration, for messages
        std::optional<mode_t> mode;  ///< of the file; none: all that the process's umask leaves
    };

    /// Makes the folder and listens. A file at the path goes away: the caller holds the path's RunLock.
    /// @throws HostError that names the key, the path and the remedy
    explicit SocketFile(Place place);
    /// Removes the file, if it is the own one still.
    ~SocketFile();
    SocketFile(const SocketFile&) = delete;
    SocketFile& operator=(const SocketFile&) = delete;

    /// Never blocks. It changes when the file was made again.
    [[nodiscard]] int descriptor() const { return descriptor_; }
    [[nodiscard]] const Place& place() const { return place_; }
    /// Looks for the file twice a second, and listens anew where it is gone and can be made; another
    /// program's file stays. @return whether descriptor() is another one
    bool restore(Nanos now);

  private:
    void listen();

    Place place_;
    int descriptor_ = -1;
    std::optional<FileIdentity> own_;  // of the file at the path
    Nanos looked_ = 0;
};

}  // namespace weir
