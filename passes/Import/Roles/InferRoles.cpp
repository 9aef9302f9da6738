#include "dialects/St/IR/ModuleFacts.h"
#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/St/IR/Signature.h"
#include "dialects/St/Interfaces/Notes.h"
#include "dialects/St/Sharding/OpSharding.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "passes/Import/Passes.h"
#include "passes/Import/Roles/DonatedState.h"
#include "passes/Import/Roles/RoleOverrides.h"
#include "passes/Import/Roles/StepNames.h"

namespace mlir::st {
#define GEN_PASS_DEF_INFERROLES
#include "passes/Import/Passes.h.inc"
} // namespace mlir::st

using namespace mlir;
using namespace mlir::st;

namespace {
/// The role and the name of one argument or result, as far as they are known.
struct Port {
  std::string role, name;
  /// For optimizer state: the argument of its parameter.
  std::optional<unsigned> of;
};

/// Infers the roles of one signature and records them.
class RoleInference {
public:
  RoleInference(func::FuncOp function, RoleOverrides overrides)
      : function(function), overrides(std::move(overrides)), updates(function),
        arguments(function.getNumArguments()), results(function.getNumResults()) {}

  LogicalResult run();

private:
  void takeOverrides();
  LogicalResult findLoss();
  void findForward();
  void assignStateRoles();
  void tieOptimizerState();
  void assignInputRoles();
  void nameState();
  LogicalResult nameScalar(unsigned argument);
  LogicalResult nameInputs();
  void nameResults();
  ArgumentPath pathOf(unsigned argument) const;
  bool isScale(Value value) const;
  Attribute initOf(unsigned argument);
  void write();
  void writeArgument(unsigned argument, Signature &signature);
  void feedAsFloat(unsigned argument);

  RankedTensorType typeOf(unsigned argument) {
    return cast<RankedTensorType>(function.getArgumentTypes()[argument]);
  }
  /// A function without state is not a training step.
  bool isStep() const {
    return !pairs.empty() ||
           llvm::any_of(arguments, [](const Port &port) { return port.role == "parameter"; });
  }
  bool isState(unsigned argument) const {
    return arguments[argument].role == "parameter" || arguments[argument].role == "optimizer_state";
  }

  func::FuncOp function;
  RoleOverrides overrides;
  ElementwiseUpdates updates;
  SmallVector<Port> arguments, results;
  StatePairs pairs;
  DenseSet<unsigned> stateResults;
  /// Arguments on which the loss depends.
  DenseSet<unsigned> read;
  /// Ops on which the loss depends.
  DenseSet<Operation *> forward;
  NamePool names;
};
} // namespace

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

void RoleInference::takeOverrides() {
  SmallVector<unsigned> alsoState;
  for (auto &[i, given] : overrides.arguments) {
    arguments[i].role = given.role;
    arguments[i].name = given.name;
    if (isState(i))
      alsoState.push_back(i);
  }
  for (auto &[i, given] : overrides.results)
    results[i] = {given.role, given.name, std::nullopt};
  for (auto [argument, result] : findDonatedState(function, updates, alsoState)) {
    // The argument is donated, but the user's role for it is not state, or the result has another
    // role.
    bool isKept = arguments[argument].role.empty() || isState(argument);
    if (!isKept || !results[result].role.empty())
      continue;
    pairs[argument] = result;
    stateResults.insert(result);
  }
}

static bool isFloatScalar(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return tensor.getRank() == 0 && isa<FloatType>(tensor.getElementType());
}

LogicalResult RoleInference::findLoss() {
  if (!isStep())
    return success();
  SmallVector<unsigned> candidates, named;
  for (auto [i, type] : llvm::enumerate(function.getResultTypes())) {
    if (results[i].role == "loss")
      return success();
    if (stateResults.contains(i) || !results[i].role.empty() || !isFloatScalar(type))
      continue;
    candidates.push_back(i);
    ArgumentPath path = pathOfResult(function, i);
    if (!path.empty() && StringRef(path.back()).contains_insensitive("loss"))
      named.push_back(i);
  }
  if (candidates.size() > 1 && named.size() == 1)
    candidates = named;
  if (candidates.size() == 1) {
    results[candidates[0]].role = "loss";
    return success();
  }
  auto error = function.emitError("cannot tell which result is the loss: ");
  if (candidates.empty())
    return error << "no result is a float scalar that replaces no state";
  error << "results ";
  llvm::interleaveComma(candidates, error);
  return error << " are float scalars; give --roles=resultN=loss";
}

void RoleInference::findForward() {
  SmallVector<Value> worklist;
  for (auto [i, value] : llvm::enumerate(function.front().getTerminator()->getOperands()))
    if (results[i].role == "loss")
      worklist.push_back(value);
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    if (auto argument = dyn_cast<BlockArgument>(value))
      read.insert(argument.getArgNumber());
    else if (forward.insert(value.getDefiningOp()).second)
      llvm::append_range(worklist, readsOf(value.getDefiningOp()));
  }
}

void RoleInference::assignStateRoles() {
  for (auto [argument, result] : pairs) {
    std::string &role = arguments[argument].role;
    if (role.empty())
      role = read.contains(argument) && isa<FloatType>(typeOf(argument).getElementType())
                 ? "parameter"
                 : "optimizer_state";
    results[result].role = role;
  }
}

/// A moment takes part in its parameter's update; an average follows its parameter.
void RoleInference::tieOptimizerState() {
  for (auto [state, stateResult] : pairs) {
    if (arguments[state].role != "optimizer_state" || typeOf(state).getRank() == 0)
      continue;
    SmallVector<unsigned> found;
    for (auto [parameter, result] : pairs)
      if (arguments[parameter].role == "parameter" && typeOf(parameter) == typeOf(state) &&
          (updates.reaches(result, state) || updates.reaches(stateResult, parameter)))
        found.push_back(parameter);
    if (!found.empty())
      arguments[state].of = found.front();
  }
}

void RoleInference::assignInputRoles() {
  for (auto [i, port] : llvm::enumerate(arguments)) {
    RankedTensorType type = typeOf(i);
    if (!port.role.empty())
      continue;
    // Only a training run provides random keys.
    bool isKey = isStep() && type.getRank() == 1 && type.getDimSize(0) == 2 &&
                 type.getElementType().isUnsignedInteger(32);
    port.role = isKey ? "key" : type.getRank() == 0 && !pairs.empty() ? "scalar" : "batch";
  }
  for (Port &port : results)
    if (port.role.empty())
      port.role = "metric";
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

/// The path of an argument. State without a path has that of its result.
ArgumentPath RoleInference::pathOf(unsigned argument) const {
  ArgumentPath path = pathOfArgument(function, argument);
  auto pair = pairs.find(argument);
  if (path.empty() && pair != pairs.end())
    path = pathOfResult(function, pair->second);
  return path;
}

void RoleInference::nameState() {
  SmallVector<unsigned> parameters;
  SmallVector<ArgumentPath> paths;
  for (unsigned i = 0; i < arguments.size(); ++i)
    if (arguments[i].role == "parameter") {
      parameters.push_back(i);
      paths.push_back(pathOf(i));
    }
  for (auto [i, name] : llvm::zip_equal(parameters, nameParameters(paths))) {
    std::string &given = arguments[i].name;
    if (given.empty())
      given = name.empty() ? "arg" + std::to_string(i) : name;
    given = names.unique(given);
  }
  for (unsigned i = 0; i < arguments.size(); ++i) {
    Port &port = arguments[i];
    if (port.role != "optimizer_state")
      continue;
    ArgumentPath path = pathOf(i);
    if (port.name.empty() && port.of) {
      std::string suffix = stateSuffix(path, pathOf(*port.of));
      port.name = arguments[*port.of].name + "." + (suffix.empty() ? "state" : suffix);
    }
    if (port.name.empty())
      port.name = path.empty() ? "arg" + std::to_string(i) : joinPath(path);
    port.name = names.unique(port.name);
  }
}

/// The runner provides the learning rate and the step number. The name or the type of a scalar
/// distinguishes them.
LogicalResult RoleInference::nameScalar(unsigned argument) {
  Port &port = arguments[argument];
  ArgumentPath path = pathOf(argument);
  StringRef said =
      port.name.empty() && !path.empty() ? StringRef(path.back()) : StringRef(port.name);
  bool isFloat = isa<FloatType>(typeOf(argument).getElementType());
  bool saysRate = llvm::is_contained({"learning_rate", "lr", "rate", "step_size", "eta"}, said);
  bool saysStep = llvm::is_contained({"step", "count", "iteration", "t", "i"}, said);
  if (!saysRate && !saysStep && !said.empty())
    return function.emitError("argument ")
           << argument << " \"" << said
           << "\" is a scalar that the runner does not provide; give --roles=arg" << argument
           << "=scalar:learning_rate, scalar:step or batch";
  port.name = saysRate || (said.empty() && isFloat) ? "learning_rate" : "step";
  for (unsigned other = 0; other < argument; ++other)
    if (arguments[other].role == "scalar" && arguments[other].name == port.name)
      return withNote(function.emitError("arguments ")
                          << other << " and " << argument << " both match the scalar \""
                          << port.name << "\"; give --roles=arg" << argument
                          << "=scalar:learning_rate or scalar:step",
                      function.getArgument(other), "argument " + Twine(other) + " is here");
  return success();
}

LogicalResult RoleInference::nameInputs() {
  for (unsigned i = 0; i < arguments.size(); ++i) {
    Port &port = arguments[i];
    if (isState(i))
      continue;
    if (port.role == "scalar") {
      if (failed(nameScalar(i)))
        return failure();
      continue;
    }
    ArgumentPath path = pathOf(i);
    if (port.name.empty() && port.role == "key")
      port.name = "rng_key";
    if (port.name.empty() && !path.empty())
      port.name = joinPath(path.size() > 1 ? ArrayRef(path).drop_front() : ArrayRef(path));
    if (port.name.empty())
      port.name = "arg" + std::to_string(i);
    port.name = names.unique(port.name);
  }
  return success();
}

void RoleInference::nameResults() {
  NamePool pool;
  for (auto [argument, result] : pairs)
    results[result].name = pool.unique(arguments[argument].name);
  for (auto [i, port] : llvm::enumerate(results)) {
    if (stateResults.contains(i))
      continue;
    ArgumentPath path = pathOfResult(function, i);
    if (port.name.empty() && port.role == "loss")
      port.name = "loss";
    if (port.name.empty())
      port.name =
          path.empty() || StringRef(path.back()).find_first_not_of("0123456789") == StringRef::npos
              ? "result" + std::to_string(i)
              : path.back();
    port.name = pool.unique(port.name);
  }
}

//===----------------------------------------------------------------------===//
// Writing it down
//===----------------------------------------------------------------------===//

/// Returns true if the forward pass multiplies by the elements of a vector: a scale starts at one,
/// a bias at zero.
bool RoleInference::isScale(Value value) const {
  for (Operation *user : value.getUsers()) {
    if (!forward.contains(user))
      continue;
    if (isa<stablehlo::MulOp>(user))
      return true;
    if (isa<stablehlo::BroadcastInDimOp, stablehlo::ReshapeOp>(user) && isScale(user->getResult(0)))
      return true;
  }
  return false;
}

/// The initial value of state that no checkpoint provides. The program does not specify it;
/// matrices get the initialisation of BERT and GPT-2.
Attribute RoleInference::initOf(unsigned argument) {
  Builder builder(function.getContext());
  auto kind = [&](StringRef name) {
    return builder.getNamedAttr("kind", builder.getStringAttr(name));
  };
  if (arguments[argument].role == "optimizer_state")
    return builder.getDictionaryAttr(kind("zeros"));
  if (typeOf(argument).getRank() > 1)
    return builder.getDictionaryAttr(
        {kind("normal"), builder.getNamedAttr("std", builder.getF64FloatAttr(0.02))});
  return builder.getDictionaryAttr(
      kind(isScale(function.getArgument(argument)) ? "ones" : "zeros"));
}

/// The runner provides scalars as f32.
void RoleInference::feedAsFloat(unsigned argument) {
  BlockArgument value = function.getArgument(argument);
  RankedTensorType type = typeOf(argument);
  auto fed = RankedTensorType::get({}, Float32Type::get(function.getContext()));
  if (type == fed)
    return;
  OpBuilder builder = OpBuilder::atBlockBegin(&function.front());
  value.setType(fed);
  auto convert = stablehlo::ConvertOp::create(builder, value.getLoc(), type, value);
  value.replaceAllUsesExcept(convert, convert);
}

void RoleInference::writeArgument(unsigned i, Signature &signature) {
  Builder builder(function.getContext());
  const Port &port = arguments[i];
  for (StringRef name : {"jax.arg_info", "jax.buffer_donor", "tf.aliasing_output",
                         "mhlo.layout_mode", "mhlo.memory_kind"})
    signature.setArgumentAttr(i, name, nullptr);
  signature.setArgumentAttr(i, kNameAttr, builder.getStringAttr(port.name));
  signature.setArgumentAttr(i, kRoleAttr, builder.getStringAttr(port.role));
  if (port.of)
    signature.setArgumentAttr(i, kOfAttr, builder.getStringAttr(arguments[*port.of].name));
  if (isState(i))
    signature.setArgumentAttr(i, kInitAttr, initOf(i));
  if (auto pair = pairs.find(i); pair != pairs.end())
    signature.setArgumentAttr(i, "tf.aliasing_output", builder.getI32IntegerAttr(pair->second));
  if (port.role == "scalar")
    feedAsFloat(i);
}

void RoleInference::write() {
  Builder builder(function.getContext());
  Signature signature(function);
  for (unsigned i = 0; i < arguments.size(); ++i)
    writeArgument(i, signature);
  for (auto [argument, result] : pairs)
    if (std::optional<unsigned> of = arguments[argument].of)
      signature.setResultAttr(result, kOfAttr, builder.getStringAttr(arguments[*of].name));
  for (auto [i, port] : llvm::enumerate(results)) {
    for (StringRef name : {"jax.result_info", "mhlo.layout_mode", "mhlo.memory_kind"})
      signature.setResultAttr(i, name, nullptr);
    signature.setResultAttr(i, kNameAttr, builder.getStringAttr(port.name));
    signature.setResultAttr(i, kRoleAttr, builder.getStringAttr(port.role));
  }
  signature.write();
}

LogicalResult RoleInference::run() {
  takeOverrides();
  if (failed(findLoss()))
    return failure();
  findForward();
  assignStateRoles();
  tieOptimizerState();
  assignInputRoles();
  nameState();
  if (failed(nameInputs()))
    return failure();
  nameResults();
  write();
  return success();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// The first reason why @main cannot be imported.
static LogicalResult check(ModuleOp module, func::FuncOp function) {
  if (!function || function.isExternal() || !function.getBody().hasOneBlock())
    return module.emitError("expected a function @main with a body of one block");
  for (Type type : llvm::concat<const Type>(function.getArgumentTypes(), function.getResultTypes()))
    if (auto tensor = dyn_cast<RankedTensorType>(type); !tensor || !tensor.hasStaticShape())
      return function.emitError("expected arguments and results of static shape, found ") << type;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto alias = function.getArgAttrOfType<IntegerAttr>(i, "tf.aliasing_output");
    if (!alias)
      continue;
    if (alias.getInt() < 0 || alias.getInt() >= function.getNumResults())
      return function.emitError("argument ")
             << i << " is donated to result " << alias.getInt() << ", expected a result from 0 to "
             << function.getNumResults() - 1;
    Type type = function.getArgumentTypes()[i], result = function.getResultTypes()[alias.getInt()];
    if (type != result)
      return withNote(function.emitError("argument ")
                          << i << " is donated to result " << alias.getInt() << " of type "
                          << result << ", expected " << type,
                      function.getArgument(i), "the argument is here");
  }
  WalkResult walk = function.walk([](func::CallOp call) {
    call.emitOpError("of @") << call.getCallee() << " is not inlined; run simplify first";
    return WalkResult::interrupt();
  });
  return failure(walk.wasInterrupted());
}

/// A function with roles has been imported already, or comes from a front end that sets them.
static constexpr FactContract kContract = {
    {}, FactSet({Fact::Roles, Fact::Optimizer}) | FactSet::from(Fact::Layout)};

namespace {
struct InferRoles : mlir::st::impl::InferRolesBase<InferRoles> {
  using InferRolesBase::InferRolesBase;

  void runOnOperation() override {
    if (failed(checkFacts(getOperation(), getArgument(), kContract)))
      return signalPassFailure();
    auto function = getOperation().lookupSymbol<func::FuncOp>("main");
    if (failed(check(getOperation(), function)))
      return signalPassFailure();
    FailureOr<RoleOverrides> overrides = RoleOverrides::parse(roles, function);
    if (failed(overrides) || failed(RoleInference(function, std::move(*overrides)).run()))
      return signalPassFailure();
  }
};
} // namespace
