// NDEBUG decides the layout of llvm::Statistic, so a pass' statistics must see what libMLIR was
// built with (without assertions they count nothing); the rest of St keeps its assertions.
#pragma once

#ifdef ST_LLVM_HAS_NO_ASSERTIONS
#define NDEBUG
#include "llvm/ADT/Statistic.h"
#undef NDEBUG
#include <cassert>
#endif
