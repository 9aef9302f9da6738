#include "dialects/StableHLO/StableHLOOps.h"
#include "lib/Reference/Evaluation/OpHandlers.h"
#include "lib/Reference/Numerics/RandomBits.h"
#include "lib/Reference/TensorTypes.h"

namespace mlir::st::ref {

using namespace stablehlo;

Outcome evalRandom(TensorCall &call) {
  auto op = dyn_cast<RngBitGeneratorOp>(call.op);
  if (!op)
    return Outcome::Unknown;
  // The default is the implementation's choice: here the one of XLA on CPUs and GPUs.
  auto generator = op.getRngAlgorithm() == RngAlgorithm::THREE_FRY ? BitGenerator::ThreeFry
                                                                   : BitGenerator::Philox;
  auto type = cast<RankedTensorType>(op.getOutput().getType());
  Tensor state;
  Tensor bits =
      randomBits(generator, call.operands[0], *getTensorElementType(type), type.getShape(), state);
  call.results.push_back(state);
  call.results.push_back(bits);
  return Outcome::Done;
}

} // namespace mlir::st::ref
