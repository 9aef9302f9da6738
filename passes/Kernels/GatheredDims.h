// Dimensions that hold the parts of several devices, and kernels that compute one part of them.
#pragma once

#include "dialects/St/IR/StDialect.h"

#include <optional>

namespace mlir::st {

/// A dimension along which the parts of several devices follow each other in blocks of `block`
/// elements, repeated if the dimension is longer. Element c of part e is at position
/// (c / block * parts + e) * block + c % block.
struct GatheredDim {
  int64_t dim = 0, block = 1;

  bool operator==(const GatheredDim &other) const {
    return dim == other.dim && block == other.block;
  }
};

/// The type of one of `parts` parts.
RankedTensorType getPartType(RankedTensorType type, GatheredDim dim, int64_t parts);

/// Returns the dimension of the reshape's other type that holds the parts, or std::nullopt if the
/// reshape does not map parts to parts.
std::optional<GatheredDim> reshapeGathered(RankedTensorType from, RankedTensorType to,
                                           GatheredDim dim, int64_t parts);

/// The gathered dimensions of the values of a kernel's body. A value without one is the same for
/// all parts, or combines them (a reduction, or a product that contracts the dimension).
class GatheredDims {
public:
  GatheredDims(KernelOp kernel, int64_t parts) : kernel(kernel), parts(parts) {}

  /// Finds the dimensions of all values from those of some inputs. Returns false if a part of them
  /// cannot be computed from the same part of the inputs alone.
  bool analyze(ArrayRef<std::optional<GatheredDim>> inputs);

  std::optional<GatheredDim> get(Value value) const {
    auto found = dims.find(value);
    return found == dims.end() ? std::nullopt : std::optional(found->second);
  }
  /// Returns true if an op without a gathered result combines the parts of an operand.
  bool combines(Operation *op) const;
  /// The kernel that computes one part. `inputs` are parts where the kernel's inputs have a
  /// gathered dimension. `index` is the number of the part, an i32 scalar.
  KernelOp makePart(OpBuilder &builder, ValueRange inputs, Value index) const;

private:
  KernelOp kernel;
  int64_t parts;
  DenseMap<Value, GatheredDim> dims;
  SmallVector<Operation *> pending;

  bool set(Value value, GatheredDim dim);
  bool propagate(Operation *op);
  bool canSplit(Operation *op) const;
  Value makePositions(OpBuilder &builder, Operation *iota, Value index) const;
};

} // namespace mlir::st
