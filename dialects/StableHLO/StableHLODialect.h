//===- StableHLODialect.h - The stablehlo dialect ---------------*- C++ -*-===//

#ifndef ST_DIALECTS_STABLEHLO_STABLEHLODIALECT_H
#define ST_DIALECTS_STABLEHLO_STABLEHLODIALECT_H

#include "mlir/IR/Dialect.h"

#include "dialects/StableHLO/StableHLODialect.h.inc"

#endif // ST_DIALECTS_STABLEHLO_STABLEHLODIALECT_H
