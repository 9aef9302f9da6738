// Sharding annotations of imported programs.
#pragma once

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/Sdy/SdyDialect.h.inc"

#include "dialects/Sdy/SdyEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Sdy/SdyAttrs.h.inc"

#define GET_OP_CLASSES
#include "dialects/Sdy/SdyOps.h.inc"

namespace mlir::sdy {

/// Parses `[<@mesh, [{"a"}]>, #sdy.sharding<@mesh, [{}]>]`: shardings in short or long form.
ParseResult parseShardings(AsmParser &parser, SmallVectorImpl<TensorShardingAttr> &shardings);

} // namespace mlir::sdy
