// Passes on kernels that both code generators need.
#pragma once

#include "dialects/St/IR/StDialect.h"
#include "dialects/StableHLO/StableHLODialect.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::st {

/// On an attention kernel: `derive-row-sums` does not change its body.
constexpr llvm::StringLiteral kKeepsRowSumsAttr = "st.keeps_row_sums";

#define GEN_PASS_DECL
#include "backends/common/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "backends/common/Passes.h.inc"

} // namespace mlir::st
