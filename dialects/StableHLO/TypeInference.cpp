//===- TypeInference.cpp - Result types of stablehlo ops ------------------===//
//
// Infers result types of valid operands and attributes, which the verifiers check. Inference must
// not crash on invalid ones: it fails instead.
//
//===----------------------------------------------------------------------===//

#include "dialects/StableHLO/StableHLOOps.h"
#include "dialects/StableHLO/Verification/VerifierUtils.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::stablehlo;

using Types = SmallVectorImpl<Type>;

static RankedTensorType tensorOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// `value`'s type with another element type.
static Type withElement(Value value, Type element) { return tensorOf(value).clone(element); }

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

/// The element type of the real part.
static Type partOf(Type element) {
  if (auto complex = dyn_cast<ComplexType>(element))
    return complex.getElementType();
  return element;
}

LogicalResult AbsOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                      Types &types) {
  Value operand = adaptor.getOperand();
  types.push_back(withElement(operand, partOf(getElementTypeOrSelf(operand))));
  return success();
}

LogicalResult RealOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                       Types &types) {
  Value operand = adaptor.getOperand();
  types.push_back(withElement(operand, partOf(getElementTypeOrSelf(operand))));
  return success();
}

LogicalResult ImagOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                       Types &types) {
  Value operand = adaptor.getOperand();
  types.push_back(withElement(operand, partOf(getElementTypeOrSelf(operand))));
  return success();
}

LogicalResult ComplexOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                          Types &types) {
  Value lhs = adaptor.getLhs();
  types.push_back(withElement(lhs, ComplexType::get(getElementTypeOrSelf(lhs))));
  return success();
}

LogicalResult IsFiniteOp::inferReturnTypes(MLIRContext *context, std::optional<Location>,
                                           Adaptor adaptor, Types &types) {
  types.push_back(withElement(adaptor.getX(), IntegerType::get(context, 1)));
  return success();
}

LogicalResult CompareOp::inferReturnTypes(MLIRContext *context, std::optional<Location>,
                                          Adaptor adaptor, Types &types) {
  types.push_back(withElement(adaptor.getLhs(), IntegerType::get(context, 1)));
  return success();
}

LogicalResult SelectOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                         Types &types) {
  types.push_back(adaptor.getOnTrue().getType());
  return success();
}

LogicalResult ClampOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                        Types &types) {
  types.push_back(adaptor.getOperand().getType());
  return success();
}

//===----------------------------------------------------------------------===//
// Data movement
//===----------------------------------------------------------------------===//

LogicalResult ReverseOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                          Types &types) {
  types.push_back(adaptor.getOperand().getType());
  return success();
}

LogicalResult TransposeOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                            Adaptor adaptor, Types &types) {
  RankedTensorType operand = tensorOf(adaptor.getOperand());
  SmallVector<int64_t> shape;
  for (int64_t dim : adaptor.getPermutation()) {
    if (dim < 0 || dim >= operand.getRank())
      return emitOptionalError(loc, "stablehlo.transpose has no dimension ", dim, " in ", operand);
    shape.push_back(operand.getDimSize(dim));
  }
  types.push_back(operand.clone(shape));
  return success();
}

LogicalResult ConcatenateOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                              Adaptor adaptor, Types &types) {
  int64_t dim = adaptor.getDimension();
  if (adaptor.getInputs().empty())
    return emitOptionalError(loc, "stablehlo.concatenate expects at least one operand");
  RankedTensorType first = tensorOf(adaptor.getInputs().front());
  SmallVector<int64_t> shape(first.getShape());
  if (dim >= first.getRank())
    return emitOptionalError(loc, "stablehlo.concatenate has no dimension ", dim, " in ", first);
  shape[dim] = 0;
  for (Value input : adaptor.getInputs()) {
    if (tensorOf(input).getRank() != first.getRank())
      return emitOptionalError(loc, "stablehlo.concatenate expects operands of one rank");
    shape[dim] += tensorOf(input).getDimSize(dim);
  }
  types.push_back(first.clone(shape));
  return success();
}

LogicalResult SliceOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                        Types &types) {
  SmallVector<int64_t> shape;
  for (auto [start, limit, stride] : llvm::zip_first(
           adaptor.getStartIndices(), adaptor.getLimitIndices(), adaptor.getStrides())) {
    if (start < 0 || limit < start || stride < 1)
      return emitOptionalError(loc, "stablehlo.slice has an invalid range ", start, ":", limit, ":",
                               stride);
    shape.push_back((limit - start + stride - 1) / stride);
  }
  types.push_back(tensorOf(adaptor.getOperand()).clone(shape));
  return success();
}

LogicalResult DynamicSliceOp::inferReturnTypes(MLIRContext *, std::optional<Location>,
                                               Adaptor adaptor, Types &types) {
  types.push_back(tensorOf(adaptor.getOperand()).clone(adaptor.getSliceSizes()));
  return success();
}

LogicalResult DynamicUpdateSliceOp::inferReturnTypes(MLIRContext *, std::optional<Location>,
                                                     Adaptor adaptor, Types &types) {
  types.push_back(adaptor.getOperand().getType());
  return success();
}

LogicalResult PadOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                      Types &types) {
  RankedTensorType operand = tensorOf(adaptor.getOperand());
  SmallVector<int64_t> shape;
  for (auto [size, low, high, interior] :
       llvm::zip(operand.getShape(), adaptor.getEdgePaddingLow(), adaptor.getEdgePaddingHigh(),
                 adaptor.getInteriorPadding())) {
    std::optional<int64_t> padded = getPaddedSize(size, low, high, interior);
    if (!padded || *padded < 0)
      return emitOptionalError(loc, "stablehlo.pad pads ", operand,
                               " to a size that is negative or exceeds 64 bits");
    shape.push_back(*padded);
  }
  types.push_back(operand.clone(shape));
  return success();
}

LogicalResult GatherOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                         Adaptor adaptor, Types &types) {
  GatherDimensionNumbersAttr numbers = adaptor.getDimensionNumbers();
  SmallVector<int64_t> batch(tensorOf(adaptor.getStartIndices()).getShape());
  int64_t vectorDim = numbers.getIndexVectorDim();
  if (vectorDim >= 0 && vectorDim < static_cast<int64_t>(batch.size()))
    batch.erase(batch.begin() + vectorDim);
  SmallVector<int64_t> window;
  for (auto [dim, size] : llvm::enumerate(adaptor.getSliceSizes()))
    if (!llvm::is_contained(numbers.getCollapsedSliceDims(), dim) &&
        !llvm::is_contained(numbers.getOperandBatchingDims(), dim))
      window.push_back(size);
  if (window.size() != numbers.getOffsetDims().size())
    return emitOptionalError(loc,
                             "stablehlo.gather expects as many offset_dims as kept slice "
                             "dimensions, got ",
                             numbers.getOffsetDims().size(), " and ", window.size());

  SmallVector<int64_t> shape;
  ArrayRef<int64_t> batchLeft = batch, windowLeft = window;
  for (int64_t dim = 0, rank = batch.size() + window.size(); dim != rank; ++dim) {
    ArrayRef<int64_t> &from =
        llvm::is_contained(numbers.getOffsetDims(), dim) ? windowLeft : batchLeft;
    if (from.empty())
      return emitOptionalError(loc, "stablehlo.gather has offset_dims out of range");
    shape.push_back(from.front());
    from = from.drop_front();
  }
  types.push_back(tensorOf(adaptor.getOperand()).clone(shape));
  return success();
}

//===----------------------------------------------------------------------===//
// Reductions and control flow
//===----------------------------------------------------------------------===//

/// The element types that a body of a reduction works in: those it returns, or
/// those of the initial values while it is not built yet.
static SmallVector<Type> getReducedElements(ValueRange inits, RegionRange regions) {
  Region *body = regions.empty() ? nullptr : regions.front();
  SmallVector<Type> elements;
  if (body && !body->empty() && !body->front().empty())
    for (Type type : body->front().back().getOperandTypes())
      elements.push_back(getElementTypeOrSelf(type));
  if (elements.size() == inits.size())
    return elements;
  return llvm::map_to_vector(inits, [](Value init) { return getElementTypeOrSelf(init); });
}

LogicalResult ReduceOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                         Types &types) {
  SmallVector<Type> elements = getReducedElements(adaptor.getInitValues(), adaptor.getRegions());
  for (auto [input, element] : llvm::zip(adaptor.getInputs(), elements)) {
    SmallVector<int64_t> shape;
    for (auto [dim, size] : llvm::enumerate(tensorOf(input).getShape()))
      if (!llvm::is_contained(adaptor.getDimensions(), dim))
        shape.push_back(size);
    types.push_back(RankedTensorType::get(shape, element));
  }
  return success();
}

LogicalResult ReduceWindowOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                               Adaptor adaptor, Types &types) {
  SmallVector<Window> windows =
      getWindows(adaptor.getWindowDimensions(), adaptor.getWindowStrides(), adaptor.getPadding(),
                 adaptor.getBaseDilations(), adaptor.getWindowDilations());
  SmallVector<Type> elements = getReducedElements(adaptor.getInitValues(), adaptor.getRegions());
  for (auto [input, element] : llvm::zip(adaptor.getInputs(), elements)) {
    SmallVector<int64_t> shape;
    for (auto [size, window] : llvm::zip(tensorOf(input).getShape(), windows)) {
      std::optional<int64_t> count = countWindows(size, window);
      if (!count)
        return emitOptionalError(loc, "stablehlo.reduce_window has windows that are too large");
      shape.push_back(*count);
    }
    types.push_back(RankedTensorType::get(shape, element));
  }
  return success();
}

/// Results are like the operands `values`.
static LogicalResult inferLike(ValueRange values, Types &types) {
  llvm::append_range(types, values.getTypes());
  return success();
}

LogicalResult ScatterOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                          Types &types) {
  return inferLike(adaptor.getInputs(), types);
}

LogicalResult SortOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                       Types &types) {
  return inferLike(adaptor.getInputs(), types);
}

LogicalResult WhileOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                        Types &types) {
  return inferLike(adaptor.getOperand(), types);
}

LogicalResult OptimizationBarrierOp::inferReturnTypes(MLIRContext *, std::optional<Location>,
                                                      Adaptor adaptor, Types &types) {
  return inferLike(adaptor.getOperand(), types);
}

/// The results have the types that the first branch returns.
static LogicalResult inferFromBranch(std::optional<Location> loc, StringRef name,
                                     RegionRange branches, Types &types) {
  if (branches.empty() || branches.front()->empty() || branches.front()->front().empty())
    return emitOptionalError(loc, name, " expects a branch that ends in stablehlo.return");
  llvm::append_range(types, branches.front()->front().back().getOperandTypes());
  return success();
}

LogicalResult IfOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                     Types &types) {
  return inferFromBranch(loc, "stablehlo.if", adaptor.getRegions(), types);
}

LogicalResult CaseOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                       Types &types) {
  return inferFromBranch(loc, "stablehlo.case", adaptor.getRegions(), types);
}

LogicalResult TupleOp::inferReturnTypes(MLIRContext *context, std::optional<Location>,
                                        Adaptor adaptor, Types &types) {
  types.push_back(TupleType::get(context, SmallVector<Type>(adaptor.getVal().getTypes())));
  return success();
}

LogicalResult GetTupleElementOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                                  Adaptor adaptor, Types &types) {
  auto tuple = cast<TupleType>(adaptor.getOperand().getType());
  if (adaptor.getIndex() >= tuple.size())
    return emitOptionalError(loc, "stablehlo.get_tuple_element has no element ", adaptor.getIndex(),
                             " in ", tuple);
  types.push_back(tuple.getType(adaptor.getIndex()));
  return success();
}

//===----------------------------------------------------------------------===//
// Collectives and batch normalization
//===----------------------------------------------------------------------===//

LogicalResult AllReduceOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                            Types &types) {
  return inferLike(adaptor.getOperands(), types);
}

LogicalResult CollectiveBroadcastOp::inferReturnTypes(MLIRContext *, std::optional<Location>,
                                                      Adaptor adaptor, Types &types) {
  return inferLike(adaptor.getOperands(), types);
}

LogicalResult CollectivePermuteOp::inferReturnTypes(MLIRContext *, std::optional<Location>,
                                                    Adaptor adaptor, Types &types) {
  return inferLike(adaptor.getOperands(), types);
}

LogicalResult AllToAllOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                           Adaptor adaptor, Types &types) {
  for (Value operand : adaptor.getOperands()) {
    int64_t rank = tensorOf(operand).getRank(), count = adaptor.getSplitCount();
    int64_t split = adaptor.getSplitDimension(), concat = adaptor.getConcatDimension();
    if (split >= rank || concat >= rank || count < 1)
      return emitOptionalError(loc, "stablehlo.all_to_all has a dimension out of range");
    SmallVector<int64_t> shape(tensorOf(operand).getShape());
    shape[split] /= count;
    shape[concat] *= count;
    types.push_back(tensorOf(operand).clone(shape));
  }
  return success();
}

static LogicalResult inferDeviceId(MLIRContext *context, Types &types) {
  types.push_back(RankedTensorType::get({}, IntegerType::get(context, 32, IntegerType::Unsigned)));
  return success();
}

LogicalResult PartitionIdOp::inferReturnTypes(MLIRContext *context, std::optional<Location>,
                                              Adaptor, Types &types) {
  return inferDeviceId(context, types);
}

LogicalResult ReplicaIdOp::inferReturnTypes(MLIRContext *context, std::optional<Location>, Adaptor,
                                            Types &types) {
  return inferDeviceId(context, types);
}

LogicalResult BatchNormGradOp::inferReturnTypes(MLIRContext *, std::optional<Location>,
                                                Adaptor adaptor, Types &types) {
  return inferLike({adaptor.getOperand(), adaptor.getScale(), adaptor.getScale()}, types);
}

LogicalResult BatchNormInferenceOp::inferReturnTypes(MLIRContext *, std::optional<Location>,
                                                     Adaptor adaptor, Types &types) {
  return inferLike(adaptor.getOperand(), types);
}

LogicalResult BatchNormTrainingOp::inferReturnTypes(MLIRContext *, std::optional<Location>,
                                                    Adaptor adaptor, Types &types) {
  return inferLike({adaptor.getOperand(), adaptor.getScale(), adaptor.getScale()}, types);
}
