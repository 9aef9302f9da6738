// Shardings that a program was annotated with.
#pragma once

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/Sdy/SdyDialect.h.inc"

#include "dialects/Sdy/SdyEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Sdy/SdyAttrs.h.inc"

#define GET_OP_CLASSES
#include "dialects/Sdy/SdyOps.h.inc"
