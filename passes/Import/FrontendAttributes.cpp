#include "passes/Import/FrontendAttributes.h"
#include "dialects/St/Interfaces/Notes.h"
#include "passes/Import/CustomCalls.h"

#include "dialects/Sdy/SdyDialect.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "lib/Support/ProgramText.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::st;

static constexpr StringLiteral kAttributes = "mhlo.frontend_attributes",
                               kGspmdSharding = "mhlo.sharding", kSharding = "xla.sdy.sharding",
                               kSdySharding = "sdy.sharding";

/// Parses the sdy attribute in a frontend attribute; fails with a diagnostic at `at`.
template <typename AttrT>
static FailureOr<AttrT> read(Operation *at, DictionaryAttr attributes, StringRef key) {
  auto text = attributes ? attributes.getAs<StringAttr>(key) : StringAttr();
  if (!text)
    return at->emitError("expects a frontend attribute ") << key;
  Attribute parsed;
  if (!::st::findDeepNesting(text.getValue())) {
    // Positions in the attribute's text would not help the user.
    ScopedDiagnosticHandler quiet(at->getContext(), [](Diagnostic &) { return success(); });
    parsed = parseAttribute(text.getValue(), at->getContext());
  }
  if (auto attribute = dyn_cast_or_null<AttrT>(parsed))
    return attribute;
  return at->emitError("frontend attribute ")
         << key << " is " << text << ", expected " << AttrT::name;
}

/// Drops the attributes that have been read.
static DictionaryAttr dropRead(DictionaryAttr attributes) {
  SmallVector<NamedAttribute> left;
  for (NamedAttribute attribute : attributes)
    if (!attribute.getName().strref().starts_with("xla.sdy."))
      left.push_back(attribute);
  return left.empty() ? DictionaryAttr() : DictionaryAttr::get(attributes.getContext(), left);
}

static LogicalResult readMeshes(ModuleOp module, DictionaryAttr attributes) {
  auto meshes = read<DictionaryAttr>(module, attributes, "xla.sdy.meshes");
  if (failed(meshes))
    return failure();
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  for (NamedAttribute named : *meshes) {
    auto mesh = dyn_cast<sdy::MeshAttr>(named.getValue());
    if (!mesh)
      return module.emitError("frontend attribute xla.sdy.meshes has ")
             << named.getValue() << " for " << named.getName() << ", expected a mesh";
    sdy::MeshOp::create(builder, module.getLoc(), named.getName().getValue(), mesh);
  }
  module->removeAttr(kAttributes);
  if (DictionaryAttr left = dropRead(attributes))
    module->setAttr(kAttributes, left);
  return success();
}

/// GSPMD's form of the shardings accompanies sdy's and carries less information.
static LogicalResult readSignature(func::FuncOp function) {
  SmallVector<Attribute> arguments, results;
  auto convert = [&](DictionaryAttr attributes, SmallVectorImpl<Attribute> &into) -> LogicalResult {
    NamedAttrList list(attributes);
    list.erase(kGspmdSharding);
    auto given = dyn_cast_or_null<DictionaryAttr>(list.get(kAttributes));
    if (given && given.contains(kSharding)) {
      auto sharding = read<sdy::TensorShardingAttr>(function, given, kSharding);
      if (failed(sharding))
        return failure();
      list.set(kSdySharding, *sharding);
      list.erase(kAttributes);
      if (DictionaryAttr left = dropRead(given))
        list.set(kAttributes, left);
    }
    into.push_back(list.getDictionary(function.getContext()));
    return success();
  };
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (failed(convert(function.getArgAttrDict(i), arguments)))
      return failure();
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (failed(convert(function.getResultAttrDict(i), results)))
      return failure();
  function.setAllArgAttrs(arguments);
  function.setAllResultAttrs(results);
  return success();
}

static DictionaryAttr attributesOf(Operation *op) {
  return op->getAttrOfType<DictionaryAttr>(kAttributes);
}

static bool isEntry(Operation *op) { return isCallOf(op, "xla.sdy.GlobalToLocalShape"); }

/// The sharding of a custom call on one value.
static FailureOr<sdy::TensorShardingAttr> readSharding(stablehlo::CustomCallOp call) {
  auto shardings = read<sdy::TensorShardingPerValueAttr>(call, attributesOf(call), kSharding);
  if (failed(shardings))
    return failure();
  if (call->getNumOperands() != 1 || call->getNumResults() != 1 ||
      shardings->getShardings().size() != 1)
    return call.emitOpError("expects one operand, one result and one sharding");
  return shardings->getShardings().front();
}

/// Reads a constraint on a value's sharding, or on that of a result.
static LogicalResult readConstraint(stablehlo::CustomCallOp call) {
  FailureOr<sdy::TensorShardingAttr> sharding = readSharding(call);
  if (failed(sharding))
    return failure();
  if (call->getOperand(0).getType() != call->getResult(0).getType())
    return call.emitOpError("changes the type of ") << call->getOperand(0).getType();
  OpBuilder builder(call);
  Value constrained = sdy::ShardingConstraintOp::create(
      builder, call.getLoc(), call->getResult(0).getType(), call->getOperand(0), *sharding);
  call->getResult(0).replaceAllUsesWith(constrained);
  call->erase();
  return success();
}

namespace {
/// The per-shard computation of a @LocalToGlobalShape: the ops that it needs, back to a
/// @GlobalToLocalShape. A computation without operands has none.
struct ShardComputation {
  /// Fails, with a diagnostic, if it needs an outside value.
  LogicalResult collect(stablehlo::CustomCallOp exit);

  stablehlo::CustomCallOp entry;
  /// In block order.
  SmallVector<Operation *> ops;
};
} // namespace

LogicalResult ShardComputation::collect(stablehlo::CustomCallOp exit) {
  llvm::SetVector<Operation *> found;
  SmallVector<Value> needed(exit->getOperands());
  while (!needed.empty()) {
    Value value = needed.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (!op || op->getBlock() != exit->getBlock())
      return exit.emitOpError(
          "uses a value that does not come from an @xla.sdy.GlobalToLocalShape");
    if (isEntry(op)) {
      if (entry && entry != op)
        return withNote(
            withNote(exit.emitOpError("needs values of two @xla.sdy.GlobalToLocalShape"), entry,
                     "one is here"),
            op, "another is here");
      entry = cast<stablehlo::CustomCallOp>(op);
      continue;
    }
    if (!found.insert(op))
      continue;
    llvm::append_range(needed, op->getOperands());
    llvm::SetVector<Value> captured;
    getUsedValuesDefinedAbove(op->getRegions(), captured);
    llvm::append_range(needed, captured);
  }
  ops = found.takeVector();
  llvm::sort(ops, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return success();
}

static LogicalResult readShardComputation(stablehlo::CustomCallOp exit) {
  ShardComputation computation;
  if (failed(computation.collect(exit)))
    return failure();
  MLIRContext *context = exit.getContext();
  auto none = sdy::TensorShardingPerValueAttr::get(context, {});
  stablehlo::CustomCallOp entry = computation.entry;
  auto in = entry ? read<sdy::TensorShardingPerValueAttr>(entry, attributesOf(entry),
                                                          "xla.sdy.in_shardings")
                  : FailureOr(none);
  auto out =
      read<sdy::TensorShardingPerValueAttr>(exit, attributesOf(exit), "xla.sdy.out_shardings");
  auto axes = read<sdy::ManualAxesAttr>(exit, attributesOf(exit), "xla.sdy.manual_axes");
  if (failed(in) || failed(out) || failed(axes))
    return failure();

  OpBuilder builder(exit);
  auto manual = sdy::ManualComputationOp::create(
      builder, exit.getLoc(), exit->getResultTypes(),
      entry ? ValueRange(entry->getOperands()) : ValueRange(), *in, *out, *axes);
  Block *body = builder.createBlock(&manual.getBody());
  IRMapping mapping;
  if (entry)
    for (Value local : entry->getResults())
      mapping.map(local, body->addArgument(local.getType(), entry.getLoc()));
  for (Operation *op : computation.ops)
    builder.clone(*op, mapping);
  SmallVector<Value> results;
  for (Value local : exit->getOperands())
    results.push_back(mapping.lookup(local));
  sdy::ReturnOp::create(builder, exit.getLoc(), results);
  if (failed(verify(manual)))
    return failure();

  exit->replaceAllUsesWith(manual->getResults());
  exit->erase();
  for (Operation *op : llvm::reverse(computation.ops))
    if (op->use_empty())
      op->erase();
  if (entry && entry->use_empty())
    entry->erase();
  return success();
}

/// The number in a frontend attribute of a custom call on one value, below `limit`.
static FailureOr<int64_t> readNumber(stablehlo::CustomCallOp call, StringRef key, int64_t limit) {
  auto number = read<IntegerAttr>(call, attributesOf(call), key);
  if (failed(number))
    return failure();
  int64_t value = number->getValue().getActiveBits() < 63 ? number->getValue().getZExtValue() : -1;
  if (value < 0 || value >= limit)
    return call.emitOpError("has frontend attribute ")
           << key << " of " << *number << ", expected a number from 0 to " << limit - 1;
  if (call->getNumOperands() != 1 || !isa<RankedTensorType>(call->getOperand(0).getType()))
    return call.emitOpError("expects one operand, a tensor");
  return value;
}

static LogicalResult readGroup(stablehlo::CustomCallOp call) {
  constexpr int64_t limit = std::numeric_limits<int64_t>::max();
  FailureOr<int64_t> group = readNumber(call, "xla.sdy.sharding_group_id", limit);
  if (failed(group))
    return failure();
  if (!call->use_empty())
    return withNote(call.emitOpError("has a result that is used, expected none"),
                    *call->user_begin(), "the use is here");
  OpBuilder builder(call);
  sdy::ShardingGroupOp::create(builder, call.getLoc(), call->getOperand(0), *group);
  call->erase();
  return success();
}

static LogicalResult readBarrier(stablehlo::CustomCallOp call) {
  constexpr int64_t limit = sdy::getMaxEnumValForPropagationDirection() + 1;
  FailureOr<int64_t> direction = readNumber(call, "xla.sdy.allowed_direction", limit);
  if (failed(direction))
    return failure();
  if (!llvm::equal(call->getOperandTypes(), call->getResultTypes()))
    return call.emitOpError("changes the type of ") << call->getOperand(0).getType();
  OpBuilder builder(call);
  Value passed = sdy::PropagationBarrierOp::create(builder, call.getLoc(), call->getOperand(0),
                                                   sdy::PropagationDirection(*direction));
  call->getResult(0).replaceAllUsesWith(passed);
  call->erase();
  return success();
}

static LogicalResult readCall(stablehlo::CustomCallOp call) {
  StringRef target = call.getCallTargetName();
  if (target == "Sharding" || target == "xla.sdy.FuncResultSharding")
    return readConstraint(call);
  if (target == "xla.sdy.LocalToGlobalShape")
    return readShardComputation(call);
  if (target == "xla.sdy.ShardingGroup")
    return readGroup(call);
  if (target == "xla.sdy.PropagationBarrier")
    return readBarrier(call);
  return success();
}

LogicalResult mlir::st::readFrontendAttributes(ModuleOp module) {
  auto attributes = attributesOf(module);
  if (!attributes || !attributes.contains("xla.sdy.meshes"))
    return success();
  if (failed(readMeshes(module, attributes)))
    return failure();
  for (auto function : module.getOps<func::FuncOp>())
    if (failed(readSignature(function)))
      return failure();
  // In program order, so that nested per-shard computations come first.
  SmallVector<stablehlo::CustomCallOp> calls;
  module.walk([&](stablehlo::CustomCallOp call) {
    StringRef target = call.getCallTargetName();
    if (target == "Sharding" || (target.starts_with("xla.sdy.") && !isEntry(call)))
      calls.push_back(call);
  });
  for (stablehlo::CustomCallOp call : calls)
    if (failed(readCall(call)))
      return failure();
  return success();
}
