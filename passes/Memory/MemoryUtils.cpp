#include "passes/Memory/MemoryUtils.h"
#include "dialects/St/Utils/Collectives.h"
#include "dialects/StableHLO/Sharding/JoinedRuns.h"
#include "dialects/StableHLO/Utils/IterationSpace.h"
#include "dialects/StableHLO/Utils/Splat.h"
#include <numeric>

using namespace mlir;
using namespace mlir::st;

Value mlir::st::getRoot(Value value) { return skipReshapes(value); }

SmallVector<Operation *> mlir::st::getUsersOfRoots(Operation *op) {
  SmallVector<Operation *> users, pending(op->user_begin(), op->user_end());
  while (!pending.empty()) {
    Operation *user = pending.pop_back_val();
    if (isa<stablehlo::ReshapeOp>(user))
      pending.append(user->user_begin(), user->user_end());
    else
      users.push_back(user);
  }
  return users;
}

SmallVector<int64_t> mlir::st::getJoinedOffsets(KernelOp kernel) {
  stablehlo::ConcatenateOp join = stablehlo::findJoinOfRuns(kernel.getBody().front());
  if (!join)
    return {};
  SmallVector<int64_t> offsets;
  int64_t offset = 0;
  for (Value input : join.getInputs()) {
    offsets.push_back(offset);
    offset += getNumBytes(input.getType());
  }
  return offsets;
}

int64_t mlir::st::findFirstUse(Operation *op, llvm::function_ref<int64_t(Operation *)> place,
                               int64_t none) {
  int64_t first = none;
  for (Operation *user : getUsersOfRoots(op)) {
    auto kernel = dyn_cast<KernelOp>(user);
    bool joins = kernel && !getJoinedOffsets(kernel).empty();
    first = std::min(first, joins ? findFirstUse(kernel, place, none) : place(user));
  }
  return first;
}

bool mlir::st::movesOverLinks(Operation *op) { return isCollective(op) || isa<SendOp, RecvOp>(op); }

size_t mlir::st::getFirstNotInTransit(ArrayRef<int64_t> bytes, size_t index) {
  constexpr int64_t kShare = 4;
  int64_t left = std::accumulate(bytes.begin(), bytes.end(), int64_t(0)) / kShare - bytes[index];
  size_t last = index + 1;
  while (last < bytes.size() && left >= bytes[last])
    left -= bytes[last++];
  return last;
}

/// Returns true if a scatter updates the operand in place and reads no other element of it.
static bool isScatteredInto(KernelOp kernel, Value operand) {
  auto scatters = kernel.getBody().getOps<stablehlo::ScatterOp>();
  if (kernel.getKind() != "scatter" || scatters.empty())
    return false;
  auto target = dyn_cast<BlockArgument>(getRoot((*scatters.begin()).getInputs()[0]));
  return target && getRoot(kernel.getInputs()[target.getArgNumber()]) == operand &&
         llvm::count_if(kernel.getInputs(),
                        [&](Value input) { return getRoot(input) == operand; }) == 1;
}

/// Returns true if the operand is only summed into the result.
static bool isSummedInto(AllReduceOp sum, Value operand, OpResult result) {
  return getRoot(sum.getInputs()[result.getResultNumber()]) == operand &&
         llvm::count_if(sum.getInputs(), [&](Value input) { return getRoot(input) == operand; }) ==
             1;
}

/// Returns true if no result of a kernel may share memory with its operands. `st.apart` is the
/// older name of the attribute.
static bool doesNotAlias(KernelOp kernel) {
  return kernel->hasAttr("st.no_alias") || kernel->hasAttr("st.apart");
}

bool mlir::st::readsInPlace(Operation *op, Value operand, OpResult result) {
  if (auto sum = dyn_cast<AllReduceOp>(op))
    return isSummedInto(sum, operand, result);
  auto kernel = dyn_cast<KernelOp>(op);
  if (kernel && isScatteredInto(kernel, operand))
    return true;
  // A product reads epilogue operands tile by tile of its result.
  if (!kernel || (kernel.getKind() != "loop" && kernel.getKind() != "matmul") ||
      doesNotAlias(kernel) || getNumBytes(operand.getType()) != getNumBytes(result.getType()))
    return false;
  int64_t elements = cast<RankedTensorType>(result.getType()).getNumElements();
  for (auto [input, argument] :
       llvm::zip_equal(kernel.getInputs(), kernel.getBody().getArguments())) {
    if (getRoot(input) != operand)
      continue;
    if (cast<RankedTensorType>(argument.getType()).getShape() !=
        cast<RankedTensorType>(result.getType()).getShape())
      return false;
    for (Operation *user : argument.getUsers())
      if (!isElementwise(user) && !isa<YieldOp>(user))
        return false;
  }
  // A loop over more elements would read these elements again.
  return llvm::all_of(kernel.getBody().front(), [&](Operation &inner) {
    return llvm::all_of(inner.getResultTypes(), [&](Type type) {
      return cast<RankedTensorType>(type).getNumElements() <= elements;
    });
  });
}
