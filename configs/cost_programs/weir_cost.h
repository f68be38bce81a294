// weir_cost.h - what a cost program is given, for C compiled with -target bpf; CostArguments is the same in
// C++.
//
// A program is one function in the section "cost". It returns tokens, 64 bits: more than 32 can hold is
// charged as 4,294,967,295. It may compute, branch and read its argument. It may not loop, call, write to
// memory, or divide or shift by what is no constant.
#pragma once

struct weir_request {
    unsigned int operation;  // 0 read, 1 write, 2 update, 3 delete, 4 flush, 5 control, 6 bytes
    unsigned int request_bytes;
    unsigned int response_bytes;  // expected, or as it was
    unsigned int tokens;          // what the price list says
    unsigned int keys;
    unsigned int access;  // 0 plain, 1 sequential, 2 repeat
};

#define WEIR_COST __attribute__((section("cost"), used))
