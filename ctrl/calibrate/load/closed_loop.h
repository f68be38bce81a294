// closed_loop.h - load generator that answers each response with a request on the same connection.
// Units: nanoseconds, requests per second. Threads: one (epoll).
//
// The number of outstanding requests is constant, so the rate shows the latency: 64 outstanding requests that
// take 2 ms each are 32,000 responses per second. Beyond saturation more of them only wait longer.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "common/clock.h"
#include "ctrl/calibrate/load/response_reader.h"
#include "ctrl/calibrate/load/service.h"
#include "ctrl/calibrate/load/tcp_connection.h"

namespace weir::calibrate {

/// A step, and the sizes of its requests and responses as the switch counts them.
struct CountedStep {
    Step step;
    Request request{};
    std::uint32_t response_bytes = 0;
};

class ClosedLoop {
  public:
    struct Duration {
        Nanos warm_up = 0;   ///< before the responses are counted
        Nanos measured = 0;  ///< at least; up to eight times as long until enough responses have arrived
    };
    struct Trial {
        double rate = 0;       ///< responses per second
        double generator = 0;  ///< part of a core that this thread used
        std::uint64_t asked = 0;
    };

    /// Opens the connections and negotiates. `service` outlives the loop. @throws cli::Failure
    ClosedLoop(Service& service, const Endpoint& endpoint, unsigned connections);
    ~ClosedLoop();
    ClosedLoop(const ClosedLoop&) = delete;
    ClosedLoop& operator=(const ClosedLoop&) = delete;

    /// Sends one request and waits for its response. @throws cli::Failure also when the appliance refuses it
    [[nodiscard]] CountedStep probe(const Step& step);
    /// Sends requests for random places of the step. @throws cli::Failure
    [[nodiscard]] Trial run(const CountedStep& counted, unsigned outstanding, Duration duration);
    /// Sends one request for every place of the step. @throws cli::Failure
    void visit_places(const Step& step);

  private:
    struct Client {
        Client(TcpConnection connection_in, const Protocol& protocol)
            : connection(std::move(connection_in)), reader(protocol) {}
        TcpConnection connection;
        ResponseReader reader;
        std::string out;       // whole requests
        std::size_t sent = 0;  // bytes of `out`
        unsigned outstanding = 0;
        bool is_blocked = false;  // the socket is full; epoll reports when it can be written again
    };
    /// The requests that the clients send now.
    struct Task {
        const Step* step = nullptr;
        std::uint32_t response_bytes = 0;  // expected of every response; 0: any size
        std::uint64_t left = 0;            // requests that are still to be sent
        bool in_order = false;             // place after place instead of random ones
        bool may_fail = false;             // a response that reports a failure is no error
    };

    [[nodiscard]] Parsed parse_request(const Step& step) const;
    void begin(const Task& task, unsigned outstanding);
    void send_requests(Client& client, unsigned count);
    void flush(Client& client);
    void on_response(Client& client, const Response& response);
    unsigned receive(Client& client);
    unsigned poll();
    void drain();
    [[noreturn]] void fail(std::string found, std::string message) const;

    Service& service_;
    Endpoint endpoint_;
    int epoll_ = -1;
    std::vector<Client> clients_;
    Task task_;
    std::mt19937_64 random_{1};
    std::uint64_t cookie_ = 0;
    std::uint64_t place_ = 0;
    std::uint64_t asked_ = 0;           // requests since the start
    std::uint32_t response_bytes_ = 0;  // of the last response
    std::uint32_t as_asked_ = 0;        // length of a response whose header has none
};

}  // namespace weir::calibrate
