// tree.h - the tree of `allocation`: nodes by name, in any order. Threads: any.
#pragma once

#include "ctrl/alloc/share_tree.h"
#include "ctrl/what_if/fields.h"

namespace weir::what_if {

struct Tree {
    Names names;
    alloc::ShareTree nodes;
    /// Per name: its node, since nodes stand behind their parents.
    std::vector<std::uint32_t> node;
};

/// The list at `tree`; absent is a tree without nodes.
[[nodiscard]] Tree read_tree(ObjectReader& reader, Faults& faults);

}  // namespace weir::what_if
