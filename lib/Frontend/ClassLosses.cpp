//===- ClassLosses.cpp - Losses of classes and of token classes -----------===//

#include "lib/Frontend/ModelBuilder.h"

using namespace mlir;
using namespace mlir::st;

Value ModelBuilder::classLoss(Value logits) {
  SmallVector<int64_t> shape = {batch, config.labelCount};
  switch (config.problem) {
  case Problem::SingleLabel: {
    Value labels = batchArgument("labels", {batch}, config.labelCount);
    measureCorrect("label", logits, labels, -100);
    return crossEntropy(logits, labels, -100);
  }
  case Problem::MultiLabel:
    return binaryCrossEntropy(logits, batchArgument("labels", shape));
  case Problem::Regression:
    // With one label the numbers are [B], not [B, 1].
    if (config.labelCount == 1)
      shape.pop_back();
    return squaredError(emit.reshape(logits, shape), batchArgument("labels", shape));
  }
  llvm_unreachable("unknown problem");
}

Value ModelBuilder::tokenClassLoss(Value logits) {
  Value labels = batchArgument("labels", {batch, sequence}, config.labelCount);
  measureCorrect("label", logits, labels, -100);
  return crossEntropy(logits, labels, -100);
}
