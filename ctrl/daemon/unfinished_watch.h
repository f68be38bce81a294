// unfinished_watch.h - ends tcp connections whose messages do not end, before they fill the memory.
// Source: tcp(7); proc(5). Units: bytes.
// Threads: one owner; a thread of its own looks, also while the owner is busy.
//
// Connections of one key have a bound together; those that have shown no message yet, of one address. The
// thread looks at all connections once a second, and within 10 ms after the process grew by 4 MiB.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "common/zmtp/unfinished_bytes.h"

namespace weir {

class UnfinishedWatch {
  public:
    /// Of a switch's messages the largest have some 500 kB, and a few wait in ZeroMQ's queue.
    static constexpr std::uint64_t kBytesMax = 10 << 20;

    UnfinishedWatch();
    ~UnfinishedWatch();
    UnfinishedWatch(const UnfinishedWatch&) = delete;
    UnfinishedWatch& operator=(const UnfinishedWatch&) = delete;

    void on_accepted(int descriptor);
    void on_closed(int descriptor);
    /// A whole message was shown. @param host whose key the connection showed @param bytes see curve_bytes()
    void on_message(int descriptor, const std::string& host, std::size_t bytes);
    /// Looks now. The thread calls it; tests may.
    void look();
    /// Connections that were ended since the last call, as their key's host or address.
    [[nodiscard]] std::vector<std::string> take_ended();

  private:
    struct Connection {
        std::string owner{};  // host, or address
        zmtp::UnfinishedBytes bytes{};
        bool is_ended = false;
    };

    void run();

    std::mutex mutex_;
    std::condition_variable stopped_;
    bool stop_ = false;
    std::map<int, Connection> connections_;  // by descriptor
    std::vector<std::string> ended_;
    std::thread thread_;
};

}  // namespace weir
