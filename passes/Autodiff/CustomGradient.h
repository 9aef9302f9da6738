//===- CustomGradient.h - Regions of st.custom_gradient, inlined -*- C++ -*-===//

#ifndef ST_PASSES_AUTODIFF_CUSTOMGRADIENT_H
#define ST_PASSES_AUTODIFF_CUSTOMGRADIENT_H

#include "dialects/St/IR/StGradientOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::st {

/// Copies the ops of a region whose arguments have these values; returns what it returns.
SmallVector<Value> inlineRegion(OpBuilder &builder, Region &region, ValueRange values);

/// Copies the forward region of the op before it; returns its results, then residuals.
SmallVector<Value> inlineForward(CustomGradientOp op);

/// Replaces every op by its forward region.
void inlineCustomGradients(ModuleOp module);

} // namespace mlir::st

#endif // ST_PASSES_AUTODIFF_CUSTOMGRADIENT_H
