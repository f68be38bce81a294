// foreign_files.h - files that a front-end sent: which kind they are, and how they are closed.
// Source: vhost-user protocol. Units: bytes. Threads: one per object; files that may wait are closed on a
// thread of their own.
//
// A front-end may send any file, and close() of some files waits: a TCP socket that lingers, a file whose
// file system is a process, a terminal that drains, a UNIX socket whose unread messages carry such files.
// Example: a TCP socket with unsent bytes and SO_LINGER of 30 s holds the thread that closes it last for 30
// s. The last close() of a file in memory frees its pages, many GiB perhaps. Only eventfds, and sockets
// without unread messages, are closed at once. All others are closed on a detached thread, at most one for
// each vNIC, which no other thread waits for.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace weir {

/// A file descriptor that is closed at the end of its scope.
class FileHandle {
  public:
    explicit FileHandle(int number = -1) : number_(number) {}
    ~FileHandle() { reset(); }
    FileHandle(FileHandle&& other) noexcept : number_(other.number_) { other.number_ = -1; }
    FileHandle& operator=(FileHandle&& other) noexcept;

    [[nodiscard]] int number() const { return number_; }
    [[nodiscard]] explicit operator bool() const { return number_ >= 0; }
    void reset();

  private:
    int number_;
};

// The kind and the size of a file. The kernel answers by itself: no file system is asked, as its server may
// never answer.

[[nodiscard]] bool is_eventfd(const FileHandle& file);
/// Whether the file lies in memory: a memfd, a file of tmpfs or of hugetlbfs.
[[nodiscard]] bool is_memory(const FileHandle& file);
/// Bytes that can be mapped; 0 unless is_memory().
[[nodiscard]] std::uint64_t memory_bytes(const FileHandle& file);

/// The files that front-ends of one vNIC sent and that are no longer wanted.
class ForeignFiles {
  public:
    /// @param wake an eventfd, written when the last file is closed
    /// @param library the vhost library's socket of this vNIC
    ForeignFiles(std::shared_ptr<const FileHandle> wake, std::string library);

    // These close their argument: at once if that cannot block, else on another thread.

    void close(FileHandle file);
    /// A connected UNIX socket. Its peer can send no more from now on.
    void close_socket(FileHandle socket);
    /// A UNIX socket that listens, and the connections that were not accepted yet.
    void close_listener(FileHandle listener);

    /// Memory that the vhost library has mapped and is about to unmap: closed when it has, so that the pages
    /// of a guest that is gone are not freed on the library's thread, on which all guests connect.
    void close_after_library(std::vector<FileHandle> memory);

    /// Whether all files are closed.
    [[nodiscard]] bool closed();

  private:
    struct Waiting;
    static void start(const std::shared_ptr<Waiting>& waiting);
    static void close_all(const std::shared_ptr<Waiting>& waiting);
    void close_apart(FileHandle file);

    std::shared_ptr<Waiting> waiting_;
};

}  // namespace weir
