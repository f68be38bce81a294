// weir_cost.h - the arguments of a cost program, for C compiled with -target bpf; CostArguments is the same
// in C++. Source: docs/algorithms.md 5.2. Units: bytes, tokens.
//
// A program is one function in the section "cost". It returns tokens, 64 bits; values beyond 4,294,967,295
// are charged as this number. It may compute, branch and read its argument. It may not loop, call, write to
// memory, or divide or shift by variables.
#pragma once

struct weir_request {
    unsigned int operation;  // 0 read, 1 write, 2 update, 3 delete, 4 flush, 5 control, 6 bytes
    unsigned int request_bytes;
    unsigned int response_bytes;  // expected, or the real size once the response has come
    unsigned int tokens;          // the price list's result
    unsigned int keys;
    unsigned int access;  // 0 plain, 1 sequential, 2 repeat
};

#define WEIR_COST __attribute__((section("cost"), used))
