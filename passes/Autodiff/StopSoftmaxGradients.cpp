//===- StopSoftmaxGradients.cpp - Maxima that cancel in softmax -----------===//
//
// softmax(x) = exp(x - m) / sum(exp(x - m)) does not depend on m, so the gradient of m is zero.
// Differentiation term by term emits ops that add up to zero, and these prevent the backward pass
// of attention from becoming one kernel.
//
//===----------------------------------------------------------------------===//

#include "dialects/St/IR/ModuleFacts.h"
#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/St/Interfaces/Shapes.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "dialects/StableHLO/Utils/Reducers.h"
#include "dialects/StableHLO/Utils/Splat.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "passes/Autodiff/Passes.h"
#include <set>

namespace mlir::st {
#define GEN_PASS_DEF_STOPSOFTMAXGRADIENTS
#include "passes/Autodiff/Passes.h.inc"
} // namespace mlir::st

using namespace mlir;
using namespace mlir::st;

namespace {
/// The dependence of a value on the maximum m.
enum class Form {
  Shift,   ///< m itself
  Shifted, ///< x - m
  Exp,     ///< exp(x - m): has the factor exp(-m)
  Sum,     ///< sums of Exp: have the same factor
  Inverse, ///< 1 / Sum
  Log      ///< log(Sum): contains -m
};

/// `dims` gives the dimension of m that a dimension of the value runs along, -1 if m is constant
/// along it. Values combine only if they have the same dimensions, else they belong to different
/// rows.
struct Dependence {
  Form form;
  SmallVector<int64_t> dims;
};

/// Follows the uses of one maximum.
class ShiftUses {
public:
  explicit ShiftUses(stablehlo::ReduceOp maximum) : maximum(maximum) {}

  /// Returns true if m cancels in all values that are computed from it.
  bool cancels();

private:
  const Dependence *lookup(Value value) const {
    auto found = dependences.find(value);
    return found == dependences.end() ? nullptr : &found->second;
  }
  bool add(Value value, Form form, ArrayRef<int64_t> dims);
  bool visit(Operation *op);
  bool visitShape(Operation *op, const Dependence &source);
  bool visitReduce(stablehlo::ReduceOp op, const Dependence &source);
  bool visitBinary(Operation *op);
  bool visitSelect(stablehlo::SelectOp op);

  stablehlo::ReduceOp maximum;
  DenseMap<Value, Dependence> dependences;
};
} // namespace

static bool isConstant(Value value) { return matchPattern(skipBroadcasts(value), m_Constant()); }

/// Returns true if a value has one element for each element of m: it is not repeated along rows, so
/// values combined with it cannot vary along them.
static bool isOfRows(Value value, const Dependence &dependence) {
  return llvm::all_of(llvm::zip_equal(shapeOf(value), dependence.dims), [](auto sizeAndDim) {
    auto [size, dim] = sizeAndDim;
    return size == 1 || dim >= 0;
  });
}

bool ShiftUses::add(Value value, Form form, ArrayRef<int64_t> dims) {
  Dependence dependence = {form, llvm::to_vector(dims)};
  for (auto [size, dim] : llvm::zip_equal(shapeOf(value), dependence.dims))
    if (size == 1)
      dim = -1;
  dependences[value] = std::move(dependence);
  return true;
}

/// A reshape may only add and remove dimensions of size 1.
bool ShiftUses::visitShape(Operation *op, const Dependence &source) {
  Value operand = op->getOperand(0), result = op->getResult(0);
  ArrayRef<int64_t> from = shapeOf(operand), to = shapeOf(result);
  SmallVector<int64_t> dims(to.size(), -1);
  if (auto broadcast = dyn_cast<stablehlo::BroadcastInDimOp>(op)) {
    for (auto [i, dim] : llvm::enumerate(broadcast.getBroadcastDimensions()))
      dims[dim] = source.dims[i];
    return add(result, source.form, dims);
  }
  size_t i = 0;
  for (auto [size, dim] : llvm::zip_equal(to, dims)) {
    if (size == 1)
      continue;
    while (i < from.size() && from[i] == 1)
      ++i;
    if (i == from.size() || from[i] != size)
      return false;
    dim = source.dims[i++];
  }
  return add(result, source.form, dims);
}

bool ShiftUses::visitReduce(stablehlo::ReduceOp op, const Dependence &source) {
  if (source.form != Form::Exp || op->getNumResults() != 1 ||
      !isa_and_present<stablehlo::AddOp>(findCombiner(op.getBody())) ||
      !isNeutral(op.getBody(), op.getInitValues()[0]))
    return false;
  SmallVector<int64_t> dims;
  for (auto [i, dim] : llvm::enumerate(source.dims)) {
    if (!llvm::is_contained(op.getDimensions(), static_cast<int64_t>(i)))
      dims.push_back(dim);
    else if (dim >= 0)
      return false; // adds up different rows
  }
  return add(op.getResult(0), Form::Sum, dims);
}

/// m cancels in a result without a recorded dependence.
bool ShiftUses::visitBinary(Operation *op) {
  Value left = op->getOperand(0), right = op->getOperand(1), result = op->getResult(0);
  const Dependence *lhs = lookup(left), *rhs = lookup(right);
  auto are = [&](Form first, Form second) {
    return lhs && rhs && lhs->form == first && rhs->form == second && lhs->dims == rhs->dims;
  };
  if (isa<stablehlo::SubtractOp>(op)) {
    if (!lhs && rhs->form == Form::Shift)
      return add(result, Form::Shifted, SmallVector<int64_t>(rhs->dims));
    return are(Form::Shifted, Form::Log);
  }
  if (isa<stablehlo::DivOp>(op)) {
    if (isConstant(left) && rhs->form == Form::Sum)
      return add(result, Form::Inverse, SmallVector<int64_t>(rhs->dims));
    return are(Form::Exp, Form::Sum);
  }
  if (isa<stablehlo::MulOp>(op))
    return are(Form::Exp, Form::Inverse) || are(Form::Inverse, Form::Exp);
  if (isa<stablehlo::AddOp>(op))
    return are(Form::Log, Form::Shift) || are(Form::Shift, Form::Log);
  // A lower bound, such as minus infinity.
  const Dependence *source = isConstant(right) ? lhs : isConstant(left) ? rhs : nullptr;
  return isa<stablehlo::MaxOp>(op) && source && source->form == Form::Shift &&
         isOfRows(source == lhs ? left : right, *source) &&
         add(result, Form::Shift, SmallVector<int64_t>(source->dims));
}

/// Chooses between the value and a constant: any for m, zero for its exponentials.
bool ShiftUses::visitSelect(stablehlo::SelectOp op) {
  Value chosen = op.getOnTrue(), other = op.getOnFalse();
  if (!lookup(chosen))
    std::swap(chosen, other);
  const Dependence source = *lookup(chosen);
  bool isKept = (source.form == Form::Shift && isConstant(other) && isOfRows(chosen, source)) ||
                (source.form == Form::Exp && getSplat(other) == 0.0);
  return isKept && add(op.getResult(), source.form, source.dims);
}

/// Visits an op with an operand that depends on m.
bool ShiftUses::visit(Operation *op) {
  if (op->getNumResults() == 0 || op->getNumRegions() > (isa<stablehlo::ReduceOp>(op) ? 1u : 0u))
    return false;
  // No gradient flows through integers and Booleans, such as those of `is_finite`.
  if (llvm::none_of(op->getResultTypes(),
                    [](Type type) { return isa<FloatType>(getElementTypeOrSelf(type)); }))
    return true;
  if (op->getNumOperands() == 2 && op->getNumRegions() == 0)
    return visitBinary(op);
  if (auto select = dyn_cast<stablehlo::SelectOp>(op))
    return visitSelect(select);
  const Dependence *found = lookup(op->getOperand(0));
  if (!found)
    return false;
  const Dependence source = *found;
  const bool isOfRows = source.form != Form::Shifted && source.form != Form::Exp;
  if (auto reduce = dyn_cast<stablehlo::ReduceOp>(op))
    return visitReduce(reduce, source);
  if (isa<stablehlo::ConvertOp>(op))
    return add(op->getResult(0), source.form, source.dims);
  if (isa<stablehlo::BroadcastInDimOp, stablehlo::ReshapeOp>(op))
    return isOfRows && visitShape(op, source);
  if (isa<stablehlo::ExpOp>(op))
    return source.form == Form::Shifted && add(op->getResult(0), Form::Exp, source.dims);
  if (isa<stablehlo::LogOp>(op))
    return source.form == Form::Sum && add(op->getResult(0), Form::Log, source.dims);
  return false;
}

bool ShiftUses::cancels() {
  Value result = maximum.getResult(0);
  add(result, Form::Shift, llvm::to_vector(llvm::seq<int64_t>(0, shapeOf(result).size())));
  // Operands are defined before their users, so one pass in order finds all.
  auto isBefore = [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); };
  std::set<Operation *, decltype(isBefore)> waiting(isBefore);
  bool isSummed = false;
  Operation *op = maximum;
  while (true) {
    if (lookup(op->getResult(0)))
      for (Operation *user : op->getResult(0).getUsers()) {
        if (user->getBlock() != maximum->getBlock())
          return false;
        waiting.insert(user);
      }
    if (waiting.empty())
      return isSummed;
    op = *waiting.begin();
    waiting.erase(waiting.begin());
    if (!visit(op))
      return false;
    isSummed |= isa<stablehlo::ReduceOp>(op);
  }
}

static constexpr FactContract kContract = {
    {Fact::Roles},
    FactSet({Fact::Gradients, Fact::Update, Fact::Optimizer}) | FactSet::from(Fact::Layout)};

namespace {
struct StopSoftmaxGradients : mlir::st::impl::StopSoftmaxGradientsBase<StopSoftmaxGradients> {
  void runOnOperation() override {
    if (failed(checkFacts(getOperation(), getArgument(), kContract)))
      return signalPassFailure();
    getOperation().walk([&](stablehlo::ReduceOp op) {
      if (op->getNumResults() != 1 || op->hasAttr(kStopGradientAttr) ||
          !isa_and_present<stablehlo::MaxOp>(findCombiner(op.getBody())) ||
          !ShiftUses(op).cancels())
        return;
      op->setAttr(kStopGradientAttr, UnitAttr::get(&getContext()));
      ++stopped;
    });
  }
};
} // namespace
