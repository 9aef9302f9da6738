// The st dialect: meshes, shardings, stages, collectives, programs.
#pragma once

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/St/IR/StDialect.h.inc"
#include "dialects/St/IR/StEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/St/IR/StAttrs.h.inc"

#define GET_OP_CLASSES
#include "dialects/St/IR/StOps.h.inc"
