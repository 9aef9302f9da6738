//===- Passes.h - From a loss to a training step ----------------*- C++ -*-===//

#ifndef ST_PASSES_AUTODIFF_PASSES_H
#define ST_PASSES_AUTODIFF_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::st {

enum class OptimizerKind { AdamW, Adam, Sgd, Lamb, Adafactor };

/// On a parameter, f64: its weight decay, overriding the optimizer's.
constexpr llvm::StringLiteral kWeightDecayAttr = "st.weight_decay";
/// For a scaled loss, the state that counts the steps whose gradients were not finite.
constexpr llvm::StringLiteral kSkippedStepsName = "loss_scale.skipped_steps";

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Autodiff/Passes.h.inc"

} // namespace mlir::st

#endif // ST_PASSES_AUTODIFF_PASSES_H
