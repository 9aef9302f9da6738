#include "backends/cuda/codegen/Origin.h"

#include "dialects/StableHLO/StableHLOOps.h"
#include "mlir/IR/OperationSupport.h"

using namespace mlir;
using namespace mlir::cuda;
using mlir::st::KernelOp;

/// What a stash holds, if one op of the program writes it.
static Value writtenOf(mlir::st::ReadOp read) {
  auto program = read->getParentOfType<mlir::st::ProgramOp>();
  auto buffer =
      program
          ? SymbolTable::lookupNearestSymbolFrom<mlir::st::BufferOp>(program, read.getSourceAttr())
          : nullptr;
  if (!buffer || !buffer.isPerMicroBatch())
    return {};
  mlir::st::WriteOp only;
  bool isOne = true;
  program.walk([&](mlir::st::WriteOp write) {
    if (write.getTargetAttr() != read.getSourceAttr())
      return;
    isOne &= !only && !write.getAccumulate();
    only = write;
  });
  return only && isOne ? only.getValue() : Value();
}

Value mlir::cuda::originOf(Value value, llvm::function_ref<Value(mlir::st::ReadOp)> getWritten) {
  while (true) {
    Value from;
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      if (auto kernel = dyn_cast<KernelOp>(argument.getOwner()->getParentOp()))
        from = kernel.getInputs()[argument.getArgNumber()];
    } else if (auto kernel = value.getDefiningOp<KernelOp>()) {
      from = kernel.getBody().front().getTerminator()->getOperand(
          cast<OpResult>(value).getResultNumber());
    } else if (auto read = value.getDefiningOp<mlir::st::ReadOp>()) {
      from = getWritten(read);
    }
    if (!from)
      return value;
    value = from;
  }
}

Value mlir::cuda::originOf(Value value) {
  value = originOf(value, writtenOf);
  while (auto reshape = value.getDefiningOp<stablehlo::ReshapeOp>())
    value = originOf(reshape.getOperand(), writtenOf);
  return value;
}

namespace {
/// Compares values with a memory: ops of random bits read each other many times.
class Comparison {
public:
  bool isSame(Value one, Value other) {
    one = originOf(one);
    other = originOf(other);
    if (one == other)
      return true;
    auto [found, isNew] = known.try_emplace({one, other}, false);
    if (!isNew)
      return found->second;
    const bool result = compute(one, other);
    known[{one, other}] = result;
    return result;
  }

private:
  bool compute(Value one, Value other);

  DenseMap<std::pair<Value, Value>, bool> known;
};
} // namespace

bool Comparison::compute(Value one, Value other) {
  Operation *a = one.getDefiningOp(), *b = other.getDefiningOp();
  if (!a || !b || a->getName() != b->getName() || one.getType() != other.getType())
    return false;
  if (auto read = dyn_cast<mlir::st::ReadOp>(a)) {
    // Of what the program is given: the same for all tasks of a micro-batch.
    auto program = read->getParentOfType<mlir::st::ProgramOp>();
    Operation *source = SymbolTable::lookupNearestSymbolFrom(program, read.getSourceAttr());
    return isa_and_nonnull<mlir::st::InputOp, mlir::st::StateOp>(source) &&
           b->getParentOfType<mlir::st::ProgramOp>() == program &&
           cast<mlir::st::ReadOp>(b).getSourceAttr() == read.getSourceAttr();
  }
  if (a->getNumRegions() != 0 || !isMemoryEffectFree(a) || a->getNumResults() != 1)
    return false;
  return OperationEquivalence::isEquivalentTo(
      a, b, [&](Value x, Value y) { return success(isSame(x, y)); },
      /*markEquivalent=*/nullptr,
      OperationEquivalence::Flags(OperationEquivalence::IgnoreLocations |
                                  OperationEquivalence::IgnoreDiscardableAttrs));
}

bool mlir::cuda::isSameValue(Value one, Value other) { return Comparison().isSame(one, other); }
