//===- Passes.h - From a loss to a training step ----------------*- C++ -*-===//

#ifndef ST_PASSES_AUTODIFF_PASSES_H
#define ST_PASSES_AUTODIFF_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::st {

enum class OptimizerKind { AdamW, Adam, Sgd, Lamb, Adafactor };

/// Of a parameter, f64: its weight decay in the place of the optimizer's.
constexpr llvm::StringLiteral kWeightDecayAttr = "st.weight_decay";
/// The state that counts the steps whose gradients were not finite, of a scaled loss.
constexpr llvm::StringLiteral kSkippedStepsName = "loss_scale.skipped_steps";

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Autodiff/Passes.h.inc"

} // namespace mlir::st

#endif // ST_PASSES_AUTODIFF_PASSES_H
