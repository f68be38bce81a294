// canary_fuzzer.cc - a target that ends at the first input with a byte above 127: the shard fuzz must report
// it. Threads: one.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size > 0 && data[0] > 127)
        std::abort();
    return 0;
}
