#include "dialects/St/IR/ModuleFacts.h"
#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/St/IR/Signature.h"
#include "dialects/St/IR/StageGroups.h"
#include "dialects/St/Sharding/OpSharding.h"
#include "passes/Partition/Passes.h"
#include "passes/Partition/Stages/StageAnalysis.h"

namespace mlir::st {
#define GEN_PASS_DEF_ASSIGNSTAGES
#include "passes/Partition/Passes.h.inc"
} // namespace mlir::st

using namespace mlir;
using namespace mlir::st;

namespace {
/// Rewrites one function so that each op is computed in the stages of the analysis.
class StageRewriter {
public:
  StageRewriter(func::FuncOp function, const StageAnalysis &analysis, const MeshAxes &axes)
      : function(function), analysis(analysis), axes(axes), builder(function.getContext()) {}

  void run();
  size_t transferCount = 0, cloneCount = 0;

private:
  void copyArguments();
  void placeOp(Operation *op);
  void copyResults();
  void updateDonations();
  void eraseUnused(ArrayRef<Operation *> ops);
  void correctShardings();
  /// The value in a stage: computed there, or transferred to it.
  Value in(int64_t stage, Value value);
  void useIn(int64_t stage, Operation *instance);
  Attribute stageAttr(int64_t stage) { return builder.getI64IntegerAttr(stage); }

  func::FuncOp function;
  const StageAnalysis &analysis;
  const MeshAxes &axes;
  OpBuilder builder;
  /// The replacement of an original value in a stage.
  DenseMap<std::pair<Value, int64_t>, Value> instances;
  /// The copies of each op that several stages compute.
  DenseMap<Operation *, size_t> copies;
  std::vector<SmallVector<Operation *, 1>> copyLists;
  /// The original argument or result, and the stage, of each new one.
  SmallVector<std::pair<unsigned, int64_t>> arguments, results;
};
} // namespace

static void forEachStage(const StageSet &set, function_ref<void(int64_t)> action) {
  for (int stage = set.find_first(); stage >= 0; stage = set.find_next(stage))
    action(stage);
}

//===----------------------------------------------------------------------===//
// Arguments and results
//===----------------------------------------------------------------------===//

/// An argument that several stages use appears once per stage, in consecutive positions.
void StageRewriter::copyArguments() {
  SmallVector<BlockArgument> originals(function.getArguments());
  Signature signature(function);
  for (BlockArgument argument : originals) {
    unsigned old = arguments.empty() ? 0 : arguments.back().first + 1;
    bool isFirst = true;
    forEachStage(analysis.homesOf(argument), [&](int64_t stage) {
      unsigned index = arguments.size();
      arguments.push_back({old, stage});
      BlockArgument instance = argument;
      if (!isFirst)
        instance = signature.insertArgument(index, argument.getType(),
                                            NamedAttrList(signature.getArgumentAttrs(index - 1)),
                                            argument.getLoc());
      isFirst = false;
      signature.setArgumentAttr(index, kStageAttr, stageAttr(stage));
      instances[{argument, stage}] = instance;
    });
  }
  signature.write();
}

void StageRewriter::copyResults() {
  Operation *terminator = function.front().getTerminator();
  SmallVector<Value> originals(terminator->getOperands());
  SmallVector<DictionaryAttr> attributes;
  for (unsigned i = 0; i < originals.size(); ++i)
    attributes.push_back(function.getResultAttrDict(i));
  SmallVector<Value> operands;
  SmallVector<Type> types;
  for (auto [i, value] : llvm::enumerate(originals))
    forEachStage(analysis.stagesOfResult(i), [&, i = i, value = value](int64_t stage) {
      results.push_back({i, stage});
      operands.push_back(in(stage, value));
      types.push_back(value.getType());
    });
  terminator->setOperands(operands);
  function.setType(FunctionType::get(function.getContext(), function.getArgumentTypes(), types));
  SmallVector<Attribute> newAttributes;
  for (auto [old, stage] : results) {
    NamedAttrList list(attributes[old]);
    list.set(kStageAttr, stageAttr(stage));
    newAttributes.push_back(list.getDictionary(function.getContext()));
  }
  function.setAllResultAttrs(newAttributes);
}

/// The result of a stage replaces that stage's copy of an argument.
void StageRewriter::updateDonations() {
  DenseMap<std::pair<unsigned, int64_t>, unsigned> resultOf;
  for (auto [i, entry] : llvm::enumerate(results))
    resultOf[entry] = i;
  Signature signature(function);
  for (auto [i, entry] : llvm::enumerate(arguments)) {
    auto donated =
        dyn_cast_or_null<IntegerAttr>(signature.getArgumentAttr(i, "tf.aliasing_output"));
    if (!donated)
      continue;
    auto it = resultOf.find({static_cast<unsigned>(donated.getInt()), entry.second});
    if (it != resultOf.end())
      signature.setArgumentAttr(i, "tf.aliasing_output", builder.getI32IntegerAttr(it->second));
  }
  signature.write();
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

Value StageRewriter::in(int64_t stage, Value value) {
  auto [it, isNew] = instances.try_emplace({value, stage});
  if (!isNew)
    return it->second;
  int64_t source;
  if (auto argument = dyn_cast<BlockArgument>(value))
    source = analysis.homeFor(argument, stage);
  else
    source = analysis.stagesOf(value.getDefiningOp()).find_first();
  Value instance = instances.lookup({value, source});
  builder.setInsertionPointAfterValue(instance);
  auto transfer =
      TransferOp::create(builder, value.getLoc(), value.getType(), instance, source, stage);
  transfer->setDiscardableAttr(kStageAttr, stageAttr(stage));
  transfer->setDiscardableAttr(kShardingAttr, axes.write(axes.read(instance)));
  ++transferCount;
  instances[{value, stage}] = transfer;
  return transfer;
}

/// Gives an instance of an op the operands of its stage.
void StageRewriter::useIn(int64_t stage, Operation *instance) {
  instance->setDiscardableAttr(kStageAttr, stageAttr(stage));
  instance->walk([&](Operation *nested) {
    for (OpOperand &operand : nested->getOpOperands())
      if (operand.get().getParentBlock() == &function.front())
        operand.set(in(stage, operand.get()));
  });
}

void StageRewriter::placeOp(Operation *op) {
  const StageSet &where = analysis.stagesOf(op);
  SmallVector<std::pair<int64_t, Operation *>> placed;
  Operation *last = op;
  forEachStage(where, [&](int64_t stage) {
    Operation *instance = op;
    if (!placed.empty()) {
      builder.setInsertionPointAfter(last);
      instance = last = builder.clone(*op);
      ++cloneCount;
    }
    placed.push_back({stage, instance});
    for (auto [original, result] : llvm::zip_equal(op->getResults(), instance->getResults()))
      instances[{original, stage}] = result;
  });
  for (auto [stage, instance] : placed)
    useIn(stage, instance);
  if (placed.size() < 2)
    return;
  for (auto [stage, instance] : placed)
    copies[instance] = copyLists.size();
  copyLists.emplace_back(llvm::make_second_range(placed));
}

void StageRewriter::eraseUnused(ArrayRef<Operation *> ops) {
  for (Operation *op : llvm::reverse(ops))
    if (analysis.stagesOf(op).none())
      op->erase();
}

/// Values are reduced before they cross stages. If one operand of a linear op on partial sums now
/// arrives reduced, the op is computed on reduced values instead. The same applies to all copies of
/// the op, because copies of a parameter must get the same bits.
void StageRewriter::correctShardings() {
  DenseMap<Value, SmallVector<Axis, 2>> reduced;
  for (Operation &op : function.front().without_terminator()) {
    if (op.getNumResults() != 1 || op.getNumOperands() == 0)
      continue;
    Value result = op.getResult(0);
    TensorSharding sharding = axes.read(result);
    if (sharding.unreduced.empty())
      continue;
    SmallVector<Axis, 2> lost;
    if (isa<TransferOp>(op)) {
      lost = sharding.unreduced;
    } else {
      ShardingRule rule = getShardingRule(&op);
      for (int64_t i : rule.linearOperands)
        llvm::append_range(lost, reduced.lookup(op.getOperand(i)));
    }
    if (lost.empty())
      continue;
    SmallVector<Operation *, 1> sameOps = {&op};
    if (auto it = copies.find(&op); it != copies.end())
      sameOps = copyLists[it->second];
    for (Operation *copy : sameOps) {
      TensorSharding sharding = axes.read(copy->getResult(0));
      for (Axis axis : lost)
        sharding.dropUnreduced(axis);
      reduced[copy->getResult(0)] = lost;
      copy->setDiscardableAttr(kShardingAttr, axes.write(sharding));
    }
  }
}

void StageRewriter::run() {
  SmallVector<Operation *> ops;
  for (Operation &op : function.front().without_terminator())
    ops.push_back(&op);
  copyArguments();
  for (Operation *op : ops)
    placeOp(op);
  copyResults();
  updateDonations();
  eraseUnused(ops);
  correctShardings();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

static constexpr FactContract kContract = {{Fact::Mesh, Fact::Layout, Fact::Shardings},
                                           FactSet::from(Fact::Stages)};

namespace {
struct AssignStages : mlir::st::impl::AssignStagesBase<AssignStages> {
  using AssignStagesBase::AssignStagesBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (failed(checkFacts(module, getArgument(), kContract)))
      return signalPassFailure();
    auto function = module.lookupSymbol<func::FuncOp>("main");
    auto stages = module->getAttrOfType<IntegerAttr>("st.stages");
    constexpr int64_t largest = 1 << 20; // as in a parallel config
    if (!function || function.isExternal() || !function.getBody().hasOneBlock() || !stages ||
        stages.getInt() < 1 || stages.getInt() > largest) {
      emitError(module.getLoc()) << "expected @main with one block and st.stages from 1 to "
                                 << largest;
      return signalPassFailure();
    }
    MeshAxes axes(getMesh(module));
    StageAnalysis analysis(function, getStageGroups(module), axes);
    if (!analysis.getFault().empty()) {
      emitError(module.getLoc()) << analysis.getFault();
      return signalPassFailure();
    }
    StageRewriter rewriter(function, analysis, axes);
    rewriter.run();
    transfers += rewriter.transferCount;
    clonedOps += rewriter.cloneCount;
  }
};
} // namespace
