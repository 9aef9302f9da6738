// Moments of a parameter, which an optimizer keeps in 32 bits or in 8.
//
// In 8 bits a moment is two states: the code of each element (ui8, in the parameter's shape) and
// the largest magnitude of each block (f32, `<name>.absmax`), which divides the elements of the
// block before they are coded. Codes are those of bitsandbytes: the dynamic map of Dettmers et al.,
// "8-bit Optimizers via Block-wise Quantization" (arXiv 2110.02861), of 7 exponent bits, signed or
// not, ascending; an element gets the nearest code. A block is 256 consecutive elements of the last
// dimension; the last block of a row is the remainder, or the row if it is shorter. It equals
// bitsandbytes' block if 256 divides the last dimension. Blocks are those of the full parameter
// under any layout; where a shard ends within a block, devices exchange maxima of 32 elements.
#pragma once

#include "passes/Autodiff/Optimizers.h"

namespace mlir::st {

/// A moment at the start of a step.
struct Moment {
  Value value; ///< f32, in the parameter's shape
  bool isSigned;
  Value state;
  Value absmax; ///< for an 8-bit moment, else null
};

class OptimizerMoments {
public:
  OptimizerMoments(Emitter &emit, const AddOptimizerOptions &options, StateSource &source)
      : emit(emit), options(options), source(source) {}

  /// Adds a moment of the parameter's shape. An unsigned moment is never negative.
  Moment add(const ParameterUpdate &update, StringRef suffix, bool isSigned);
  void set(const Moment &moment, Value updated);

private:
  bool isCoded(RankedTensorType type) const;

  Emitter &emit;
  const AddOptimizerOptions &options;
  StateSource &source;
};

} // namespace mlir::st
