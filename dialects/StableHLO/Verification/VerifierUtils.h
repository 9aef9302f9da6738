//===- VerifierUtils.h - Checks that many verifiers share -------*- C++ -*-===//

#ifndef ST_DIALECTS_STABLEHLO_VERIFIERUTILS_H
#define ST_DIALECTS_STABLEHLO_VERIFIERUTILS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

namespace mlir::stablehlo {

/// The dimensions in `dims` exist in a tensor of `rank` and none is named twice.
/// `name` is what the message calls the list.
LogicalResult verifyDims(Operation *op, StringRef name, ArrayRef<int64_t> dims, int64_t rank);

/// As verifyDims, and in increasing order.
LogicalResult verifySortedDims(Operation *op, StringRef name, ArrayRef<int64_t> dims, int64_t rank);

/// `values` has as many elements as a tensor of `rank` has dimensions.
LogicalResult verifySizeIsRank(Operation *op, StringRef name, size_t size, int64_t rank);

/// All of `values` have one shape.
LogicalResult verifySameShapes(Operation *op, StringRef name, TypeRange types);

/// The region is one block that takes `args` and ends in a stablehlo.return of
/// `results`. `name` is what the message calls the region.
LogicalResult verifyBody(Operation *op, StringRef name, Region &body, TypeRange args,
                         TypeRange results);

/// The types that a body returns, empty where it has no stablehlo.return yet.
SmallVector<Type> getReturnedTypes(Region &body);

/// Whether values of `from` may be accumulated in `to`: the same kind of number,
/// no narrower.
bool isPromotable(Type from, Type to);

/// The size of a padded dimension, negative where padding crops too much and
/// none where it does not fit 64 bits.
std::optional<int64_t> getPaddedSize(int64_t size, int64_t low, int64_t high, int64_t interior);

/// A window over one dimension.
struct Window {
  int64_t size = 1, stride = 1, low = 0, high = 0, baseDilation = 1, dilation = 1;
};

/// How often a window fits into a dimension of `size`; none where that does not
/// fit 64 bits. Strides and dilations are positive.
std::optional<int64_t> countWindows(int64_t size, const Window &window);

/// One window per element of `sizes`. Absent lists have their defaults; so has
/// what a list is too short for.
SmallVector<Window> getWindows(ArrayRef<int64_t> sizes, std::optional<ArrayRef<int64_t>> strides,
                               std::optional<DenseIntElementsAttr> padding,
                               std::optional<ArrayRef<int64_t>> baseDilations,
                               std::optional<ArrayRef<int64_t>> dilations);

/// The 0-dimensional tensor of an element of `type`.
RankedTensorType scalarOf(Type type);

} // namespace mlir::stablehlo

#endif // ST_DIALECTS_STABLEHLO_VERIFIERUTILS_H
