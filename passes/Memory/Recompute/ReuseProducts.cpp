// Stashes the results of products, or values with half as many bits, instead of values computed
// from them element by element.
#include "dialects/StableHLO/StableHLOOps.h"
#include "passes/Memory/MemoryUtils.h"
#include "passes/Memory/Recompute/StageStash.h"

using namespace mlir;
using namespace mlir::st;
namespace hlo = mlir::stablehlo;

/// Returns true if a value is a vector broadcast along the other dimensions.
static bool isSpreadVector(Value value) {
  while (auto convert = value.getDefiningOp<hlo::ConvertOp>())
    value = convert.getOperand();
  auto spread = value.getDefiningOp<hlo::BroadcastInDimOp>();
  return spread && cast<RankedTensorType>(spread.getOperand().getType()).getRank() <= 1;
}

/// Returns true if a product library writes the value itself: a matrix product, with or without its
/// bias.
static bool isWrittenByProduct(Value value) {
  if (auto add = value.getDefiningOp<hlo::AddOp>())
    for (auto [product, other] :
         {std::pair(add.getLhs(), add.getRhs()), std::pair(add.getRhs(), add.getLhs())})
      if (product.getDefiningOp<hlo::DotGeneralOp>() && isSpreadVector(other))
        return true;
  return value.getDefiningOp<hlo::DotGeneralOp>() != nullptr;
}

/// Returns true if each element of an op's result needs only a few operations.
static bool isElementwise(Operation *op) {
  return op->hasTrait<OpTrait::Elementwise>() ||
         isa<hlo::BroadcastInDimOp, hlo::ConstantOp, hlo::ConvertOp, hlo::CompareOp, hlo::SelectOp,
             hlo::IotaOp>(op);
}

/// Returns true if a value has 16 bits for each element of another that has 32 or more: a value
/// rounded before ops in f32.
static bool isRounded(Value value, Value wide) {
  auto type = cast<RankedTensorType>(value.getType()),
       wideType = cast<RankedTensorType>(wide.getType());
  return isa<Float16Type, BFloat16Type>(type.getElementType()) &&
         isa<FloatType>(wideType.getElementType()) &&
         type.getNumElements() == wideType.getNumElements() &&
         2 * getNumBytes(type) <= getNumBytes(wideType);
}

bool StageStash::isReadByProduct(Value value) const {
  StringRef symbol = stashed.lookup(value).getTarget();
  bool found = false;
  for (auto read : TaskOp(backward).getBody().front().getOps<ReadOp>()) {
    if (read.getSource() != symbol)
      continue;
    SmallVector<Value> worklist = {read.getResult()};
    while (!worklist.empty())
      for (Operation *user : worklist.pop_back_val().getUsers()) {
        found |= isa<hlo::DotGeneralOp, hlo::ConvolutionOp>(user);
        if (isa<hlo::ReshapeOp, hlo::TransposeOp, hlo::ConvertOp>(user))
          worklist.push_back(user->getResult(0));
      }
  }
  return found;
}

/// The values from which a value is recomputed if that is cheap: product results, values rounded to
/// 16 bits before it, stashed values, storage and small values.
std::optional<llvm::SetVector<Value>> StageStash::findSources(Value value,
                                                              const StashChoice &choice) const {
  constexpr int64_t kSmallPart = 16;
  const int64_t block = forward.getBlock(value.getDefiningOp()),
                bytes = getNumBytes(value.getType());
  llvm::SetVector<Value> sources, seen;
  SmallVector<Value> worklist = {value};
  while (!worklist.empty()) {
    Value current = worklist.pop_back_val();
    if (!seen.insert(current))
      continue;
    Operation *op = current.getDefiningOp();
    const bool isKept = choice.added.contains(current) ||
                        (stashed.contains(current) && !choice.dropped.contains(current));
    const bool isSmall =
        isa<hlo::ReduceOp>(op) && getNumBytes(current.getType()) * kSmallPart <= bytes;
    if (isa<hlo::ConstantOp>(op))
      continue; // valid in any block
    if (current != value &&
        (isInStorage(current) || isKept || isSmall || isWrittenByProduct(current) ||
         (forward.isActivation(current) && isRounded(current, value)))) {
      sources.insert(current);
      continue;
    }
    if (!isAllowed(op, block, RecomputeLevel::Cheap) || !isElementwise(op))
      return std::nullopt;
    llvm::append_range(worklist, op->getOperands());
  }
  int64_t read = 0;
  for (Value source : sources)
    read += getNumBytes(source.getType());
  // Products write their results anyway; another tensor must be smaller than this one.
  const int64_t maximum = llvm::any_of(sources, isWrittenByProduct) ? bytes : bytes / 2;
  if (read > maximum + bytes / kSmallPart)
    return std::nullopt;
  return sources;
}

void StageStash::reuseProducts(StashChoice &choice) const {
  for (int64_t block : forward.getBlocks())
    for (Value value : getStashed(block)) {
      if (choice.dropped.contains(value) || readByWeight.contains(value) || !backward ||
          !forward.isActivation(value) || forward.isReadLater(value) || isWrittenByProduct(value) ||
          isReadByProduct(value))
        continue;
      std::optional<llvm::SetVector<Value>> sources = findSources(value, choice);
      if (!sources || llvm::none_of(*sources, [&](Value source) {
            return isWrittenByProduct(source) || isRounded(source, value);
          }))
        continue;
      choice.dropped.insert(value);
      choice.savedBytes += getNumBytes(value.getType());
      for (Value source : *sources)
        if (!isInStorage(source) && !stashed.contains(source) && choice.added.insert(source))
          choice.savedBytes -= getNumBytes(source.getType());
      choice.cost += getRecomputeCost(value, [&](Value other) { return sources->contains(other); });
    }
}
