// Copies attributes from an op to the ops that a pass creates for it.
#pragma once

#include "mlir/IR/Builders.h"

namespace mlir::st {

/// Gives every inserted op one attribute (a stage, a block of the model); none while it is null.
class AttributeListener : public OpBuilder::Listener {
public:
  /// Without `marksConstants`, constants get no attribute.
  explicit AttributeListener(StringRef name, bool marksConstants = true)
      : name(name), marksConstants(marksConstants) {}

  Attribute value;
  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override {
    if (value && (marksConstants || !op->hasTrait<OpTrait::ConstantLike>()))
      op->setDiscardableAttr(name, value);
  }

private:
  StringRef name;
  bool marksConstants;
};

} // namespace mlir::st
