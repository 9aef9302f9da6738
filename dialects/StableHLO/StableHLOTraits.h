//===- StableHLOTraits.h - Traits of stablehlo ops --------------*- C++ -*-===//

#ifndef ST_DIALECTS_STABLEHLO_STABLEHLOTRAITS_H
#define ST_DIALECTS_STABLEHLO_STABLEHLOTRAITS_H

#include "mlir/IR/OpDefinition.h"

namespace mlir::stablehlo::traits {

namespace detail {
LogicalResult verifyStaticShapes(Operation *op);
LogicalResult verifyInferredTypes(Operation *op);
LogicalResult verifySameTypes(Operation *op);
LogicalResult verifySameShapes(Operation *op);
} // namespace detail

/// Rejects dynamic dimensions in the types of operands and results.
template <typename ConcreteOp>
struct StaticShapes : public mlir::OpTrait::TraitBase<ConcreteOp, StaticShapes> {
  static LogicalResult verifyTrait(Operation *op) { return detail::verifyStaticShapes(op); }
};

/// Result types equal the inferred ones, if the op infers them. Inference may read regions, so this
/// runs after they are verified.
template <typename ConcreteOp>
struct InferredTypes : public mlir::OpTrait::TraitBase<ConcreteOp, InferredTypes> {
  static LogicalResult verifyRegionTrait(Operation *op) { return detail::verifyInferredTypes(op); }
};

/// All operands and results have the same type.
template <typename ConcreteOp>
struct SameTypes : public mlir::OpTrait::TraitBase<ConcreteOp, SameTypes> {
  static LogicalResult verifyTrait(Operation *op) { return detail::verifySameTypes(op); }
};

/// All operands and results have the same shape; element types may differ.
template <typename ConcreteOp>
struct SameShapes : public mlir::OpTrait::TraitBase<ConcreteOp, SameShapes> {
  static LogicalResult verifyTrait(Operation *op) { return detail::verifySameShapes(op); }
};

} // namespace mlir::stablehlo::traits

#endif // ST_DIALECTS_STABLEHLO_STABLEHLOTRAITS_H
