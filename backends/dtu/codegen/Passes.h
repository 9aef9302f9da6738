// Passes of the DTU backend.
#pragma once

#include "backends/dtu/IR/DtuDialect.h"
#include "dialects/St/IR/StDialect.h"
#include "dialects/StableHLO/StableHLODialect.h"
#include "lib/Proto/device.pb.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::dtu {

constexpr llvm::StringLiteral kRankTableAttr = "dtu.rank_table";
constexpr llvm::StringLiteral kTableSizeAttr = "dtu.table_size";
constexpr llvm::StringLiteral kConstantsAttr = "dtu.constants";
constexpr llvm::StringLiteral kDescriptionAttr = "dtu.description";

/// The machine for which a module is compiled. Fails with a diagnostic.
FailureOr<::st::proto::DtuDescription> getDescription(ModuleOp module);

#define GEN_PASS_DECL
#include "backends/dtu/codegen/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "backends/dtu/codegen/Passes.h.inc"

} // namespace mlir::dtu
