// Common code of the passes of this folder.
#pragma once

#include "dialects/St/IR/ModuleFacts.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "passes/Precision/Passes.h"

namespace mlir::st {

FloatType getFloatType(ComputeType type, MLIRContext *context);

/// Returns @main of a module that fulfils the contract. Returns null, with a diagnostic, if @main
/// is missing or has several blocks.
func::FuncOp findStep(ModuleOp module, StringRef pass, const FactContract &contract);

/// The floats of a constant, rounded to another type.
DenseElementsAttr convertElements(ElementsAttr values, Type elementType);

/// The result with a role; null if there is none.
Value findResult(func::FuncOp function, StringRef role);

} // namespace mlir::st
