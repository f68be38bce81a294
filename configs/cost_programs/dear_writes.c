/* dear_writes.c - an example of a cost program: small writes cost half as much again, as they will be read, changed
 * and written by a store with blocks of 4 KiB; all other requests have the price of the list.
 *
 *     clang -O2 -target bpf -mcpu=v2 -c dear_writes.c -o dear_writes.o */
#include "weir_cost.h"

#define BLOCK 4096

WEIR_COST unsigned long long tokens(const struct weir_request *request) {
    unsigned long long listed = request->tokens;
    if (request->operation == 1 && request->request_bytes < BLOCK)
        return listed + listed / 2;
    return listed;
}
