//===- VerifierUtils.h - Checks that many verifiers share -------*- C++ -*-===//

#ifndef ST_DIALECTS_STABLEHLO_VERIFIERUTILS_H
#define ST_DIALECTS_STABLEHLO_VERIFIERUTILS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

namespace mlir::stablehlo {

/// Verifies that the dimensions in `dims` exist in a tensor of `rank` and that none occurs twice.
/// `name` is the list's name in the message.
LogicalResult verifyDims(Operation *op, StringRef name, ArrayRef<int64_t> dims, int64_t rank);

/// Like verifyDims, and in increasing order.
LogicalResult verifySortedDims(Operation *op, StringRef name, ArrayRef<int64_t> dims, int64_t rank);

/// Verifies that the attribute `name` has one element per dimension of a tensor of `rank`.
LogicalResult verifySizeIsRank(Operation *op, StringRef name, size_t size, int64_t rank);

/// Verifies that all of `types` have the same shape.
LogicalResult verifySameShapes(Operation *op, StringRef name, TypeRange types);

/// Verifies that the region is one block that takes `args` and ends in a stablehlo.return of
/// `results`. `name` is the region's name in the message.
LogicalResult verifyBody(Operation *op, StringRef name, Region &body, TypeRange args,
                         TypeRange results);

/// The types that a body returns; empty if it has no stablehlo.return yet.
SmallVector<Type> getReturnedTypes(Region &body);

/// Returns true if values of `from` may be accumulated in `to`: the same kind of number, no
/// narrower.
bool isPromotable(Type from, Type to);

/// The size of a padded dimension; negative if padding crops too much, none if it exceeds 64 bits.
std::optional<int64_t> getPaddedSize(int64_t size, int64_t low, int64_t high, int64_t interior);

/// A window over one dimension.
struct Window {
  int64_t size = 1, stride = 1, low = 0, high = 0, baseDilation = 1, dilation = 1;
};

/// The number of positions of a window in a dimension of `size`; none if the window exceeds 64
/// bits. Strides and dilations are positive.
std::optional<int64_t> countWindows(int64_t size, const Window &window);

/// One window per element of `sizes`. Absent lists, and missing elements of short lists, have their
/// defaults.
SmallVector<Window> getWindows(ArrayRef<int64_t> sizes, std::optional<ArrayRef<int64_t>> strides,
                               std::optional<DenseIntElementsAttr> padding,
                               std::optional<ArrayRef<int64_t>> baseDilations,
                               std::optional<ArrayRef<int64_t>> dilations);

/// The 0-dimensional tensor type of an element of `type`.
RankedTensorType scalarOf(Type type);

} // namespace mlir::stablehlo

#endif // ST_DIALECTS_STABLEHLO_VERIFIERUTILS_H
