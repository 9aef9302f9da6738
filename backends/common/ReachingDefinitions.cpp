#include "backends/common/ReachingDefinitions.h"

#include "dialects/St/Utils/Collectives.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "mlir/IR/OperationSupport.h"

using namespace mlir;
using namespace mlir::st;

Value mlir::st::findDefinition(Value value, llvm::function_ref<Value(ReadOp)> getWritten) {
  while (true) {
    Value from;
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      if (auto kernel = dyn_cast<KernelOp>(argument.getOwner()->getParentOp()))
        from = kernel.getInputs()[argument.getArgNumber()];
    } else if (auto kernel = value.getDefiningOp<KernelOp>()) {
      from = kernel.getBody().front().getTerminator()->getOperand(
          cast<OpResult>(value).getResultNumber());
    } else if (auto read = value.getDefiningOp<ReadOp>()) {
      from = getWritten(read);
    }
    if (!from)
      return value;
    value = from;
  }
}

ReachingDefinitions::ReachingDefinitions(Operation *root) {
  if (auto program = root->getParentOfType<ProgramOp>())
    root = program;
  root->walk([&](ProgramOp program) {
    DenseSet<StringAttr> stashes, written;
    for (auto buffer : program.getOps<mlir::st::BufferOp>())
      if (buffer.isPerMicroBatch())
        stashes.insert(buffer.getSymNameAttr());
    program.walk([&](mlir::st::WriteOp write) {
      StringAttr symbol = write.getTargetAttr().getAttr();
      if (stashes.contains(symbol) && written.insert(symbol).second && !write.getAccumulate())
        writes[{program, symbol}] = write;
      else
        writes.erase({program, symbol});
    });
  });
}

Value ReachingDefinitions::of(Value value) const {
  auto getWritten = [&](ReadOp read) {
    auto program = read->getParentOfType<ProgramOp>();
    mlir::st::WriteOp write = writes.lookup({program, read.getSourceAttr().getAttr()});
    return write ? write.getValue() : Value();
  };
  value = findDefinition(value, getWritten);
  while (auto reshape = value.getDefiningOp<stablehlo::ReshapeOp>())
    value = findDefinition(reshape.getOperand(), getWritten);
  return value;
}

namespace {
/// Compares values and memoises the results: ops of random bits share many operands.
class Comparison {
public:
  explicit Comparison(const ReachingDefinitions &definitions) : definitions(definitions) {}

  bool isSame(Value one, Value other) {
    one = definitions.of(one);
    other = definitions.of(other);
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

  const ReachingDefinitions &definitions;
  DenseMap<std::pair<Value, Value>, bool> known;
};
} // namespace

bool Comparison::compute(Value one, Value other) {
  Operation *a = one.getDefiningOp(), *b = other.getDefiningOp();
  if (!a || !b || a->getName() != b->getName() || one.getType() != other.getType())
    return false;
  if (auto read = dyn_cast<ReadOp>(a)) {
    // Inputs and states of the program are the same for all tasks of a micro-batch.
    auto program = read->getParentOfType<ProgramOp>();
    Operation *source = SymbolTable::lookupNearestSymbolFrom(program, read.getSourceAttr());
    return isa_and_nonnull<InputOp, StateOp>(source) &&
           b->getParentOfType<ProgramOp>() == program &&
           cast<ReadOp>(b).getSourceAttr() == read.getSourceAttr();
  }
  // Each tensor of a collective depends on its own operand.
  if (isCombinableCollective(a))
    return a->getPropertiesAsAttribute() == b->getPropertiesAsAttribute() &&
           isSame(a->getOperand(cast<OpResult>(one).getResultNumber()),
                  b->getOperand(cast<OpResult>(other).getResultNumber()));
  if (a->getNumRegions() != 0 || !isMemoryEffectFree(a) || a->getNumResults() != 1)
    return false;
  return OperationEquivalence::isEquivalentTo(
      a, b, [&](Value x, Value y) { return success(isSame(x, y)); },
      /*markEquivalent=*/nullptr,
      OperationEquivalence::Flags(OperationEquivalence::IgnoreLocations |
                                  OperationEquivalence::IgnoreDiscardableAttrs));
}

bool ReachingDefinitions::areSame(Value one, Value other) const {
  return Comparison(*this).isSame(one, other);
}
