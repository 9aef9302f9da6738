#include "dialects/StableHLO/Sharding/JoinedRuns.h"

using namespace mlir;
using namespace mlir::stablehlo;

ConcatenateOp mlir::stablehlo::findJoinOfRuns(Block &body) {
  auto join = dyn_cast<ConcatenateOp>(body.front());
  if (!join || join->getNextNode() != body.getTerminator() ||
      !llvm::equal(join.getInputs(), body.getArguments()))
    return nullptr;
  ArrayRef<int64_t> shape = cast<RankedTensorType>(join.getType()).getShape();
  bool isFirst =
      llvm::all_of(shape.take_front(join.getDimension()), [](int64_t size) { return size == 1; });
  return isFirst ? join : nullptr;
}
