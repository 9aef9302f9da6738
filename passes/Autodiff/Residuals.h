//===- Residuals.h - Values saved for backward regions ----------*- C++ -*-===//
//
// Rules emit the backward ops of a region into a region of another op as if they could read the
// forward values. Residuals finds the values that they use and replaces them: by recomputation if
// that is almost free, else by values that the forward op has saved.
//
//===----------------------------------------------------------------------===//

#ifndef ST_PASSES_AUTODIFF_RESIDUALS_H
#define ST_PASSES_AUTODIFF_RESIDUALS_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::st {

class Residuals {
public:
  /// `known` maps values of `forward` to values that `backward` can see.
  Residuals(Block &forward, Block &backward, const IRMapping &known);

  /// The values of `forward` to save.
  ArrayRef<Value> saved() const { return toSave.getArrayRef(); }

  /// Replaces the uses in `backward` of values from `forward`, given the saved values. Emits at
  /// `builder`, which must dominate those uses.
  void replace(OpBuilder &builder, ArrayRef<Value> loaded);

private:
  bool isFree(Value value);
  void need(Value value);
  Value reproduce(OpBuilder &builder, Value value);

  Block &forward, &backward;
  IRMapping mapping;
  SetVector<Value> taken, toSave;
  DenseMap<Value, bool> free;
};

} // namespace mlir::st

#endif // ST_PASSES_AUTODIFF_RESIDUALS_H
