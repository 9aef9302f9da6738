// Derives the row sums in the gradient of attention from results of the forward pass.
#include "backends/common/Passes.h"
#include "backends/common/ReachingDefinitions.h"
#include "dialects/St/Utils/KernelParts.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "dialects/StableHLO/Utils/Reducers.h"
#include "dialects/StableHLO/Utils/Splat.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/TypeUtilities.h"

namespace mlir::st {
#define GEN_PASS_DEF_DERIVEROWSUMS
#include "backends/common/Passes.h.inc"
} // namespace mlir::st

using namespace mlir;
using namespace mlir::st;
namespace hlo = mlir::stablehlo;

namespace {
/// Factors of a product of values of one shape; roundings are ignored.
struct Factors {
  double scale = 1;
  SmallVector<Value> values;   ///< factors that vary along rows and columns
  SmallVector<Value> masks;    ///< predicates; the product is 0 where they are false
  SmallVector<Value> divisors; ///< per-row divisors
  bool isKnown = true;

  void add(Value value, const ReachingDefinitions &definitions);
};

/// A sum over the columns of the product of rows and `values`, times further factors.
struct RowSum {
  hlo::ReduceOp op;
  hlo::DotGeneralOp product; ///< of the gradient of the forward result and `values`
  Factors others;
};

/// The product of the rows and `values` that the forward pass computed.
struct Forward {
  Value result;  ///< in the backward task: read, or recomputed before the kernel
  Value divisor; ///< of the rows; null if none
  double scale = 1;
  /// The dimension of the result for each dimension of its gradient.
  SmallVector<int64_t> order;

  bool hasLayoutOfGradient() const { return llvm::is_sorted(order); }
};

class DeriveRowSumsPass : public mlir::st::impl::DeriveRowSumsBase<DeriveRowSumsPass> {
public:
  using DeriveRowSumsBase::DeriveRowSumsBase;
  void runOnOperation() override;

private:
  LogicalResult derive(KernelOp kernel, const ReachingDefinitions &definitions);
};
} // namespace

// ---- factors ------------------------------------------------------------------------------------

/// Returns the operand that a value broadcasts along the last dimension; null for other values.
static Value getOfRow(Value value) {
  auto broadcast = value.getDefiningOp<hlo::BroadcastInDimOp>();
  const int64_t last = cast<RankedTensorType>(value.getType()).getRank() - 1;
  return broadcast && !llvm::is_contained(broadcast.getBroadcastDimensions(), last)
             ? broadcast.getOperand()
             : Value();
}

void Factors::add(Value value, const ReachingDefinitions &definitions) {
  Operation *op = value.getDefiningOp();
  if (std::optional<double> number = getSplat(value)) {
    scale *= *number;
  } else if (auto select = dyn_cast_or_null<hlo::SelectOp>(op);
             select && getSplat(select.getOnFalse()) == 0.0) {
    if (llvm::none_of(masks,
                      [&](Value mask) { return definitions.areSame(mask, select.getPred()); }))
      masks.push_back(select.getPred());
    add(select.getOnTrue(), definitions);
  } else if (isa_and_nonnull<hlo::MulOp>(op)) {
    add(op->getOperand(0), definitions);
    add(op->getOperand(1), definitions);
  } else if (auto convert = dyn_cast_or_null<hlo::ConvertOp>(op);
             convert && isa<FloatType>(getElementTypeOrSelf(convert.getOperand()))) {
    add(convert.getOperand(), definitions);
  } else if (Value row = getOfRow(value)) {
    // Only a reciprocal can be turned into a divisor.
    auto inverse = row.getDefiningOp<hlo::DivOp>();
    isKnown &= inverse && getSplat(inverse.getLhs()) == 1.0;
    if (isKnown)
      divisors.push_back(inverse.getRhs());
  } else if (Value divisor =
                 isa_and_nonnull<hlo::DivOp>(op) ? getOfRow(op->getOperand(1)) : Value()) {
    divisors.push_back(divisor);
    add(op->getOperand(0), definitions);
  } else {
    values.push_back(value);
  }
}

/// Returns true if the two lists have the same values in any order.
static bool areSame(ArrayRef<Value> one, ArrayRef<Value> other,
                    const ReachingDefinitions &definitions) {
  if (one.size() != other.size())
    return false;
  SmallVector<Value> left(other);
  for (Value value : one) {
    auto same =
        llvm::find_if(left, [&](Value candidate) { return definitions.areSame(value, candidate); });
    if (same == left.end())
      return false;
    left.erase(same);
  }
  return true;
}

// ---- matches ------------------------------------------------------------------------------------

static Value getOutside(Value argument) {
  auto kernel = cast<KernelOp>(cast<BlockArgument>(argument).getOwner()->getParentOp());
  return kernel.getInputs()[cast<BlockArgument>(argument).getArgNumber()];
}

/// Matches a sum over a row's columns of a product times further factors.
static std::optional<RowSum> matchRowSum(hlo::ReduceOp op, const ReachingDefinitions &definitions) {
  if (op.getInputs().size() != 1 || !combinesWith<hlo::AddOp>(op.getBody()) ||
      !isNeutral(op.getBody(), op.getInitValues()[0]))
    return std::nullopt;
  Value operand = op.getInputs()[0];
  const int64_t last = cast<RankedTensorType>(operand.getType()).getRank() - 1;
  if (op.getDimensions() != ArrayRef<int64_t>(last) || !getElementTypeOrSelf(operand).isF32())
    return std::nullopt;
  Factors factors;
  factors.add(operand, definitions);
  if (!factors.isKnown || !factors.divisors.empty())
    return std::nullopt;
  for (auto *it = factors.values.begin(); it != factors.values.end(); ++it) {
    auto product = it->getDefiningOp<hlo::DotGeneralOp>();
    if (!product || !isa<BlockArgument>(product.getLhs()) || !isa<BlockArgument>(product.getRhs()))
      continue;
    RowSum found{op, product, factors};
    found.others.values.erase(found.others.values.begin() + (it - factors.values.begin()));
    if (!found.others.values.empty())
      return found;
  }
  return std::nullopt;
}

/// Returns true if the operands' dimensions are in the order of the sums': batches, rows, columns.
static bool isInOrder(hlo::DotGeneralOp dot) {
  auto numbers = dot.getDotDimensionNumbers();
  return numbers.getLhsContractingDimensions().size() == 1 &&
         cast<RankedTensorType>(dot.getType()).getRank() ==
             static_cast<int64_t>(numbers.getLhsBatchingDimensions().size()) + 2;
}

/// The only dimension of a product's right operand that is neither batching nor contracting.
static int64_t getColumnDim(hlo::DotGeneralOp dot) {
  auto numbers = dot.getDotDimensionNumbers();
  int64_t dim = 0;
  while (llvm::is_contained(numbers.getRhsBatchingDimensions(), dim) ||
         llvm::is_contained(numbers.getRhsContractingDimensions(), dim))
    ++dim;
  return dim;
}

/// For each dimension of a product's left operand, the dimension of the forward product: batching
/// dimensions, rows, and columns, which the left operand contracts.
static SmallVector<int64_t> getForwardDims(hlo::DotGeneralOp product) {
  auto numbers = product.getDotDimensionNumbers();
  const ArrayRef<int64_t> batching = numbers.getLhsBatchingDimensions();
  const auto batches = static_cast<int64_t>(batching.size());
  SmallVector<int64_t> dims(batches + 2, batches);
  for (auto [i, dim] : llvm::enumerate(batching))
    dims[dim] = static_cast<int64_t>(i);
  dims[numbers.getLhsContractingDimensions()[0]] = batches + 1;
  return dims;
}

/// Returns a forward value that is the product of the sum's rows, up to divisors of rows, and of
/// the same `values`.
static std::optional<Forward> matchForward(RowSum &sum, Value result,
                                           const ReachingDefinitions &definitions) {
  auto gradient = cast<RankedTensorType>(getOutside(sum.product.getLhs()).getType());
  auto type = dyn_cast<RankedTensorType>(result.getType());
  if (!type || type.getElementType() != gradient.getElementType() ||
      type.getNumElements() != gradient.getNumElements() || type.getRank() != gradient.getRank())
    return std::nullopt;
  Value definition = definitions.of(result);
  SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
  if (auto transpose = definition.getDefiningOp<hlo::TransposeOp>()) {
    order.assign(transpose.getPermutation().begin(), transpose.getPermutation().end());
    definition = definitions.of(transpose.getOperand());
  }
  auto dot = definition.getDefiningOp<hlo::DotGeneralOp>();
  if (!dot || isa<BlockArgument>(dot.getLhs()) || !isInOrder(dot) || !isInOrder(sum.product) ||
      dot.getRhs().getType() != sum.product.getRhs().getType() ||
      cast<RankedTensorType>(dot.getLhs().getType()).getShape() !=
          cast<RankedTensorType>(sum.product.getType()).getShape() ||
      !definitions.areSame(dot.getRhs(), sum.product.getRhs()))
    return std::nullopt;
  // The forward pass contracts the dimension of `values` that is free here, and vice versa.
  auto ours = sum.product.getDotDimensionNumbers(), theirs = dot.getDotDimensionNumbers();
  const int64_t batches = static_cast<int64_t>(ours.getLhsBatchingDimensions().size());
  if (ours.getRhsBatchingDimensions() != theirs.getRhsBatchingDimensions() ||
      theirs.getLhsBatchingDimensions() !=
          ArrayRef(llvm::to_vector(llvm::seq<int64_t>(0, batches))) ||
      theirs.getLhsContractingDimensions() != ArrayRef<int64_t>(batches + 1) ||
      getColumnDim(sum.product) != theirs.getRhsContractingDimensions()[0])
    return std::nullopt;
  // Dimension i of the result is dimension order[i] of the product: batches, rows, columns.
  SmallVector<int64_t> ofGradient;
  for (int64_t dim : getForwardDims(sum.product))
    ofGradient.push_back(llvm::find(order, dim) - order.begin());
  for (auto [dim, from] : llvm::enumerate(ofGradient))
    if (gradient.getDimSize(dim) != type.getDimSize(from))
      return std::nullopt;
  Factors rows;
  rows.add(dot.getLhs(), definitions);
  if (!rows.isKnown || rows.divisors.size() > 1 || rows.scale == 0 ||
      !areSame(rows.masks, sum.others.masks, definitions) ||
      !areSame(rows.values, sum.others.values, definitions) ||
      (!rows.divisors.empty() && rows.divisors[0].getType() != sum.op.getResult(0).getType()))
    return std::nullopt;
  return Forward{result, rows.divisors.empty() ? Value() : rows.divisors[0],
                 sum.others.scale / rows.scale, std::move(ofGradient)};
}

// ---- the kernels --------------------------------------------------------------------------------

/// Sums the gradient times the forward value over their columns, with the layout of `sum`.
static Value emitSums(OpBuilder &builder, KernelOp kernel, RowSum &sum, const Forward &forward) {
  Location loc = sum.op.getLoc();
  Value gradient = getOutside(sum.product.getLhs());
  auto numbers = sum.product.getDotDimensionNumbers();
  const int64_t columns = numbers.getLhsContractingDimensions()[0];
  auto type = cast<RankedTensorType>(gradient.getType());
  Value result = forward.result;
  if (!forward.hasLayoutOfGradient())
    result = makeKernel(
        builder, kernel, "copy", result, type, [&](OpBuilder &inside, ValueRange inputs) -> Value {
          return hlo::TransposeOp::create(inside, loc, type, inputs[0],
                                          inside.getDenseI64ArrayAttr(forward.order));
        });
  auto wide = type.clone(builder.getF32Type());
  SmallVector<int64_t> shape(type.getShape());
  shape.erase(shape.begin() + columns);
  Value sums = makeKernel(
      builder, kernel, "loop", {gradient, result},
      RankedTensorType::get(shape, builder.getF32Type()),
      [&](OpBuilder &inside, ValueRange inputs) {
        auto widen = [&](Value x) -> Value {
          return x.getType() == wide ? x : hlo::ConvertOp::create(inside, loc, wide, x).getResult();
        };
        Value product = hlo::MulOp::create(inside, loc, widen(inputs[0]), widen(inputs[1]));
        IRMapping mapping;
        mapping.map(sum.op.getInputs()[0], product);
        mapping.map(sum.op.getInitValues()[0],
                    inside.clone(*sum.op.getInitValues()[0].getDefiningOp())->getResult(0));
        auto reduce = cast<hlo::ReduceOp>(inside.clone(*sum.op, mapping));
        reduce.setDimensions({columns});
        reduce.getResult(0).setType(RankedTensorType::get(shape, inside.getF32Type()));
        return reduce.getResult(0);
      });
  // Batching dimensions, then rows.
  SmallVector<int64_t> order(numbers.getLhsBatchingDimensions());
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (dim != columns && !llvm::is_contained(numbers.getLhsBatchingDimensions(), dim))
      order.push_back(dim);
  for (int64_t &dim : order)
    dim -= dim > columns;
  auto sumType = cast<RankedTensorType>(sum.op.getResult(0).getType());
  if (!llvm::is_sorted(order))
    sums = makeKernel(builder, kernel, "copy", sums, sumType,
                      [&](OpBuilder &inside, ValueRange inputs) -> Value {
                        return hlo::TransposeOp::create(inside, loc, sumType, inputs[0],
                                                        inside.getDenseI64ArrayAttr(order));
                      });
  if (!forward.divisor && forward.scale == 1)
    return sums;
  SmallVector<Value> inputs{sums};
  if (forward.divisor)
    inputs.push_back(forward.divisor);
  return makeKernel(
      builder, kernel, "loop", inputs, sumType, [&](OpBuilder &inside, ValueRange inputs) -> Value {
        Value scaled = inputs[0];
        if (forward.divisor)
          scaled = hlo::MulOp::create(inside, loc, scaled, inputs[1]);
        if (forward.scale == 1)
          return scaled;
        auto scale = DenseElementsAttr::get(
            sumType, inside.getF32FloatAttr(static_cast<float>(forward.scale)));
        return hlo::MulOp::create(inside, loc, scaled, hlo::ConstantOp::create(inside, loc, scale));
      });
}

/// Returns the values that a task reads or that its kernels compute before the given one. With
/// recomputation, kernels of this task compute the results of the forward pass again.
static SmallVector<Value> getCandidates(KernelOp before) {
  SmallVector<Value> candidates;
  for (Operation &op : *before->getBlock()) {
    if (&op == before)
      break;
    if (isa<ReadOp, KernelOp, hlo::ReshapeOp>(op))
      llvm::append_range(candidates, op.getResults());
  }
  return candidates;
}

/// Returns the first candidate that is the forward value; null if none is.
static Value findCandidate(ArrayRef<Value> candidates, Value value,
                           const ReachingDefinitions &definitions) {
  Value definition = definitions.of(value);
  const auto *found = llvm::find_if(candidates, [&](Value candidate) {
    return candidate.getType() == value.getType() && definitions.of(candidate) == definition;
  });
  return found == candidates.end() ? Value() : *found;
}

/// Returns the forward value for a sum, with its divisor among the candidates. One with the layout
/// of its gradient needs no copy and comes before others.
static std::optional<Forward> findForward(RowSum &sum, ArrayRef<Value> candidates,
                                          const ReachingDefinitions &definitions) {
  std::optional<Forward> found;
  for (Value candidate : candidates) {
    std::optional<Forward> forward = matchForward(sum, candidate, definitions);
    if (!forward)
      continue;
    if (forward->divisor &&
        !(forward->divisor = findCandidate(candidates, forward->divisor, definitions)))
      continue;
    if (forward->hasLayoutOfGradient())
      return forward;
    if (!found)
      found = std::move(forward);
  }
  return found;
}

LogicalResult DeriveRowSumsPass::derive(KernelOp kernel, const ReachingDefinitions &definitions) {
  const SmallVector<Value> candidates = getCandidates(kernel);
  for (auto reduce : kernel.getBody().front().getOps<hlo::ReduceOp>()) {
    std::optional<RowSum> sum = matchRowSum(reduce, definitions);
    std::optional<Forward> forward =
        sum ? findForward(*sum, candidates, definitions) : std::nullopt;
    if (!forward)
      continue;
    if (failed(checkUnplanned(kernel, getArgument())))
      return failure();
    OpBuilder builder(kernel);
    Value created = emitSums(builder, kernel, *sum, *forward);
    splitKernel(kernel, "attention", Cut{reduce.getResult(0), created});
    ++numDerived;
    return success();
  }
  return success();
}

void DeriveRowSumsPass::runOnOperation() {
  SmallVector<KernelOp> kernels;
  getOperation()->walk([&](KernelOp kernel) {
    if (kernel->removeAttr(kKeepsRowSumsAttr) || kernel.getKind() != "attention" ||
        (streamedOnly && !kernel->hasAttr(kStreamedAttr)))
      return;
    kernels.push_back(kernel);
  });
  const ReachingDefinitions definitions(getOperation());
  for (KernelOp kernel : kernels)
    if (failed(derive(kernel, definitions)))
      return signalPassFailure();
}
