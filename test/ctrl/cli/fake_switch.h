// fake_switch.h - a ZeroMQ ROUTER with given answers, for tests of the client and of weirctl itself.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <zmq.hpp>

#include "test/support/temp_folder.h"

namespace weir::cli::test {

/// Listens on its own socket from construction to destruction. The answer function runs on the switch's
/// thread; an empty answer is not sent.
class FakeSwitch {
  public:
    using Answer = std::function<std::string(const std::string& request)>;

    FakeSwitch(std::string path, Answer answer) : path_(std::move(path)), answer_(std::move(answer)) {
        socket_.set(zmq::sockopt::linger, 0);
        socket_.bind("ipc://" + path_);
        thread_ = std::thread([this] { serve(); });
    }
    ~FakeSwitch() {
        stop_ = true;
        thread_.join();
    }
    FakeSwitch(const FakeSwitch&) = delete;
    FakeSwitch& operator=(const FakeSwitch&) = delete;

    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] unsigned requests() const { return requests_; }

  private:
    void serve() {
        zmq::pollitem_t item{socket_.handle(), 0, ZMQ_POLLIN, 0};
        while (!stop_) {
            if (zmq::poll(&item, 1, std::chrono::milliseconds(10)) == 0)
                continue;
            zmq::message_t identity, empty, request;
            (void)socket_.recv(identity);
            (void)socket_.recv(empty);
            (void)socket_.recv(request);
            ++requests_;
            const std::string reply = answer_(request.to_string());
            if (reply.empty())
                continue;
            socket_.send(identity, zmq::send_flags::sndmore);
            socket_.send(zmq::message_t(), zmq::send_flags::sndmore);
            socket_.send(zmq::buffer(reply), zmq::send_flags::none);
        }
    }

    std::string path_;
    Answer answer_;
    std::atomic<bool> stop_{false};
    std::atomic<unsigned> requests_{0};
    zmq::context_t context_{1};
    zmq::socket_t socket_{context_, zmq::socket_type::router};
    std::thread thread_;
};

/// A path of its own for each call, in a folder that goes when the tests end.
[[nodiscard]] inline std::string fresh_socket() {
    static const weir::test::TempFolder folder;
    static int number = 0;
    return folder.file(std::to_string(++number) + ".sock");
}

}  // namespace weir::cli::test
