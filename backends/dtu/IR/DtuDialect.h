// The dtu dialect: instruction streams of a cluster.
#pragma once

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"

#include "backends/dtu/IR/DtuDialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "backends/dtu/IR/DtuAttrs.h.inc"

#define GET_OP_CLASSES
#include "backends/dtu/IR/DtuOps.h.inc"
