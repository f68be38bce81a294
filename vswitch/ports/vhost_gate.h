// vhost_gate.h - the sockets of guests: receives whole messages, checks them, and passes them on to the vhost
// library.
// Source: vhost-user protocol. Units: ns. Threads: add and remove by the agent; a thread of its own does the
// rest.
//
//   front-end of the VM  <-- its socket -->  gate  <-- socket in a private folder -->  vhost library
//
// The library reads from all guests on one thread and waits for the rest of a message, so that a front-end
// that sends half of one would stop it for all. The gate never waits: it collects a message, lets
// VhostMessageCheck look at it, and passes it on in one piece. A guest that does not read its replies is
// disconnected, and so is a message of which the rest does not come within a second. One connection per vNIC:
// while a front-end talks, others are refused. A socket takes at most 500 connections per second, and 1,000
// messages per second in the long run (message_pace.h). A VM's
// own socket is tried 20 times a second for 5 s, then twice a second. Files that do not belong to their
// message end the connection and go to ForeignFiles; no front-end of that vNIC is served until all are
// closed.
#pragma once

#include <poll.h>

#include <chrono>
#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "vswitch/ports/front_end_fault.h"
#include "vswitch/ports/message_pace.h"
#include "vswitch/ports/vhost_message.h"

namespace weir {

class VhostGate {
  public:
    VhostGate();
    ~VhostGate();
    VhostGate(const VhostGate&) = delete;
    VhostGate& operator=(const VhostGate&) = delete;

    /// Accepts front-ends from listen() on, or connects to `outside` as soon as it is there and after each
    /// disconnect.
    /// @param inside the library's socket, which it listens on already
    /// @param queues ring pairs of the vNIC
    /// @param fault names why a front-end is not served; outlives remove(); nullptr: not wanted
    void add(const std::string& outside, bool listens, const std::string& inside, std::uint32_t queues,
             FrontEndFault* fault = nullptr);
    /// @param listener a socket that listens on `outside`, in place of any before; a connection stays
    void listen(const std::string& outside, FileHandle listener);
    /// Ends the connection and serves no front-end for a time. @param why for the fault
    void bar(const std::string& outside, const std::string& why, std::chrono::nanoseconds time);
    /// Blocks of 512 bytes that the files of the front-end's memory have now.
    [[nodiscard]] std::uint64_t memory_blocks(const std::string& outside);
    /// Ends the connection and closes the sockets. The caller removes `outside` from its folder.
    void remove(const std::string& outside);

  private:
    using Clock = std::chrono::steady_clock;
    struct Door {
        Door(std::shared_ptr<const FileHandle> wake, std::string library_path, std::uint32_t ring_pairs)
            : inside(std::move(library_path)),
              queues(ring_pairs),
              foreign(std::move(wake), inside),
              check(ring_pairs) {}

        std::string outside;
        std::string inside;
        bool listens = false;
        std::uint32_t queues;
        FileHandle listener;
        FileHandle next_listener;  // takes the place of that in the next turn
        FileHandle guest;
        FileHandle library;  // from the first message on
        ForeignFiles foreign;
        std::vector<FileHandle> memory;  // that the library maps: of the present table
        std::vector<FileHandle> log;     // of dirty pages, likewise
        VhostMessage message;
        VhostMessage reply;
        VhostMessageCheck check;
        MessagePace pace;     // of all its connections
        bool leaves = false;  // removed by the next turn
        bool whole = false;   // the message waits for the library's socket or for memory to be closed
        Clock::time_point since;
        Clock::time_point alone_since;  // without a front-end
        Clock::time_point not_before;   // of the next connect
        std::string barred;             // why the connection is to end; empty: it is not
        Clock::time_point barred_until;
        FrontEndFault* fault = nullptr;
    };

    void run();
    void end_leaving();
    void end_barred();
    void change_listeners();
    [[nodiscard]] std::vector<pollfd> interests(int& timeout_ms);
    void serve(Door& door, const pollfd* states);
    void accept_or_connect(Door& door, bool ready);
    void admit(Door& door, FileHandle socket);
    [[nodiscard]] bool read_guest(Door& door);
    [[nodiscard]] bool receive(Door& door);
    [[nodiscard]] static std::vector<FileHandle>* mapped_by(Door& door);
    [[nodiscard]] static bool may_pass(Door& door);
    [[nodiscard]] bool pass_on(Door& door);
    [[nodiscard]] std::string read_library(Door& door);
    static void complain(Door& door, const std::string& what);
    static void disconnect(Door& door);
    static void shut(Door& door);

    std::mutex mutex_;
    std::condition_variable left_;  // a door was removed
    std::list<Door> doors_;
    std::uint64_t version_ = 0;  // of doors_, raised by add()
    bool stop_ = false;
    std::shared_ptr<const FileHandle> wake_;
    std::thread thread_;
};

}  // namespace weir
