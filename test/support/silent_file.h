// silent_file.h - a file whose file system is a process that stopped to answer.
// Source: FUSE. Threads: one, and one of its own that answers.
//
// The file system has one file, and answers the requests that open() needs. fstat(), close(), reads and page
// faults wait until the end of the object.
#pragma once

#include <fcntl.h>
#include <linux/fuse.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

#include "test/support/temp_folder.h"

namespace weir::testing {

class SilentFile {
  public:
    SilentFile() : device_(open("/dev/fuse", O_RDWR | O_CLOEXEC)) {
        if (device_ >= 0)
            std::thread([this] { mount_and_open(); }).join();
    }
    ~SilentFile() {
        end();
        if (number_ >= 0)
            ::close(number_);
    }
    SilentFile(const SilentFile&) = delete;
    SilentFile& operator=(const SilentFile&) = delete;

    /// Ends the file system: threads that wait for it go on. A process with a thread that waits cannot be
    /// killed.
    void end() {
        if (device_ >= 0)
            ::close(std::exchange(device_, -1));
    }
    /// The open file; -1: the kernel has no FUSE, or does not let this process mount.
    [[nodiscard]] int number() const { return number_; }

  private:
    /// In a mount namespace of its thread, so that no mount is left behind.
    void mount_and_open() {
        const std::string options = "fd=" + std::to_string(device_) + ",rootmode=40000,user_id=0,group_id=0";
        if (unshare(CLONE_NEWNS) != 0 || mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
            mount("silent", folder_.path().c_str(), "fuse", MS_NOSUID | MS_NODEV, options.c_str()) != 0)
            return;
        std::thread server([this] { answer(); });
        number_ = open(folder_.file("file").c_str(), O_RDWR | O_CLOEXEC);
        server.join();
    }

    /// Answers until the file is open.
    void answer() {
        std::array<char, 2 * FUSE_MIN_READ_BUFFER> request;
        for (bool opened = false; !opened;) {
            if (read(device_, request.data(), request.size()) < 0)
                return;
            fuse_in_header head{};
            std::memcpy(&head, request.data(), sizeof(head));
            opened = head.opcode == FUSE_OPEN;
            if (head.opcode == FUSE_INIT) {
                fuse_init_out init{};
                init.major = FUSE_KERNEL_VERSION;
                init.minor = FUSE_KERNEL_MINOR_VERSION;
                init.max_write = FUSE_MIN_READ_BUFFER;
                reply(head, init);
            } else if (head.opcode == FUSE_LOOKUP) {
                fuse_entry_out entry{};
                entry.nodeid = 2;
                entry.attr.ino = 2;
                entry.attr.mode = S_IFREG | 0600;
                entry.attr.nlink = 1;
                entry.attr.size = 1U << 20;
                reply(head, entry);
            } else if (head.opcode == FUSE_GETATTR) {
                fuse_attr_out folder{};
                folder.attr.ino = 1;
                folder.attr.mode = S_IFDIR | 0700;
                folder.attr.nlink = 2;
                reply(head, folder);
            } else if (opened) {
                reply(head, fuse_open_out{});
            }
        }
    }

    template <typename T>
    void reply(const fuse_in_header& request, const T& body) {
        struct {
            fuse_out_header head;
            T body;
        } answer{{sizeof(answer), 0, request.unique}, body};
        (void)!write(device_, &answer, sizeof(answer));
    }

    weir::test::TempFolder folder_;
    int device_;
    int number_ = -1;
};

}  // namespace weir::testing
