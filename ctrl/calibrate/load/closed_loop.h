// closed_loop.h - a load that keeps a number of requests outstanding: for every answer the next request.
// Units: nanoseconds, requests per second. Threads: one (epoll).
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "common/clock.h"
#include "ctrl/calibrate/load/answer_reader.h"
#include "ctrl/calibrate/load/link.h"
#include "ctrl/calibrate/load/service.h"

namespace weir::calibrate {

/// A step, and how the switch counts its requests and answers.
struct Counted {
    Step step;
    Request request{};  ///< as its parser reads the bytes that are sent
    std::uint32_t response_bytes = 0;
};

class ClosedLoop {
  public:
    struct Stretch {
        Nanos warm = 0;    ///< before
        Nanos length = 0;  ///< that is counted, at least; up to eight times as long for enough answers
    };
    struct Trial {
        double rate = 0;       ///< answers a second
        double generator = 0;  ///< part of a core that this thread took
        std::uint64_t asked = 0;
    };

    /// Connects and greets. `service` outlives the loop. @throws cli::Failure
    ClosedLoop(Service& service, const Endpoint& endpoint, unsigned connections);
    ~ClosedLoop();
    ClosedLoop(const ClosedLoop&) = delete;
    ClosedLoop& operator=(const ClosedLoop&) = delete;

    /// Asks once, alone. @throws cli::Failure the appliance said no
    [[nodiscard]] Counted look(const Step& step);
    /// At random places. @throws cli::Failure
    [[nodiscard]] Trial run(const Counted& counted, unsigned outstanding, Stretch stretch);
    /// Every place of the step once. @throws cli::Failure
    void each_place(const Step& step);

  private:
    struct Connection {
        Connection(Link link_in, const Protocol& protocol) : link(std::move(link_in)), reader(protocol) {}
        Link link;
        AnswerReader reader;
        std::string out;
        std::size_t sent = 0;
        unsigned outstanding = 0;
        bool wants_room = false;  // epoll tells when it may send again
    };
    // What is asked now.
    struct Task {
        const Step* step = nullptr;
        std::uint32_t response_bytes = 0;  // that every answer must have; 0: any
        std::uint64_t left = 0;            // requests to come
        bool in_turn = false;              // place after place
        bool refusals_count = true;        // as an error
    };

    void begin(const Task& task, unsigned outstanding);
    void ask(Connection& connection, unsigned count);
    void flush(Connection& connection);
    void answered(Connection& connection, const Response& response, unsigned& count);
    unsigned receive(Connection& connection);
    unsigned turn();
    void drain();
    [[noreturn]] void fail(std::string found, std::string message) const;

    Service& service_;
    Endpoint endpoint_;
    int epoll_ = -1;
    std::vector<Connection> connections_;
    Task task_;
    std::mt19937_64 random_{1};
    std::uint64_t cookie_ = 0;
    std::uint64_t place_ = 0;
    std::uint64_t asked_ = 0;
    std::uint32_t seen_bytes_ = 0;  // of the last answer
    std::uint32_t as_asked_ = 0;
};

}  // namespace weir::calibrate
