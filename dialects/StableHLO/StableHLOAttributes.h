//===- StableHLOAttributes.h - Attributes and enums of stablehlo *- C++ -*-===//

#ifndef ST_DIALECTS_STABLEHLO_STABLEHLOATTRIBUTES_H
#define ST_DIALECTS_STABLEHLO_STABLEHLOATTRIBUTES_H

#include "mlir/IR/Attributes.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/APFloat.h"

#include "dialects/StableHLO/StableHLOEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/StableHLO/StableHLOAttributes.h.inc"

#endif // ST_DIALECTS_STABLEHLO_STABLEHLOATTRIBUTES_H
