//===- StableHLOOps.h - Ops of stablehlo ------------------------*- C++ -*-===//

#ifndef ST_DIALECTS_STABLEHLO_STABLEHLOOPS_H
#define ST_DIALECTS_STABLEHLO_STABLEHLOOPS_H

#include "dialects/StableHLO/StableHLOAttributes.h"
#include "dialects/StableHLO/StableHLODialect.h"
#include "dialects/StableHLO/StableHLOTraits.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir::stablehlo {

/// Fills a region: gets its arguments and returns the region's results. The builder is in the
/// region's only block; the caller adds the terminator.
using BodyBuilder =
    llvm::function_ref<SmallVector<Value>(OpBuilder &builder, Location loc, ValueRange args)>;

} // namespace mlir::stablehlo

#define GET_OP_CLASSES
#include "dialects/StableHLO/StableHLOOps.h.inc"

#endif // ST_DIALECTS_STABLEHLO_STABLEHLOOPS_H
