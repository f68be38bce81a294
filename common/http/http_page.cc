// http_page.cc - a page as the library's response.
#include "common/http/http_page.h"

#include <microhttpd.h>

#include <new>
#include <string>

namespace weir {

HttpPage::HttpPage(unsigned status, std::string_view content_type, std::string_view text,
                   std::initializer_list<Header> headers)
    : status_(status),
      bytes_(text.size()),
      response_(MHD_create_response_from_buffer(text.size(), const_cast<char*>(text.data()),
                                                MHD_RESPMEM_MUST_COPY)) {
    if (response_ == nullptr)
        throw std::bad_alloc();
    MHD_add_response_header(response_, MHD_HTTP_HEADER_CONTENT_TYPE, std::string(content_type).c_str());
    for (const auto& [name, value] : headers)
        MHD_add_response_header(response_, name, std::string(value).c_str());
}

HttpPage::~HttpPage() {
    MHD_destroy_response(response_);  // connections that send it keep it until its end
}

}  // namespace weir
