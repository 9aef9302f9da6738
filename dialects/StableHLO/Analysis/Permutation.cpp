#include "dialects/StableHLO/Analysis/Permutation.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace mlir::st;
using stablehlo::GatherOp;

Permutation Permutation::getInverse() const {
  Permutation inverse{dim, SmallVector<int64_t>(sources.size())};
  for (auto [target, source] : llvm::enumerate(sources))
    inverse.sources[source] = static_cast<int64_t>(target);
  return inverse;
}

/// Returns true if each index selects one element along the only dimension whose size differs from
/// the operand's, and enumerates that dimension of the result.
static bool takesElements(GatherOp gather) {
  stablehlo::GatherDimensionNumbersAttr dims = gather.getDimensionNumbers();
  ArrayRef<int64_t> shape = gather.getOperand().getType().getShape();
  if (dims.getStartIndexMap().size() != 1 || !dims.getOperandBatchingDims().empty() ||
      dims.getCollapsedSliceDims() != dims.getStartIndexMap() ||
      gather.getType().getShape() != shape)
    return false;
  const int64_t dim = dims.getStartIndexMap().front();
  return dims.getOffsetDims().size() + 1 == shape.size() &&
         !llvm::is_contained(dims.getOffsetDims(), dim) &&
         llvm::all_of(llvm::seq<int64_t>(0, shape.size()), [&](int64_t other) {
           return gather.getSliceSizes()[other] == (other == dim ? 1 : shape[other]);
         });
}

SmallVector<int64_t> mlir::st::readSources(GatherOp gather) {
  SmallVector<int64_t> sources;
  if (DenseIntElementsAttr indices; matchPattern(gather.getStartIndices(), m_Constant(&indices)))
    for (const APInt &index : indices)
      sources.push_back(static_cast<int64_t>(index.getLimitedValue(INT64_MAX)));
  return sources;
}

std::optional<Permutation> mlir::st::findPermutation(GatherOp gather) {
  if (!takesElements(gather))
    return std::nullopt;
  Permutation found{gather.getDimensionNumbers().getStartIndexMap().front(), readSources(gather)};
  const int64_t size = gather.getType().getDimSize(found.dim);
  if (size == 1 || static_cast<int64_t>(found.sources.size()) != size)
    return std::nullopt;
  SmallVector<bool> isTaken(size);
  for (int64_t source : found.sources)
    if (source >= size || std::exchange(isTaken[source], true))
      return std::nullopt;
  return found;
}

Value mlir::st::emitPermutation(OpBuilder &builder, Location loc, Value value,
                                const Permutation &permutation) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> sizes(type.getShape()), others;
  sizes[permutation.dim] = 1;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (dim != permutation.dim)
      others.push_back(dim);
  auto dims = stablehlo::GatherDimensionNumbersAttr::get(builder.getContext(), others,
                                                         permutation.dim, {}, {}, permutation.dim,
                                                         /*indexVectorDim=*/1);
  SmallVector<int32_t> sources(permutation.sources.begin(), permutation.sources.end());
  Value indices = stablehlo::ConstantOp::create(
      builder, loc, cast<DenseElementsAttr>(builder.getI32TensorAttr(sources)));
  return GatherOp::create(builder, loc, type, value, indices, dims, sizes,
                          /*indicesAreSorted=*/false);
}
