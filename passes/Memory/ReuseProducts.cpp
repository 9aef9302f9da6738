// Keeping what products write in the place of what follows from it element by element.
#include "dialects/StableHLO/StableHLOOps.h"
#include "passes/Memory/MemoryUtils.h"
#include "passes/Memory/StageStash.h"

using namespace mlir;
using namespace mlir::st;
namespace hlo = mlir::stablehlo;

/// Whether a value is a vector, spread along the other dimensions.
static bool isSpreadVector(Value value) {
  while (auto convert = value.getDefiningOp<hlo::ConvertOp>())
    value = convert.getOperand();
  auto spread = value.getDefiningOp<hlo::BroadcastInDimOp>();
  return spread && cast<RankedTensorType>(spread.getOperand().getType()).getRank() <= 1;
}

/// Whether a library of products writes a value as it is: a product of matrices, or one with its
/// bias.
static bool isWrittenByProduct(Value value) {
  if (auto add = value.getDefiningOp<hlo::AddOp>())
    for (auto [product, other] :
         {std::pair(add.getLhs(), add.getRhs()), std::pair(add.getRhs(), add.getLhs())})
      if (product.getDefiningOp<hlo::DotGeneralOp>() && isSpreadVector(other))
        return true;
  return value.getDefiningOp<hlo::DotGeneralOp>() != nullptr;
}

/// Whether each element of an op's result takes a few operations on elements at hand.
static bool isElementwise(Operation *op) {
  return op->hasTrait<OpTrait::Elementwise>() ||
         isa<hlo::BroadcastInDimOp, hlo::ConstantOp, hlo::ConvertOp, hlo::CompareOp, hlo::SelectOp,
             hlo::IotaOp>(op);
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

/// What a value is computed again from, if that is cheap: results of products, kept values, storage
/// and small values.
std::optional<llvm::SetVector<Value>> StageStash::findOrigins(Value value,
                                                              const StashChoice &choice) const {
  constexpr int64_t kSmallPart = 16;
  const int64_t block = forward.getBlock(value.getDefiningOp()),
                bytes = getNumBytes(value.getType());
  llvm::SetVector<Value> origins, seen;
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
    if (current != value &&
        (isInStorage(current) || isKept || isSmall || isWrittenByProduct(current)))
      origins.insert(current);
    else if (!isAllowed(op, block, RecomputeLevel::Cheap) || !isElementwise(op))
      return std::nullopt;
    else
      llvm::append_range(worklist, op->getOperands());
  }
  int64_t read = 0;
  for (Value origin : origins)
    read += getNumBytes(origin.getType());
  if (read > bytes + bytes / kSmallPart)
    return std::nullopt;
  return origins;
}

void StageStash::reuseProducts(StashChoice &choice) const {
  for (int64_t block : forward.getBlocks())
    for (Value value : getStashed(block)) {
      if (choice.dropped.contains(value) || readByWeight.contains(value) || !backward ||
          !forward.isActivation(value) || forward.isReadLater(value) || isWrittenByProduct(value) ||
          isReadByProduct(value))
        continue;
      std::optional<llvm::SetVector<Value>> origins = findOrigins(value, choice);
      if (!origins || llvm::none_of(*origins, isWrittenByProduct))
        continue;
      choice.dropped.insert(value);
      choice.savedBytes += getNumBytes(value.getType());
      for (Value origin : *origins)
        if (!isInStorage(origin) && !stashed.contains(origin) && choice.added.insert(origin))
          choice.savedBytes -= getNumBytes(origin.getType());
      choice.cost += getRecomputeCost(value, [&](Value other) { return origins->contains(other); });
    }
}
