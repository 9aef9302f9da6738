#include "passes/Precision/OpPrecision.h"
#include "dialects/St/IR/StDialect.h"
#include "dialects/StableHLO/StableHLOOps.h"

using namespace mlir;
using namespace mlir::st;
using namespace mlir::stablehlo;

OpPrecision mlir::st::getOpPrecision(Operation *op) {
  if (isa<DotGeneralOp, ConvolutionOp>(op))
    return OpPrecision::Narrow;
  if (isa<AbsOp, AddOp, ClampOp, CompareOp, DivOp, MaxOp, MinOp, MulOp, NegOp, SelectOp, SignOp,
          SubtractOp>(op))
    return OpPrecision::Follows;
  // A gather rounds rows after the lookup, so the table needs no 16-bit copy and its gradient is
  // summed in f32.
  if (isa<BroadcastInDimOp, ConcatenateOp, ConstrainOp, DynamicSliceOp, GatherOp, PadOp, ReshapeOp,
          ReverseOp, SliceOp, TransposeOp>(op))
    return OpPrecision::Moves;
  return OpPrecision::Wide;
}
