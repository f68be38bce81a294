// wide.h - 128-bit whole numbers, for products of two 64-bit ones. Threads: any.
#pragma once

namespace weir {

__extension__ using Wide = unsigned __int128;
__extension__ using SignedWide = __int128;

}  // namespace weir
