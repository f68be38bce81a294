// http_service_open.h - a connection of HttpService and the request on it, for the files that have its parts.
// Threads: the server's own.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <list>
#include <string>

#include "common/http/http_service.h"

namespace weir {

struct HttpService::Open {
    int descriptor = -1;
    std::string address{};
    std::chrono::steady_clock::time_point ends_at{};  // by its present phase
    std::chrono::steady_clock::time_point latest = std::chrono::steady_clock::time_point::max();
    bool is_trusted = false;
    bool is_busy = false;   // with a request
    bool is_ended = false;  // the library closes it in its next turn
    std::list<Open>::iterator place{};

    void allow(std::chrono::seconds span) {
        ends_at = std::min(latest, std::chrono::steady_clock::now() + span);
    }
    void allow_any_time() { ends_at = latest; }
};

struct HttpService::Exchange {
    HttpService* service = nullptr;
    MHD_Connection* connection = nullptr;
    Open* open = nullptr;
    HttpRequest request{};
    Page page{};      // once it is known
    Source source{};  // of a stream
    std::string text{};
    std::size_t sent = 0;  // of it
    bool is_served = false;
    bool is_suspended = false;
};

}  // namespace weir
