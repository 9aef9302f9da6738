// Splits sums of differences from a row's maximum into a sum of numbers and one of multiples.
#include "backends/cuda/codegen/Passes.h"
#include "backends/cuda/codegen/kernels/Geometry.h"
#include "dialects/St/IR/StDialect.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "dialects/StableHLO/Utils/Emitter.h"
#include "dialects/StableHLO/Utils/Reducers.h"
#include "dialects/StableHLO/Utils/Splat.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/SetVector.h"

#include <optional>

namespace mlir::cuda {
#define GEN_PASS_DEF_SEPARATEMAXIMA
#include "backends/cuda/codegen/Passes.h.inc"
} // namespace mlir::cuda

using namespace mlir;
using mlir::st::KernelOp;
namespace hlo = mlir::stablehlo;

namespace {
/// A value that is `numbers` - maximum * `counts` elementwise.
struct Linear {
  Value numbers, counts;
};

/// The body of a kernel and a maximum of its rows.
class MaximumSeparator {
public:
  MaximumSeparator(Block &body, hlo::ReduceOp maximum);

  /// Rewrites a sum of rows that uses the maximum only in differences from it.
  bool separate(hlo::ReduceOp sum);

private:
  bool isLinear(Value value) const;
  Linear split(OpBuilder &builder, Value value);

  Value maximum;
  DenseSet<Value> dependent; ///< on the maximum
};

class SeparateMaximaPass : public mlir::cuda::impl::SeparateMaximaBase<SeparateMaximaPass> {
public:
  using SeparateMaximaBase::SeparateMaximaBase;
  void runOnOperation() override;

private:
  void runOn(Block &body);
};
} // namespace

MaximumSeparator::MaximumSeparator(Block &body, hlo::ReduceOp op) : maximum(op.getResult(0)) {
  dependent.insert(maximum);
  for (Operation &other : body)
    if (llvm::any_of(other.getOperands(),
                     [&](Value operand) { return dependent.contains(operand); }))
      dependent.insert(other.result_begin(), other.result_end());
}

bool MaximumSeparator::isLinear(Value value) const {
  Operation *op = value.getDefiningOp();
  if (auto difference = dyn_cast_or_null<hlo::SubtractOp>(op))
    return !dependent.contains(difference.getLhs()) &&
           mlir::st::skipBroadcasts(difference.getRhs()) == maximum;
  auto select = dyn_cast_or_null<hlo::SelectOp>(op);
  if (!select || dependent.contains(select.getPred()))
    return false;
  auto isPart = [&](Value part) { return !dependent.contains(part) || isLinear(part); };
  return dependent.contains(value) && isPart(select.getOnTrue()) && isPart(select.getOnFalse());
}

Linear MaximumSeparator::split(OpBuilder &builder, Value value) {
  mlir::st::Emitter emit(builder, builder.getBlock(), value.getLoc());
  if (!dependent.contains(value))
    return {value, emit.splatLike(value, 0)};
  if (auto difference = value.getDefiningOp<hlo::SubtractOp>())
    return {difference.getLhs(), emit.splatLike(value, 1)};
  auto select = value.getDefiningOp<hlo::SelectOp>();
  const Linear onTrue = split(builder, select.getOnTrue()),
               onFalse = split(builder, select.getOnFalse());
  return {emit.select(select.getPred(), onTrue.numbers, onFalse.numbers),
          emit.select(select.getPred(), onTrue.counts, onFalse.counts)};
}

/// Erases a value without users, and then its operands if they have none left.
static void eraseUnread(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || !op->use_empty())
    return;
  SmallVector<Value> operands(op->getOperands());
  op->erase();
  for (Value operand : llvm::SetVector<Value>(operands.begin(), operands.end()))
    eraseUnread(operand);
}

bool MaximumSeparator::separate(hlo::ReduceOp sum) {
  Value input = sum.getInputs()[0];
  if (!mlir::st::combinesWith<hlo::AddOp>(sum.getBody()) ||
      !getElementTypeOrSelf(input.getType()).isF32() || !isLinear(input) ||
      dependent.contains(sum.getInitValues()[0]))
    return false;
  OpBuilder builder(sum);
  const Linear linear = split(builder, input);
  auto addUp = [&](Value value) {
    Operation *copy = builder.clone(*sum);
    copy->setOperand(0, value);
    return copy->getResult(0);
  };
  Value numbers = addUp(linear.numbers), counts = addUp(linear.counts);
  mlir::st::Emitter row(builder, builder.getBlock(), sum.getLoc());
  // The maximum may be infinite where no element uses it.
  Value isRead = row.compare(hlo::ComparisonDirection::NE, counts, row.splatLike(counts, 0));
  Value below = row.sub(numbers, row.mul(maximum, counts));
  sum.getResult(0).replaceAllUsesWith(row.select(isRead, below, numbers));
  sum.erase();
  eraseUnread(input);
  return true;
}

/// Returns true if threads load a row again for each reduction that depends on another one.
static bool areRowsReadAgain(Block &body, hlo::ReduceOp maximum) {
  FailureOr<mlir::st::IterationSpace> space = mlir::st::IterationSpace::analyze(body);
  if (failed(space))
    return false;
  space->formGroups();
  const mlir::st::GroupSet reduced =
      space->getGroups(maximum.getInputs()[0]) & ~space->getGroups(maximum.getResult(0));
  const mlir::cuda::Work work =
      mlir::cuda::describeWork(*space, reduced, /*isReduction=*/true, body);
  return work.reducesInnermost && work.kept > 0 && work.reduced > 0 &&
         !mlir::cuda::chooseGeometry(work).isResident;
}

void SeparateMaximaPass::runOn(Block &body) {
  for (auto maximum : llvm::make_early_inc_range(body.getOps<hlo::ReduceOp>())) {
    if (maximum.getInputs().size() != 1 || !mlir::st::combinesWith<hlo::MaxOp>(maximum.getBody()) ||
        !areRowsReadAgain(body, maximum))
      continue;
    MaximumSeparator separator(body, maximum);
    SmallVector<hlo::ReduceOp> sums;
    for (auto sum : body.getOps<hlo::ReduceOp>())
      if (sum.getInputs().size() == 1 && sum.getDimensions() == maximum.getDimensions() &&
          maximum->isBeforeInBlock(sum))
        sums.push_back(sum);
    for (hlo::ReduceOp sum : sums)
      numSeparated += separator.separate(sum);
  }
}

void SeparateMaximaPass::runOnOperation() {
  getOperation()->walk([&](KernelOp kernel) {
    if (kernel.getKind() == "loop" || kernel.getKind() == "reduce")
      runOn(kernel.getBody().front());
  });
}
