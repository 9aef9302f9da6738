//===- Measures.cpp - Metrics of an evaluation other than the loss --------===//

#include "lib/Frontend/ModelBuilder.h"

using namespace mlir;
using namespace mlir::st;
using stablehlo::ComparisonDirection;

void ModelBuilder::measure(StringRef name, Value value) {
  if (keepsMeasures)
    measures.push_back({name.str(), value});
}

void ModelBuilder::measureCorrect(StringRef name, Value logits, Value labels, int64_t ignored) {
  if (!keepsMeasures)
    return;
  Scope scope(*this, "correct");
  ArrayRef<int64_t> shape = emit.shapeOf(logits);
  const int64_t last = shape.size() - 1;
  // The first of the largest, as the largest of the negative positions: a maximum shards over the
  // classes. Integers, which no compute type rounds.
  Value largest = broadcastLeading(emit.reduceMax(logits, {last}), shape);
  Value place = emit.iota(shape, builder.getI32Type(), last);
  Value isLargest = emit.compare(ComparisonDirection::GE, logits, largest);
  Value candidates = emit.select(isLargest, emit.neg(place),
                                 emit.splatLike(place, -static_cast<double>(shape[last])));
  Value chosen = emit.neg(emit.reduceMax(candidates, {last}));

  Value counts = emit.compare(ComparisonDirection::NE, labels, emit.splatLike(labels, ignored));
  Value isRight = emit.compare(ComparisonDirection::EQ, chosen, labels);
  SmallVector<int64_t> all = llvm::to_vector(llvm::seq<int64_t>(0, last));
  auto sum = [&](Value flags) {
    return emit.reduceAdd(emit.convert(flags, builder.getF32Type()), all);
  };
  measure((name + "_correct").str(), sum(emit.bitAnd(counts, isRight)));
  measure((name + "_count").str(), sum(counts));
}
