//===- CustomGradient.h - Regions of st.custom_gradient, inlined -*- C++ -*-===//

#ifndef ST_PASSES_AUTODIFF_CUSTOMGRADIENT_H
#define ST_PASSES_AUTODIFF_CUSTOMGRADIENT_H

#include "dialects/St/IR/StGradientOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::st {

/// Copies the ops of a region with its arguments replaced by values; returns its results.
SmallVector<Value> inlineRegion(OpBuilder &builder, Region &region, ValueRange values);

/// Copies the op's forward region before the op; returns its results, then its residuals.
SmallVector<Value> inlineForward(CustomGradientOp op);

/// Replaces every op by its forward region.
void inlineCustomGradients(ModuleOp module);

} // namespace mlir::st

#endif // ST_PASSES_AUTODIFF_CUSTOMGRADIENT_H
