#include "plugins/pjrt/compile/HostSteps.h"

#include "dialects/StableHLO/StableHLOOps.h"
#include "lib/Support/StatusMacros.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"
#include "plugins/pjrt/compile/Ports.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

using namespace mlir;

namespace st::pjrt {

static bool isCallback(Operation *op) {
  auto call = dyn_cast<stablehlo::CustomCallOp>(op);
  return call && call.getCallTargetName() == kHostCallback;
}

static bool hasCallback(Operation *op) {
  return op
      ->walk([](Operation *inner) {
        return isCallback(inner) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

bool callsHost(ModuleOp module) { return hasCallback(module); }

namespace {

class Splitter {
public:
  Splitter(ModuleOp module, const SegmentCompiler &compile) : module(module), compile(compile) {}

  absl::Status split(Block &block, proto::PluginBlock &made);

private:
  absl::Status addProgram(ArrayRef<Operation *> ops, Block &block, proto::PluginBlock &made);
  absl::Status addHostStep(Operation *op, proto::PluginBlock &made);
  OwningOpRef<ModuleOp> createSegment(ArrayRef<Operation *> ops, ArrayRef<Value> inputs,
                                      ArrayRef<Value> outputs);
  int numberOf(Value value) {
    return numbers.try_emplace(value, static_cast<int>(numbers.size())).first->second;
  }

  ModuleOp module;
  const SegmentCompiler &compile;
  DenseMap<Value, int> numbers;
};

} // namespace

/// Returns true for a constant that each program with a user copies: the host does not need it.
static bool isCopied(Operation *op) {
  return isa<stablehlo::ConstantOp>(op) && llvm::none_of(op->getUsers(), [](Operation *user) {
           return user->hasTrait<OpTrait::IsTerminator>() || hasCallback(user);
         });
}

OwningOpRef<ModuleOp> Splitter::createSegment(ArrayRef<Operation *> ops, ArrayRef<Value> inputs,
                                              ArrayRef<Value> outputs) {
  OwningOpRef<ModuleOp> segment(cast<ModuleOp>(module->cloneWithoutRegions()));
  segment->getBodyRegion().emplaceBlock();
  OpBuilder builder(segment->getBodyRegion());
  for (Operation &op : *module.getBody())
    if (auto function = dyn_cast<func::FuncOp>(op); !function || function.getName() != "main")
      builder.clone(op);
  const SmallVector<Type> inputTypes(ValueRange(inputs).getTypes()),
      outputTypes(ValueRange(outputs).getTypes());
  auto function = func::FuncOp::create(builder, module.getLoc(), "main",
                                       builder.getFunctionType(inputTypes, outputTypes));
  function.setPublic();
  Block *body = function.addEntryBlock();
  builder.setInsertionPointToStart(body);
  IRMapping mapping;
  mapping.map(inputs, body->getArguments());
  for (Operation *op : ops)
    builder.clone(*op, mapping);
  SmallVector<Value> results;
  for (Value output : outputs)
    results.push_back(mapping.lookup(output));
  func::ReturnOp::create(builder, module.getLoc(), results);
  return segment;
}

/// Adds a program with ops of a block, unless their results have no other users.
absl::Status Splitter::addProgram(ArrayRef<Operation *> ops, Block &block,
                                  proto::PluginBlock &made) {
  const DenseSet<Operation *> own(ops.begin(), ops.end());
  llvm::SetVector<Value> inputs;
  SmallVector<Value> outputs;
  SmallVector<Operation *> copied;
  const auto addInput = [&](Value value) {
    Operation *source = value.getDefiningOp();
    if (source && (own.contains(block.findAncestorOpInBlock(*source))))
      return;
    if (source && isCopied(source))
      copied.push_back(source);
    else
      inputs.insert(value);
  };
  for (Operation *op : ops) {
    for (Value operand : op->getOperands())
      addInput(operand);
    llvm::SetVector<Value> captured;
    getUsedValuesDefinedAbove(op->getRegions(), captured);
    for (Value value : captured)
      addInput(value);
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUsers(), [&](Operation *user) {
            return !own.contains(block.findAncestorOpInBlock(*user));
          }))
        outputs.push_back(result);
  }
  if (outputs.empty())
    return absl::OkStatus();
  llvm::SetVector<Operation *> all(copied.begin(), copied.end());
  all.insert(ops.begin(), ops.end());
  ST_ASSIGN_OR_RETURN(proto::PluginProgram program,
                      compile(createSegment(all.getArrayRef(), inputs.getArrayRef(), outputs)));
  proto::PluginStep &step = *made.add_steps();
  *step.mutable_program() = std::move(program);
  for (Value input : inputs)
    step.add_inputs(numberOf(input));
  for (Value output : outputs)
    step.add_outputs(numberOf(output));
  return absl::OkStatus();
}

/// Adds a callback, or a loop or a condition with one.
absl::Status Splitter::addHostStep(Operation *op, proto::PluginBlock &made) {
  proto::PluginStep step;
  for (Value operand : op->getOperands())
    step.add_inputs(numberOf(operand));
  for (Value result : op->getResults())
    step.add_outputs(numberOf(result));
  if (auto call = dyn_cast<stablehlo::CustomCallOp>(op)) {
    auto text = dyn_cast_or_null<StringAttr>(call.getBackendConfigAttr());
    int64_t number = 0;
    if (!text || !absl::SimpleAtoi(text.getValue().str(), &number))
      return absl::InvalidArgumentError(
          absl::StrCat(kHostCallback, " has no number in its backend_config"));
    step.mutable_callback()->set_number(number);
    for (Type type : op->getResultTypes())
      ST_RETURN_IF_ERROR(
          addPort(type, "a callback's result", *step.mutable_callback()->add_results()));
  } else if (auto loop = dyn_cast<stablehlo::WhileOp>(op)) {
    ST_RETURN_IF_ERROR(split(loop.getCond().front(), *step.mutable_loop()->mutable_condition()));
    ST_RETURN_IF_ERROR(split(loop.getBody().front(), *step.mutable_loop()->mutable_body()));
  } else if (isa<stablehlo::CaseOp, stablehlo::IfOp>(op)) {
    step.mutable_branches()->set_is_predicate(isa<stablehlo::IfOp>(op));
    for (Region &region : op->getRegions())
      ST_RETURN_IF_ERROR(split(region.front(), *step.mutable_branches()->add_branches()));
  } else {
    return absl::UnimplementedError(
        absl::StrCat("a callback to the host in a region of ", op->getName().getStringRef().str(),
                     "; expected one in a function, a loop or a condition"));
  }
  *made.add_steps() = std::move(step);
  return absl::OkStatus();
}

absl::Status Splitter::split(Block &block, proto::PluginBlock &made) {
  for (Value argument : block.getArguments())
    made.add_arguments(numberOf(argument));
  SmallVector<Operation *> ops;
  const auto flush = [&] {
    absl::Status status = addProgram(ops, block, made);
    ops.clear();
    return status;
  };
  for (Operation &op : block.without_terminator()) {
    if (isCopied(&op))
      continue;
    if (!hasCallback(&op)) {
      ops.push_back(&op);
      continue;
    }
    ST_RETURN_IF_ERROR(flush());
    ST_RETURN_IF_ERROR(addHostStep(&op, made));
  }
  ST_RETURN_IF_ERROR(flush());
  for (Value result : block.getTerminator()->getOperands())
    made.add_results(numberOf(result));
  return absl::OkStatus();
}

absl::Status splitAtCallbacks(ModuleOp module, const SegmentCompiler &compile,
                              proto::PluginBlock &steps) {
  auto function = module.lookupSymbol<func::FuncOp>("main");
  for (Operation &op : *module.getBody())
    if (&op != function && hasCallback(&op))
      return absl::UnimplementedError(
          "a callback to the host in a function that is not called but named by another op");
  return Splitter(module, compile).split(function.front(), steps);
}

} // namespace st::pjrt
