// A kernel of a ring: it computes one part of its operands at a time, and combines its results.
#pragma once

#include "dialects/StableHLO/StableHLOOps.h"
#include "mlir/IR/IRMapping.h"
#include "passes/Kernels/GatheredDims.h"

namespace mlir::st {

/// Adds two tensors in a kernel.
Value addTensors(OpBuilder &builder, Value a, Value b);

/// A kernel whose operands are parts. Sums over the parts add up. The parts of a softmax and of
/// products with it are relative to the maxima of the part, and combine as in FlashAttention
/// (Dao, "FlashAttention-2", 2023, section 3.1) and ring attention (Liu et al., 2023):
///   m = max(m1, m2), l = l1 exp(m1 - m) + l2 exp(m2 - m),
///   o = o1 (l1 exp(m1 - m) / l) + o2 (l2 exp(m2 - m) / l).
class RingKernel {
public:
  RingKernel(KernelOp kernel, int64_t parts) : kernel(kernel), parts(parts), dims(kernel, parts) {}

  /// Returns false if the kernel needs more than one part at a time. `gathered`: the dimensions of
  /// the task's values.
  bool plan(const DenseMap<Value, GatheredDim> &gathered);
  const GatheredDims &getDims() const { return dims; }
  /// Returns true if some results combine all parts; all others are parts.
  bool combines() const { return isSoftmax || !added.empty(); }

  void begin(OpBuilder &builder, const DenseMap<Value, GatheredDim> &gathered);
  /// Computes a part. `part` maps gathered values of the task to their parts; the parts of the
  /// results are added to it.
  void addPart(OpBuilder &builder, IRMapping &part, Value index, bool isLast);
  /// Replaces the results that combine parts.
  void end(OpBuilder &builder);
  void finish();

private:
  /// A product with a softmax.
  struct Product {
    unsigned result; ///< of the kernel
    size_t sum;      ///< among the sums
    bool isDivided;  ///< by that sum
  };

  KernelOp kernel;
  int64_t parts;
  GatheredDims dims;
  SmallVector<unsigned> added; ///< results that are sums over the parts
  bool isSoftmax = false;
  SmallVector<stablehlo::ReduceOp> maxima, sums;
  SmallVector<size_t> maximumOf; ///< of each sum
  SmallVector<Product> products;
  SmallVector<unsigned> rowResults; ///< functions of maxima and sums

  // While code is emitted:
  KernelOp base;                        ///< computes all parts at once, with the results of a part
  std::optional<GatheredDims> baseDims; ///< of `base`
  SmallVector<Value> combined;          ///< by result of `base`; null for parts

  Operation *yield() const { return kernel->getRegion(0).front().getTerminator(); }
  bool planSums();
  bool planSoftmax();
  bool planRowResults();
  void combineSums(OpBuilder &builder, ValueRange part, bool isLast);
  void combineSoftmax(OpBuilder &builder, ValueRange part, bool isLast);
  SmallVector<Value> combineRows(OpBuilder &builder, ValueRange part);
  Value combineProduct(OpBuilder &builder, const Product &product, ValueRange inputs, bool isLast);
};

} // namespace mlir::st
