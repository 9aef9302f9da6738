// Passes that import a program printed by another tool, up to an `@main` with roles.
#pragma once

#include "dialects/St/IR/StDialect.h"
#include "dialects/StableHLO/ChloOps.h"
#include "dialects/StableHLO/StableHLODialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::st {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Import/Passes.h.inc"

} // namespace mlir::st
