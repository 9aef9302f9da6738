// What the passes of this folder share.
#pragma once

#include "dialects/St/IR/ModuleFacts.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "passes/Precision/Passes.h"

namespace mlir::st {

FloatType getFloatType(ComputeType type, MLIRContext *context);

/// @main of a module that fulfils the contract; null, with a diagnostic, where there is none, or
/// where it is not one block.
func::FuncOp findStep(ModuleOp module, StringRef pass, const FactContract &contract);

/// The floats of a constant, rounded to another type.
DenseElementsAttr convertElements(ElementsAttr values, Type elementType);

/// The result of a role; null if there is none.
Value findResult(func::FuncOp function, StringRef role);

} // namespace mlir::st
