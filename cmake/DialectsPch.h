// CompilerPch.h, RuntimePch.h and the dialects that most passes and both code generators need. A change of a
// dialect rebuilds everything that is compiled with this header.
#include "cmake/CompilerPch.h"
#include "cmake/RuntimePch.h"

#include "dialects/St/IR/StDialect.h"
#include "dialects/StableHLO/ChloOps.h"
