// http_page.h - one answer of an HTTP server; several connections may send it at the same time.
// Source: RFC 9110; GNU libmicrohttpd. Threads: any make and keep one, the server's sends it.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string_view>
#include <utility>

struct MHD_Response;

namespace weir {

/// Slow readers cost no copies.
class HttpPage {
  public:
    using Header = std::pair<const char*, std::string_view>;

    /// @param headers besides the type of the content
    HttpPage(unsigned status, std::string_view content_type, std::string_view text,
             std::initializer_list<Header> headers = {{"Connection", "close"}});
    ~HttpPage();
    HttpPage(const HttpPage&) = delete;
    HttpPage& operator=(const HttpPage&) = delete;

    [[nodiscard]] unsigned status() const { return status_; }
    /// Of its text.
    [[nodiscard]] std::size_t bytes() const { return bytes_; }

  private:
    friend class HttpService;
    unsigned status_;
    std::size_t bytes_;
    MHD_Response* response_;
};

}  // namespace weir
