#include "lib/Hlo/HloImporter.h"

#include "dialects/StableHLO/ChloOps.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "lib/Hlo/HloToStableHlo.h"
#include "lib/Hlo/HloTypes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace mlir::st;
namespace hlo = ::st::hlo;
namespace sh = mlir::stablehlo;

/// A few small computations that call each other twice can expand to any number of ops.
static constexpr int64_t kMaxOps = 2'000'000, kDeepest = 256;

Location HloToStableHlo::locationOf(const hlo::Instruction &at) {
  const std::string &name = at.metadata().op_name();
  if (name.empty())
    return UnknownLoc::get(context);
  return NameLoc::get(StringAttr::get(context, name));
}

//===----------------------------------------------------------------------===//
// Tuples
//===----------------------------------------------------------------------===//

/// The tensors of a shape; tuples are flattened in order.
LogicalResult HloToStableHlo::flatten(const hlo::Instruction &at, const hlo::Shape &shape,
                                      SmallVectorImpl<Type> &types) {
  if (isTuple(shape)) {
    if (++shapeDepth > kDeepest)
      return error(at) << "its tuples nest too deep";
    for (const hlo::Shape &element : shape.tuple_shapes())
      if (failed(flatten(at, element, types)))
        return failure();
    --shapeDepth;
    return success();
  }
  RankedTensorType type = typeOfShape(shape, context);
  if (!type)
    return error(at) << "a shape of element type " << shape.element_type() << " cannot be imported";
  if (++emitted > kMaxOps)
    return error(at) << "the module expands to more than " << kMaxOps << " values";
  types.push_back(type);
  return success();
}

FailureOr<HloValues> HloToStableHlo::takeElement(const hlo::Instruction &at,
                                                 const HloResult &tuple) {
  int elements = isTuple(*tuple.shape) ? tuple.shape->tuple_shapes_size() : 0;
  if (at.tuple_index() < 0 || at.tuple_index() >= elements)
    return error(at) << "takes element " << at.tuple_index() << " of " << elements;
  SmallVector<Type> before;
  for (int i = 0; i < at.tuple_index(); ++i)
    if (failed(flatten(at, tuple.shape->tuple_shapes(i), before)))
      return failure();
  SmallVector<Type> types;
  if (failed(flatten(at, tuple.shape->tuple_shapes(static_cast<int>(at.tuple_index())), types)))
    return failure();
  return HloValues(ArrayRef<Value>(tuple.values).slice(before.size(), types.size()));
}

//===----------------------------------------------------------------------===//
// Computations
//===----------------------------------------------------------------------===//

FailureOr<const hlo::Computation *> HloToStableHlo::called(const hlo::Instruction &at, int index) {
  auto found = index < at.called_computation_ids_size()
                   ? computations.find(at.called_computation_ids(index))
                   : computations.end();
  if (found == computations.end())
    return error(at) << "calls a computation that the module does not have";
  return found->second;
}

static SmallVector<const hlo::Instruction *> parametersOf(const hlo::Computation &computation) {
  SmallVector<const hlo::Instruction *> parameters;
  for (const hlo::Instruction &instruction : computation.instructions())
    if (instruction.opcode() == "parameter")
      parameters.push_back(&instruction);
  llvm::sort(parameters,
             [](auto *a, auto *b) { return a->parameter_number() < b->parameter_number(); });
  return parameters;
}

/// Binds each parameter of a computation to its arguments.
LogicalResult HloToStableHlo::bindParameters(const hlo::Computation &computation,
                                             ValueRange arguments, Environment &values) {
  size_t taken = 0;
  for (auto [i, parameter] : llvm::enumerate(parametersOf(computation))) {
    SmallVector<Type> types;
    if (parameter->parameter_number() != static_cast<int64_t>(i))
      return error(*parameter) << "has number " << parameter->parameter_number() << ", expected "
                               << i;
    if (failed(flatten(*parameter, parameter->shape(), types)))
      return failure();
    if (taken + types.size() > arguments.size() ||
        types != SmallVector<Type>(arguments.slice(taken, types.size()).getTypes()))
      return error(*parameter) << "differs from the operands with which the computation \""
                               << computation.name() << "\" is called";
    values[parameter->id()] = {HloValues(arguments.slice(taken, types.size())),
                               &parameter->shape()};
    taken += types.size();
  }
  return success();
}

FailureOr<HloValues> HloToStableHlo::emitComputation(const hlo::Computation &computation,
                                                     ValueRange arguments) {
  auto fail = [&](const Twine &why) -> FailureOr<HloValues> {
    emitError(UnknownLoc::get(context))
        << "HLO computation \"" << computation.name() << "\"" << why;
    return failure();
  };
  if (++depth > kDeepest)
    return fail(": calls nest too deep");
  Environment values;
  if (failed(bindParameters(computation, arguments, values)))
    return failure();
  for (const hlo::Instruction &instruction : computation.instructions()) {
    if (instruction.opcode() == "parameter")
      continue;
    if (++emitted > kMaxOps)
      return error(instruction) << "the module expands to more than " << kMaxOps << " instructions";
    FailureOr<HloValues> created = emitInstruction(instruction, values);
    SmallVector<Type> types;
    if (failed(created) || failed(flatten(instruction, instruction.shape(), types)))
      return failure();
    if (types != SmallVector<Type>(ValueRange(*created).getTypes()))
      return error(instruction) << "its shape differs from that of the imported ops";
    values[instruction.id()] = {std::move(*created), &instruction.shape()};
  }
  --depth;
  auto root = values.find(computation.root_id());
  if (root == values.end())
    return fail(" has no root");
  return root->second.values;
}

FailureOr<HloValues> HloToStableHlo::emitInstruction(const hlo::Instruction &at,
                                                     const Environment &values) {
  StringRef opcode = at.opcode();
  SmallVector<HloResult> operands;
  HloValues flat;
  for (int64_t id : at.operand_ids()) {
    auto it = values.find(id);
    if (it == values.end())
      return error(at) << "uses instruction " << id << ", which no earlier instruction defines";
    emitted += static_cast<int64_t>(it->second.values.size());
    operands.push_back(it->second);
    llvm::append_range(flat, it->second.values);
  }
  // A copy changes only the layout.
  if (opcode == "tuple" || opcode == "copy")
    return flat;
  if (opcode == "call" || opcode == "fusion") {
    FailureOr<const hlo::Computation *> callee = called(at, 0);
    if (failed(callee))
      return failure();
    return emitComputation(**callee, flat);
  }
  if (opcode == "get-tuple-element" || opcode == "bitcast") {
    if (operands.size() != 1)
      return error(at) << "has " << operands.size() << " operands, expected one";
    return opcode == "bitcast" ? emitBitcast(at, operands[0]) : takeElement(at, operands[0]);
  }
  return emitOp(at, operands);
}

//===----------------------------------------------------------------------===//
// @main
//===----------------------------------------------------------------------===//

/// The shardings in frontend attributes, or null.
DictionaryAttr HloToStableHlo::frontendAttributes(const hlo::FrontendAttributes &attributes) {
  SmallVector<NamedAttribute> list;
  for (const auto &[key, value] : attributes.map())
    if (StringRef(key).starts_with("xla.sdy."))
      list.push_back(builder.getNamedAttr(key, builder.getStringAttr(value)));
  return list.empty() ? DictionaryAttr() : builder.getDictionaryAttr(list);
}

/// The shardings in "{{..}, {..}}", or the one there is.
static SmallVector<std::string> shardingsIn(StringRef text) {
  if (!text.starts_with("{{"))
    return {text.str()};
  SmallVector<std::string> parts;
  int64_t depth = 0;
  size_t start = 0;
  for (auto [i, c] : llvm::enumerate(text)) {
    if (c == '{' && ++depth == 2)
      start = i;
    if (c == '}' && depth-- == 2)
      parts.push_back(text.slice(start, i + 1).str());
  }
  return parts;
}

/// The number of tensors in a shape.
static unsigned tensorsIn(const hlo::Shape &shape) {
  if (!isTuple(shape))
    return 1;
  unsigned count = 0;
  for (const hlo::Shape &element : shape.tuple_shapes())
    count += tensorsIn(element);
  return count;
}

void HloToStableHlo::addShardings(func::FuncOp main, ArrayRef<const Instruction *> parameters,
                                  const Computation &entry) {
  static constexpr StringLiteral kName = "mhlo.sharding";
  unsigned argument = 0;
  for (const hlo::Instruction *parameter : parameters) {
    unsigned count = tensorsIn(parameter->shape());
    if (parameter->has_sharding()) {
      SmallVector<std::string> texts = shardingsIn(textOfSharding(parameter->sharding()));
      for (unsigned i = 0; i < count && texts.size() == count; ++i)
        main.setArgAttr(argument + i, kName, builder.getStringAttr(texts[i]));
    }
    if (DictionaryAttr attributes = frontendAttributes(parameter->frontend_attributes());
        attributes && count == 1)
      main.setArgAttr(argument, kFrontendAttributes, attributes);
    argument += count;
  }
  for (const hlo::Instruction &instruction : entry.instructions()) {
    if (instruction.id() != entry.root_id() || !instruction.has_sharding())
      continue;
    SmallVector<std::string> texts = shardingsIn(textOfSharding(instruction.sharding()));
    for (unsigned i = 0; i < main.getNumResults() && texts.size() == main.getNumResults(); ++i)
      main.setResultAttr(i, kName, builder.getStringAttr(texts[i]));
  }
}

LogicalResult HloToStableHlo::addAliases(func::FuncOp main, size_t parameters) {
  // Parameters that are tuples, and tuples in results, have no such alias.
  for (const hlo::InputOutputAlias::Entry &alias : module.input_output_alias().entries()) {
    bool isFlat = alias.parameter_shape_index().empty() && alias.output_shape_index_size() <= 1 &&
                  parameters == main.getNumArguments();
    int64_t output = alias.output_shape_index_size() == 1 ? alias.output_shape_index(0) : 0;
    if (!isFlat || alias.parameter_number() < 0 ||
        alias.parameter_number() >= static_cast<int64_t>(main.getNumArguments()) || output < 0 ||
        output >= static_cast<int64_t>(main.getNumResults()))
      return main.emitError("HLO module \"")
             << module.name() << "\": an alias of parameter " << alias.parameter_number()
             << " that cannot be imported";
    main.setArgAttr(alias.parameter_number(), "tf.aliasing_output",
                    builder.getI32IntegerAttr(static_cast<int32_t>(output)));
  }
  for (const hlo::BufferDonor::Entry &donor : module.buffer_donor().entries()) {
    if (!donor.parameter_shape_index().empty() || parameters != main.getNumArguments() ||
        donor.parameter_number() < 0 ||
        donor.parameter_number() >= static_cast<int64_t>(main.getNumArguments()))
      return main.emitError("HLO module \"")
             << module.name() << "\": a donation of parameter " << donor.parameter_number()
             << " that cannot be imported";
    main.setArgAttr(donor.parameter_number(), "jax.buffer_donor", builder.getBoolAttr(true));
  }
  return success();
}

LogicalResult HloToStableHlo::buildMain(ModuleOp result, const hlo::Computation &entry) {
  SmallVector<const hlo::Instruction *> parameters = parametersOf(entry);
  SmallVector<Type> types;
  SmallVector<Location> locations;
  for (const hlo::Instruction *parameter : parameters) {
    if (failed(flatten(*parameter, parameter->shape(), types)))
      return failure();
    locations.resize(types.size(), locationOf(*parameter));
  }
  builder.setInsertionPointToEnd(result.getBody());
  auto main =
      func::FuncOp::create(builder, result.getLoc(), "main", builder.getFunctionType(types, {}));
  Block *block = builder.createBlock(&main.getBody(), {}, types, locations);
  FailureOr<HloValues> results = emitComputation(entry, block->getArguments());
  if (failed(results))
    return failure();
  func::ReturnOp::create(builder, result.getLoc(), *results);
  main.setType(builder.getFunctionType(types, ValueRange(*results).getTypes()));
  // A module does not state its number of devices, but the devices of a collective exist.
  if (devices > 1)
    result->setAttr("mhlo.num_partitions", builder.getI32IntegerAttr(devices));
  addShardings(main, parameters, entry);
  if (DictionaryAttr attributes = frontendAttributes(module.frontend_attributes()))
    result->setAttr(kFrontendAttributes, attributes);
  return addAliases(main, parameters.size());
}

OwningOpRef<ModuleOp> HloToStableHlo::run() {
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
  return HloToStableHlo(module, context).run();
}
