// Ops that a pass makes belong where the op does that it makes them for.
#pragma once

#include "mlir/IR/Builders.h"

namespace mlir::st {

/// Gives every op that is inserted one attribute (a stage, a block of the model); none while it is
/// null.
class AttributeListener : public OpBuilder::Listener {
public:
  explicit AttributeListener(StringRef name) : name(name) {}

  Attribute value;
  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override {
    if (value)
      op->setDiscardableAttr(name, value);
  }

private:
  StringRef name;
};

} // namespace mlir::st
