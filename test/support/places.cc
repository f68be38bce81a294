// places.cc - the only file of the tests that is compiled with the checkout's path: a cache of the compiler
// finds all others in another checkout.
#include "test/support/places.h"

namespace weir::test {

std::string source_path(const std::string& path) {
    return WEIR_SOURCE_ROOT "/" + path;
}

std::string build_path(const std::string& path) {
    return WEIR_BUILD_ROOT "/" + path;
}

}  // namespace weir::test
