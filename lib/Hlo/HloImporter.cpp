#include "lib/Hlo/HloImporter.h"

#include "dialects/StableHLO/ChloOps.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/stubs/logging.h"
#include "google/protobuf/text_format.h"
#include "lib/Hlo/HloTypes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include <climits>

using namespace mlir;
using namespace mlir::st;
namespace hlo = ::st::hlo;
namespace sh = mlir::stablehlo;

/// A few small computations that call each other twice can stand for any number of ops.
static constexpr int64_t kMostOps = 10'000'000, kDeepest = 256;

using Values = SmallVector<Value, 1>;

namespace {
class HloImporter {
public:
  HloImporter(const hlo::Module &module, MLIRContext *context)
      : module(module), context(context), builder(context) {}
  OwningOpRef<ModuleOp> run();

private:
  using Environment = DenseMap<int64_t, Values>;

  InFlightDiagnostic error(const hlo::Instruction &at) {
    return emitError(locationOf(at))
           << "HLO instruction \"" << at.name() << "\" (" << at.opcode() << "): ";
  }
  Location locationOf(const hlo::Instruction &at);
  FailureOr<Values> emitComputation(const hlo::Computation &computation, ValueRange arguments);
  FailureOr<Values> emitInstruction(const hlo::Instruction &at, Environment &values,
                                    ValueRange arguments, const hlo::Computation &in);
  FailureOr<Values> emitOp(const hlo::Instruction &at, ArrayRef<Values> groups);
  LogicalResult addRegions(const hlo::Instruction &at, ArrayRef<Values> groups,
                           OperationState &state);
  LogicalResult addConditional(const hlo::Instruction &at, ArrayRef<Values> groups,
                               OperationState &state);
  FailureOr<Values> takeParameter(const hlo::Instruction &at, ValueRange arguments,
                                  const hlo::Computation &in);
  LogicalResult fillRegion(const hlo::Instruction &at, Region &region, int index,
                           ArrayRef<Type> types, ValueRange captured = {});
  LogicalResult flatten(const hlo::Instruction &at, const hlo::Shape &shape,
                        SmallVectorImpl<Type> &types);
  FailureOr<const hlo::Computation *> called(const hlo::Instruction &at, int index);
  LogicalResult addAttributes(const hlo::Instruction &at, ValueRange operands,
                              OperationState &state);
  LogicalResult buildMain(ModuleOp result, const hlo::Computation &entry);

  const hlo::Module &module;
  MLIRContext *context;
  OpBuilder builder;
  DenseMap<int64_t, const hlo::Computation *> computations;
  int64_t emitted = 0, depth = 0;
};
} // namespace

static ArrayRef<int64_t> toArray(const google::protobuf::RepeatedField<int64_t> &field) {
  return {field.data(), static_cast<size_t>(field.size())};
}

Location HloImporter::locationOf(const hlo::Instruction &at) {
  const std::string &name = at.metadata().op_name();
  if (name.empty())
    return UnknownLoc::get(context);
  return NameLoc::get(StringAttr::get(context, name));
}

//===----------------------------------------------------------------------===//
// Tuples and computations
//===----------------------------------------------------------------------===//

/// The tensors of a shape; tuples of tuples are not there.
LogicalResult HloImporter::flatten(const hlo::Instruction &at, const hlo::Shape &shape,
                                   SmallVectorImpl<Type> &types) {
  auto add = [&](const hlo::Shape &element) -> LogicalResult {
    RankedTensorType type = typeOfShape(element, context);
    if (!type)
      return error(at) << "a shape of element type " << element.element_type()
                       << " cannot be imported";
    types.push_back(type);
    return success();
  };
  if (!isTuple(shape))
    return add(shape);
  for (const hlo::Shape &element : shape.tuple_shapes())
    if (failed(add(element)))
      return failure();
  return success();
}

FailureOr<const hlo::Computation *> HloImporter::called(const hlo::Instruction &at, int index) {
  const hlo::Computation *computation = index < at.called_computation_ids_size()
                                            ? computations.lookup(at.called_computation_ids(index))
                                            : nullptr;
  if (!computation)
    return error(at) << "calls a computation that the module does not have";
  return computation;
}

/// The values that a parameter of the computation stands for.
FailureOr<Values> HloImporter::takeParameter(const hlo::Instruction &at, ValueRange arguments,
                                             const hlo::Computation &in) {
  size_t before = 0;
  SmallVector<Type> types;
  for (const hlo::Instruction &other : in.instructions()) {
    SmallVector<Type> others;
    if (other.opcode() != "parameter" || other.parameter_number() >= at.parameter_number())
      continue;
    if (failed(flatten(other, other.shape(), others)))
      return failure();
    before += others.size();
  }
  if (failed(flatten(at, at.shape(), types)))
    return failure();
  if (before + types.size() > arguments.size() ||
      types != SmallVector<Type>(arguments.slice(before, types.size()).getTypes()))
    return error(at) << "is not what the computation \"" << in.name() << "\" is called with";
  return Values(arguments.slice(before, types.size()));
}

FailureOr<Values> HloImporter::emitComputation(const hlo::Computation &computation,
                                               ValueRange arguments) {
  if (++depth > kDeepest) {
    emitError(UnknownLoc::get(context))
        << "HLO computation \"" << computation.name() << "\": calls nest too deep";
    return failure();
  }
  Environment values;
  for (const hlo::Instruction &instruction : computation.instructions()) {
    if (++emitted > kMostOps)
      return error(instruction) << "the module stands for more than " << kMostOps
                                << " instructions";
    FailureOr<Values> made = emitInstruction(instruction, values, arguments, computation);
    if (failed(made))
      return failure();
    values[instruction.id()] = std::move(*made);
  }
  --depth;
  auto root = values.find(computation.root_id());
  if (root == values.end()) {
    emitError(UnknownLoc::get(context))
        << "HLO computation \"" << computation.name() << "\" has no root";
    return failure();
  }
  return root->second;
}

FailureOr<Values> HloImporter::emitInstruction(const hlo::Instruction &at, Environment &values,
                                               ValueRange arguments, const hlo::Computation &in) {
  Values operands;
  SmallVector<Values> groups;
  for (int64_t id : at.operand_ids()) {
    auto it = values.find(id);
    if (it == values.end())
      return error(at) << "uses instruction " << id << ", which does not stand before it";
    groups.push_back(it->second);
    llvm::append_range(operands, it->second);
  }
  if (at.opcode() == "parameter")
    return takeParameter(at, arguments, in);
  if (at.opcode() == "tuple")
    return operands;
  if (at.opcode() == "get-tuple-element") {
    if (at.tuple_index() < 0 || at.tuple_index() >= static_cast<int64_t>(operands.size()))
      return error(at) << "takes element " << at.tuple_index() << " of " << operands.size();
    return Values{operands[at.tuple_index()]};
  }
  if (at.opcode() == "call") {
    FailureOr<const hlo::Computation *> callee = called(at, 0);
    if (failed(callee))
      return failure();
    return emitComputation(**callee, operands);
  }
  return emitOp(at, groups);
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

/// Opcodes whose op has the same name, or another one.
static StringRef opNameOf(StringRef opcode) {
  static const llvm::StringMap<StringRef> others = {{"dot", "dot_general"},
                                                    {"broadcast", "broadcast_in_dim"},
                                                    {"conditional", "case"},
                                                    {"erf", "erf"},
                                                    {"opt-barrier", "optimization_barrier"}};
  static const llvm::StringSet<> same = {"abs",
                                         "add",
                                         "and",
                                         "atan2",
                                         "bitcast-convert",
                                         "cbrt",
                                         "ceil",
                                         "clamp",
                                         "compare",
                                         "concatenate",
                                         "constant",
                                         "convert",
                                         "cosine",
                                         "count-leading-zeros",
                                         "divide",
                                         "dynamic-slice",
                                         "dynamic-update-slice",
                                         "exponential",
                                         "exponential-minus-one",
                                         "floor",
                                         "gather",
                                         "iota",
                                         "is-finite",
                                         "log",
                                         "log-plus-one",
                                         "logistic",
                                         "maximum",
                                         "minimum",
                                         "multiply",
                                         "negate",
                                         "not",
                                         "or",
                                         "pad",
                                         "popcnt",
                                         "power",
                                         "reduce",
                                         "remainder",
                                         "reshape",
                                         "reverse",
                                         "round-nearest-afz",
                                         "round-nearest-even",
                                         "rsqrt",
                                         "scatter",
                                         "select",
                                         "shift-left",
                                         "shift-right-arithmetic",
                                         "shift-right-logical",
                                         "sign",
                                         "sine",
                                         "slice",
                                         "sort",
                                         "sqrt",
                                         "subtract",
                                         "tan",
                                         "tanh",
                                         "transpose",
                                         "while",
                                         "xor"};
  if (auto it = others.find(opcode); it != others.end())
    return it->second;
  return same.contains(opcode) ? opcode : StringRef();
}

LogicalResult HloImporter::addAttributes(const hlo::Instruction &at, ValueRange operands,
                                         OperationState &state) {
  StringRef opcode = at.opcode();
  auto dims = [&](StringRef name, ArrayRef<int64_t> values) {
    state.addAttribute(name, builder.getDenseI64ArrayAttr(values));
  };
  auto number = [&](StringRef name) -> LogicalResult {
    if (at.dimensions_size() != 1)
      return error(at) << "has " << at.dimensions_size() << " dimensions, expected one";
    state.addAttribute(name, builder.getI64IntegerAttr(at.dimensions(0)));
    return success();
  };
  if (opcode == "broadcast")
    dims("broadcast_dimensions", toArray(at.dimensions()));
  else if (opcode == "transpose")
    dims("permutation", toArray(at.dimensions()));
  else if (opcode == "reverse" || opcode == "reduce")
    dims("dimensions", toArray(at.dimensions()));
  else if (opcode == "dynamic-slice")
    dims("slice_sizes", toArray(at.dynamic_slice_sizes()));
  else if (opcode == "concatenate" || opcode == "sort")
    return number("dimension");
  else if (opcode == "iota")
    return number("iota_dimension");
  if (opcode == "sort")
    state.addAttribute("is_stable", builder.getBoolAttr(at.is_stable()));
  if (opcode == "slice") {
    SmallVector<int64_t> starts, limits, strides;
    for (const hlo::SliceDimensions &slice : at.slice_dimensions()) {
      starts.push_back(slice.start());
      limits.push_back(slice.limit());
      strides.push_back(slice.stride());
    }
    dims("start_indices", starts);
    dims("limit_indices", limits);
    dims("strides", strides);
  } else if (opcode == "pad") {
    SmallVector<int64_t> low, high, interior;
    for (const hlo::PaddingConfig::Dimension &padding : at.padding_config().dimensions()) {
      low.push_back(padding.low());
      high.push_back(padding.high());
      interior.push_back(padding.interior());
    }
    dims("edge_padding_low", low);
    dims("edge_padding_high", high);
    dims("interior_padding", interior);
  } else if (opcode == "constant") {
    DenseElementsAttr elements = elementsOfLiteral(at.literal(), context);
    if (!elements || state.types.size() != 1 || elements.getType() != state.types[0])
      return error(at) << "its literal does not fit its shape";
    state.addAttribute("value", elements);
  } else if (opcode == "dot") {
    const hlo::DotDimensionNumbers &dot = at.dot_dimension_numbers();
    state.addAttribute("dot_dimension_numbers",
                       sh::DotDimensionNumbersAttr::get(
                           context, toArray(dot.lhs_batch()), toArray(dot.rhs_batch()),
                           toArray(dot.lhs_contracting()), toArray(dot.rhs_contracting())));
  } else if (opcode == "gather") {
    const hlo::GatherDimensionNumbers &gather = at.gather_dimension_numbers();
    state.addAttribute(
        "dimension_numbers",
        sh::GatherDimensionNumbersAttr::get(
            context, toArray(gather.offset_dims()), toArray(gather.collapsed_slice_dims()),
            toArray(gather.operand_batching_dims()), toArray(gather.start_indices_batching_dims()),
            toArray(gather.start_index_map()), gather.index_vector_dim()));
    dims("slice_sizes", toArray(at.gather_slice_sizes()));
    state.addAttribute("indices_are_sorted", builder.getBoolAttr(at.indices_are_sorted()));
  } else if (opcode == "scatter") {
    const hlo::ScatterDimensionNumbers &scatter = at.scatter_dimension_numbers();
    state.addAttribute(
        "scatter_dimension_numbers",
        sh::ScatterDimensionNumbersAttr::get(
            context, toArray(scatter.update_window_dims()), toArray(scatter.inserted_window_dims()),
            toArray(scatter.input_batching_dims()),
            toArray(scatter.scatter_indices_batching_dims()),
            toArray(scatter.scatter_dims_to_operand_dims()), scatter.index_vector_dim()));
    state.addAttribute("indices_are_sorted", builder.getBoolAttr(at.indices_are_sorted()));
    state.addAttribute("unique_indices", builder.getBoolAttr(at.unique_indices()));
  } else if (opcode == "compare") {
    auto direction = sh::symbolizeComparisonDirection(at.comparison_direction());
    if (!direction || operands.empty())
      return error(at) << "unknown comparison \"" << at.comparison_direction() << "\"";
    state.addAttribute("comparison_direction",
                       sh::ComparisonDirectionAttr::get(context, *direction));
    if (auto type = sh::symbolizeComparisonType(at.comparison_type()))
      state.addAttribute("compare_type", sh::ComparisonTypeAttr::get(context, *type));
  }
  return success();
}

FailureOr<Values> HloImporter::emitOp(const hlo::Instruction &at, ArrayRef<Values> groups) {
  StringRef op = opNameOf(at.opcode());
  if (op.empty()) {
    auto diagnostic = error(at) << "cannot be imported";
    if (!at.custom_call_target().empty())
      diagnostic << " (target \"" << at.custom_call_target() << "\")";
    return diagnostic;
  }
  Values operands;
  for (const Values &group : groups)
    llvm::append_range(operands, group);
  std::string name = op == "erf" ? "chlo.erf" : "stablehlo." + op.str();
  std::replace(name.begin(), name.end(), '-', '_');
  SmallVector<Type> types;
  if (failed(flatten(at, at.shape(), types)))
    return failure();
  OperationState state(locationOf(at), name, operands, types);
  if (failed(addAttributes(at, operands, state)) || failed(addRegions(at, groups, state)))
    return failure();
  return Values(builder.create(state)->getResults());
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

/// Fills a region with a called computation, whose arguments are the block's, of
/// `types`, or what the region captures.
LogicalResult HloImporter::fillRegion(const hlo::Instruction &at, Region &region, int index,
                                      ArrayRef<Type> types, ValueRange captured) {
  FailureOr<const hlo::Computation *> computation = called(at, index);
  if (failed(computation))
    return failure();
  OpBuilder::InsertionGuard guard(builder);
  SmallVector<Location> locations(types.size(), locationOf(at));
  Block *block = builder.createBlock(&region, region.end(), types, locations);
  FailureOr<Values> results = emitComputation(
      **computation, captured.empty() ? ValueRange(block->getArguments()) : captured);
  if (failed(results))
    return failure();
  sh::ReturnOp::create(builder, locationOf(at), *results);
  return success();
}

/// The type of one element.
static Type scalarOf(Value value) {
  return RankedTensorType::get({}, cast<RankedTensorType>(value.getType()).getElementType());
}

LogicalResult HloImporter::addRegions(const hlo::Instruction &at, ArrayRef<Values> groups,
                                      OperationState &state) {
  StringRef opcode = at.opcode();
  SmallVector<Type> scalars;
  if (opcode == "reduce" || opcode == "scatter") {
    for (size_t i = 0; i < state.types.size() && i < state.operands.size(); ++i)
      scalars.push_back(scalarOf(state.operands[i]));
    scalars.append(SmallVector<Type>(scalars));
    return fillRegion(at, *state.addRegion(), 0, scalars);
  }
  if (opcode == "sort") {
    for (Value operand : state.operands)
      scalars.append(2, scalarOf(operand));
    return fillRegion(at, *state.addRegion(), 0, scalars);
  }
  if (opcode == "while") {
    // The body stands first in HLO, the condition in StableHLO.
    Region *condition = state.addRegion(), *body = state.addRegion();
    return success(succeeded(fillRegion(at, *condition, 1, state.types)) &&
                   succeeded(fillRegion(at, *body, 0, state.types)));
  }
  return opcode == "conditional" ? addConditional(at, groups, state) : success();
}

/// A branch has its operand, a tensor or a tuple, behind the predicate or index.
LogicalResult HloImporter::addConditional(const hlo::Instruction &at, ArrayRef<Values> groups,
                                          OperationState &state) {
  int branches = at.called_computation_ids_size();
  if (static_cast<int>(groups.size()) != branches + 1 || groups[0].size() != 1)
    return error(at) << "has " << groups.size() << " operands for " << branches << " branches";
  bool isPredicate = getElementTypeOrSelf(groups[0][0].getType()).isInteger(1);
  if (isPredicate && branches != 2)
    return error(at) << "has " << branches << " branches for a predicate";
  state.name = OperationName(isPredicate ? "stablehlo.if" : "stablehlo.case", context);
  state.operands.assign({groups[0][0]});
  for (int i = 0; i < branches; ++i)
    if (failed(fillRegion(at, *state.addRegion(), i, {}, groups[i + 1])))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// @main
//===----------------------------------------------------------------------===//

LogicalResult HloImporter::buildMain(ModuleOp result, const hlo::Computation &entry) {
  SmallVector<const hlo::Instruction *> parameters;
  for (const hlo::Instruction &instruction : entry.instructions())
    if (instruction.opcode() == "parameter")
      parameters.push_back(&instruction);
  llvm::sort(parameters,
             [](auto *a, auto *b) { return a->parameter_number() < b->parameter_number(); });
  SmallVector<Type> types;
  SmallVector<Location> locations;
  for (const hlo::Instruction *parameter : parameters) {
    if (failed(flatten(*parameter, parameter->shape(), types)))
      return failure();
    locations.resize(types.size(), locationOf(*parameter));
  }
  builder.setInsertionPointToEnd(result.getBody());
  auto function =
      func::FuncOp::create(builder, result.getLoc(), "main", builder.getFunctionType(types, {}));
  Block *block = builder.createBlock(&function.getBody(), {}, types, locations);
  FailureOr<Values> results = emitComputation(entry, block->getArguments());
  if (failed(results))
    return failure();
  func::ReturnOp::create(builder, result.getLoc(), *results);
  function.setType(builder.getFunctionType(types, ValueRange(*results).getTypes()));
  // Of tuples as parameters or of tuples in results there is no such alias.
  for (const hlo::InputOutputAlias::Entry &alias : module.input_output_alias().entries()) {
    bool isFlat = alias.parameter_shape_index().empty() && alias.output_shape_index_size() <= 1 &&
                  parameters.size() == types.size();
    int64_t output = alias.output_shape_index_size() == 1 ? alias.output_shape_index(0) : 0;
    if (!isFlat || alias.parameter_number() < 0 ||
        alias.parameter_number() >= static_cast<int64_t>(types.size()) || output < 0 ||
        output >= static_cast<int64_t>(results->size()))
      return result.emitError("HLO module \"")
             << module.name() << "\": an alias of parameter " << alias.parameter_number()
             << " that cannot be imported";
    function.setArgAttr(alias.parameter_number(), "tf.aliasing_output",
                        builder.getI32IntegerAttr(static_cast<int32_t>(output)));
  }
  return success();
}

OwningOpRef<ModuleOp> HloImporter::run() {
  OwningOpRef<ModuleOp> result = ModuleOp::create(UnknownLoc::get(context));
  const hlo::Computation *entry = nullptr;
  for (const hlo::Computation &computation : module.computations()) {
    computations[computation.id()] = &computation;
    bool isEntry = module.entry_id() ? computation.id() == module.entry_id()
                                     : computation.name() == module.entry_name();
    if (isEntry)
      entry = &computation;
  }
  if (!entry) {
    result->emitError("HLO module \"") << module.name() << "\" has no entry computation";
    return nullptr;
  }
  if (failed(buildMain(*result, *entry)) || failed(verify(*result)))
    return nullptr;
  return result;
}

OwningOpRef<ModuleOp> mlir::st::importHloModule(const hlo::Module &module, MLIRContext *context) {
  context->loadDialect<func::FuncDialect, chlo::ChloDialect, sh::StableHLODialect>();
  return HloImporter(module, context).run();
}

/// The error of a text that is no proto.
namespace {
class FirstError : public google::protobuf::io::ErrorCollector {
public:
  void AddError(int line, int column, const std::string &message) override {
    if (text.empty())
      text = (Twine(line + 1) + ":" + Twine(column + 1) + ": " + message).str();
  }
  std::string text;
};
} // namespace

std::unique_ptr<hlo::Module> mlir::st::parseHloModule(StringRef bytes, StringRef name,
                                                      MLIRContext *context) {
  auto parsed = std::make_unique<hlo::Module>();
  google::protobuf::LogSilencer silencer; // the error is one line, and it is ours
  if (bytes.size() <= INT_MAX &&
      parsed->ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) &&
      parsed->computations_size() > 0)
    return parsed;
  parsed->Clear();
  FirstError error;
  google::protobuf::TextFormat::Parser parser;
  parser.AllowUnknownField(true);
  constexpr int deepest = 100; // what the binary form allows
  parser.SetRecursionLimit(deepest);
  parser.RecordErrorsTo(&error);
  if (parser.ParseFromString(bytes.str(), parsed.get()) && parsed->computations_size() > 0)
    return parsed;
  emitError(FileLineColLoc::get(context, name, 0, 0))
      << "neither a binary HloModuleProto nor its text form"
      << (error.text.empty() ? "" : " (" + error.text + ")");
  return nullptr;
}
