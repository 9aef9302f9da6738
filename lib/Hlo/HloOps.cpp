// One HLO instruction as one op: names and attributes.
#include "dialects/StableHLO/StableHLOOps.h"
#include "lib/Hlo/HloToStableHlo.h"
#include "lib/Hlo/HloTypes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::st;
namespace hlo = ::st::hlo;
namespace sh = mlir::stablehlo;

/// Opcodes whose op has another name.
static StringRef otherNameOf(StringRef opcode) {
  static const llvm::StringMap<StringRef> names = {
      {"acos", "chlo.acos"},
      {"acosh", "chlo.acosh"},
      {"asin", "chlo.asin"},
      {"asinh", "chlo.asinh"},
      {"atanh", "chlo.atanh"},
      {"broadcast", "stablehlo.broadcast_in_dim"},
      {"conditional", "stablehlo.case"},
      {"cosh", "chlo.cosh"},
      {"dot", "stablehlo.dot_general"},
      {"erf", "chlo.erf"},
      {"mulhi", "chlo.mulhi"},
      {"opt-barrier", "stablehlo.optimization_barrier"},
      {"sinh", "chlo.sinh"},
      {"topk", "chlo.top_k"}};
  return names.lookup(opcode);
}

/// Opcodes whose op has the same name, except for dashes.
static constexpr llvm::StringLiteral kSameNames =
    "abs add all-gather all-reduce all-to-all and atan2 batch-norm-grad batch-norm-inference "
    "batch-norm-training bitcast-convert cbrt ceil cholesky clamp collective-broadcast "
    "collective-permute compare complex concatenate constant convert convolution cosine "
    "count-leading-zeros custom-call divide dynamic-slice dynamic-update-slice exponential "
    "exponential-minus-one fft floor gather imag iota is-finite log log-plus-one logistic map "
    "maximum minimum multiply negate not or pad partition-id popcnt power real reduce "
    "reduce-precision reduce-scatter reduce-window remainder replica-id reshape reverse "
    "rng-bit-generator round-nearest-afz round-nearest-even rsqrt scatter select "
    "select-and-scatter shift-left shift-right-arithmetic shift-right-logical sign sine slice "
    "sort sqrt subtract tan tanh transpose triangular-solve while xor";

/// Returns true if an opcode is one of kSameNames.
static bool hasOwnName(StringRef opcode) {
  static const llvm::StringSet<> names = [] {
    llvm::StringSet<> set;
    for (StringRef name : llvm::split(kSameNames, ' '))
      set.insert(name);
    return set;
  }();
  return names.contains(opcode);
}

/// The op of an opcode; empty if there is none.
static std::string opNameOf(const hlo::Instruction &at) {
  StringRef opcode = at.opcode();
  // XLA's form of topk on CPUs.
  if (opcode == "custom-call" && at.custom_call_target() == "TopK")
    return "chlo.top_k";
  if (StringRef name = otherNameOf(opcode); !name.empty())
    return name.str();
  if (!hasOwnName(opcode))
    return "";
  std::string name = "stablehlo." + opcode.str();
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

FailureOr<HloValues> HloToStableHlo::emitOp(const hlo::Instruction &at,
                                            ArrayRef<HloResult> operands) {
  std::string name = opNameOf(at);
  if (name.empty())
    return error(at) << "cannot be imported";
  HloValues flat;
  for (const HloResult &operand : operands)
    llvm::append_range(flat, operand.values);
  SmallVector<Type> types;
  if (failed(flatten(at, at.shape(), types)))
    return failure();
  OperationState state(locationOf(at), name, flat, types);
  if (failed(addAttributes(at, flat, state)) || failed(addRegions(at, operands, state)))
    return failure();
  return HloValues(builder.create(state)->getResults());
}

static SmallVector<int64_t> permuted(ArrayRef<int64_t> shape, ArrayRef<int64_t> order) {
  SmallVector<int64_t> result;
  for (int64_t dim : order)
    result.push_back(shape[dim]);
  return result;
}

static bool isIdentity(ArrayRef<int64_t> order) {
  return llvm::equal(order, llvm::seq<int64_t>(0, order.size()));
}

/// Returns true if elements of one type can be bitcast to another, one by one.
static bool canBeSeenAs(Type from, Type to) {
  return from == to || (from.isIntOrFloat() && to.isIntOrFloat() &&
                        from.getIntOrFloatBitWidth() == to.getIntOrFloatBitWidth());
}

/// Reinterprets the elements in memory in another shape.
FailureOr<HloValues> HloToStableHlo::emitBitcast(const hlo::Instruction &at,
                                                 const HloResult &operand) {
  RankedTensorType type = typeOfShape(at.shape(), context);
  auto from = operand.values.size() == 1 ? cast<RankedTensorType>(operand.values[0].getType())
                                         : RankedTensorType();
  if (!type || !from || !canBeSeenAs(from.getElementType(), type.getElementType()) ||
      type.getNumElements() != from.getNumElements())
    return error(at) << "does not reshape its operand";
  SmallVector<int64_t> source = majorToMinor(*operand.shape), target = majorToMinor(at.shape());
  if (static_cast<int64_t>(source.size()) != from.getRank() ||
      static_cast<int64_t>(target.size()) != type.getRank())
    return error(at) << "has an invalid layout";
  Location loc = locationOf(at);
  Value value = operand.values[0];
  if (from.getElementType() != type.getElementType()) {
    from = from.clone(type.getElementType());
    value = sh::BitcastConvertOp::create(builder, loc, from, value);
  }
  if (!isIdentity(source))
    value = sh::TransposeOp::create(builder, loc, from.clone(permuted(from.getShape(), source)),
                                    value, source);
  auto inMemory = type.clone(permuted(type.getShape(), target));
  if (value.getType() != inMemory)
    value = sh::ReshapeOp::create(builder, loc, inMemory, value);
  if (isIdentity(target))
    return HloValues{value};
  SmallVector<int64_t> back(target.size());
  for (auto [i, dim] : llvm::enumerate(target))
    back[dim] = static_cast<int64_t>(i);
  return HloValues{sh::TransposeOp::create(builder, loc, type, value, back)};
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

LogicalResult HloToStableHlo::addLiteral(const hlo::Instruction &at, OperationState &state) {
  DenseElementsAttr elements = elementsOfLiteral(at.literal(), context);
  if (!elements || state.types.size() != 1 || elements.getType() != state.types[0])
    return error(at) << "its literal does not fit its shape";
  state.addAttribute("value", elements);
  return success();
}

LogicalResult HloToStableHlo::addComparison(const hlo::Instruction &at, OperationState &state) {
  auto direction = sh::symbolizeComparisonDirection(at.comparison_direction());
  if (!direction)
    return error(at) << "unknown comparison \"" << at.comparison_direction() << "\"";
  state.addAttribute("comparison_direction", sh::ComparisonDirectionAttr::get(context, *direction));
  // The others follow from the elements' type, and the text omits them.
  if (at.comparison_type() == "TOTALORDER")
    state.addAttribute("compare_type",
                       sh::ComparisonTypeAttr::get(context, sh::ComparisonType::TOTALORDER));
  return success();
}

void HloToStableHlo::addSlice(const hlo::Instruction &at, OperationState &state) {
  SmallVector<int64_t> starts, limits, strides;
  for (const hlo::SliceDimensions &slice : at.slice_dimensions()) {
    starts.push_back(slice.start());
    limits.push_back(slice.limit());
    strides.push_back(slice.stride());
  }
  addDims(state, "start_indices", starts);
  addDims(state, "limit_indices", limits);
  addDims(state, "strides", strides);
}

void HloToStableHlo::addPad(const hlo::Instruction &at, OperationState &state) {
  SmallVector<int64_t> low, high, interior;
  for (const hlo::PaddingConfig::Dimension &padding : at.padding_config().dimensions()) {
    low.push_back(padding.low());
    high.push_back(padding.high());
    interior.push_back(padding.interior());
  }
  addDims(state, "edge_padding_low", low);
  addDims(state, "edge_padding_high", high);
  addDims(state, "interior_padding", interior);
}

LogicalResult HloToStableHlo::addPrecision(const hlo::Instruction &at, OperationState &state) {
  SmallVector<Attribute> precisions;
  bool isDefault = true;
  for (int32_t value : at.precision_config().operand_precision()) {
    auto precision = sh::symbolizePrecision(value);
    if (!precision)
      return error(at) << "has precision " << value << ", which does not exist";
    isDefault &= *precision == sh::Precision::DEFAULT;
    precisions.push_back(sh::PrecisionAttr::get(context, *precision));
  }
  if (!isDefault)
    state.addAttribute("precision_config", builder.getArrayAttr(precisions));
  return success();
}

LogicalResult HloToStableHlo::addDot(const hlo::Instruction &at, OperationState &state) {
  const hlo::DotDimensionNumbers &dot = at.dot_dimension_numbers();
  state.addAttribute("dot_dimension_numbers",
                     sh::DotDimensionNumbersAttr::get(
                         context, toArray(dot.lhs_batch()), toArray(dot.rhs_batch()),
                         toArray(dot.lhs_contracting()), toArray(dot.rhs_contracting())));
  return addPrecision(at, state);
}

void HloToStableHlo::addGather(const hlo::Instruction &at, OperationState &state) {
  const hlo::GatherDimensionNumbers &gather = at.gather_dimension_numbers();
  state.addAttribute(
      "dimension_numbers",
      sh::GatherDimensionNumbersAttr::get(
          context, toArray(gather.offset_dims()), toArray(gather.collapsed_slice_dims()),
          toArray(gather.operand_batching_dims()), toArray(gather.start_indices_batching_dims()),
          toArray(gather.start_index_map()), gather.index_vector_dim()));
  addDims(state, "slice_sizes", toArray(at.gather_slice_sizes()));
  addBool(state, "indices_are_sorted", at.indices_are_sorted());
}

void HloToStableHlo::addScatter(const hlo::Instruction &at, OperationState &state) {
  const hlo::ScatterDimensionNumbers &scatter = at.scatter_dimension_numbers();
  state.addAttribute(
      "scatter_dimension_numbers",
      sh::ScatterDimensionNumbersAttr::get(
          context, toArray(scatter.update_window_dims()), toArray(scatter.inserted_window_dims()),
          toArray(scatter.input_batching_dims()), toArray(scatter.scatter_indices_batching_dims()),
          toArray(scatter.scatter_dims_to_operand_dims()), scatter.index_vector_dim()));
  addBool(state, "indices_are_sorted", at.indices_are_sorted());
  addBool(state, "unique_indices", at.unique_indices());
}

LogicalResult HloToStableHlo::addLinearAlgebra(const hlo::Instruction &at, OperationState &state) {
  if (at.opcode() == "fft") {
    auto type = sh::symbolizeFftType(at.fft_type());
    if (!type)
      return error(at) << "has type " << at.fft_type() << ", which does not exist";
    state.addAttribute("fft_type", sh::FftTypeAttr::get(context, *type));
    addDims(state, "fft_length", toArray(at.fft_length()));
    return success();
  }
  if (at.opcode() == "cholesky") {
    addBool(state, "lower", at.cholesky_options().lower());
    return success();
  }
  const hlo::TriangularSolveOptions &options = at.triangular_solve_options();
  auto transpose = sh::symbolizeTranspose(options.transpose_a());
  if (!transpose)
    return error(at) << "has transpose_a " << options.transpose_a() << ", which does not exist";
  addBool(state, "left_side", options.left_side());
  addBool(state, "lower", options.lower());
  addBool(state, "unit_diagonal", options.unit_diagonal());
  state.addAttribute("transpose_a", sh::TransposeAttr::get(context, *transpose));
  return success();
}

LogicalResult HloToStableHlo::addCustomCall(const hlo::Instruction &at, OperationState &state) {
  static const llvm::StringSet<> known = {"Sharding",
                                          "SPMDFullToShardShape",
                                          "SPMDShardToFullShape",
                                          "xla.sdy.FuncResultSharding",
                                          "xla.sdy.GlobalToLocalShape",
                                          "xla.sdy.LocalToGlobalShape",
                                          "xla.sdy.PropagationBarrier",
                                          "xla.sdy.ShardingGroup"};
  if (!known.contains(at.custom_call_target()))
    return error(at) << "cannot be imported (target \"" << at.custom_call_target() << "\")";
  state.addAttribute("call_target_name", builder.getStringAttr(at.custom_call_target()));
  DictionaryAttr attributes = frontendAttributes(at.frontend_attributes());
  if (attributes)
    state.addAttribute(kFrontendAttributes, attributes);
  std::string text = textOfSharding(at.sharding());
  if (attributes && !at.has_sharding())
    return success();
  if (!at.has_sharding() || text.empty())
    return error(at) << "has no known sharding";
  state.addAttribute("mhlo.sharding", builder.getStringAttr(text));
  return success();
}

LogicalResult HloToStableHlo::addTopK(const hlo::Instruction &at, ValueRange operands,
                                      OperationState &state) {
  bool isCall = at.opcode() == "custom-call";
  if (!isCall && !at.largest())
    return error(at) << "selects the smallest elements; only the largest can be imported";
  auto type = state.types.empty() ? RankedTensorType() : cast<RankedTensorType>(state.types[0]);
  if (operands.size() != 1 || !type || type.getRank() == 0)
    return error(at) << "has " << operands.size() << " operands, expected one";
  addNumber(state, "k", isCall ? type.getShape().back() : at.k());
  return success();
}

LogicalResult HloToStableHlo::addDimensions(const hlo::Instruction &at, OperationState &state) {
  StringRef opcode = at.opcode();
  auto number = [&](StringRef name) -> LogicalResult {
    if (at.dimensions_size() != 1)
      return error(at) << "has " << at.dimensions_size() << " dimensions, expected one";
    addNumber(state, name, at.dimensions(0));
    return success();
  };
  if (opcode == "broadcast")
    addDims(state, "broadcast_dimensions", toArray(at.dimensions()));
  else if (opcode == "transpose")
    addDims(state, "permutation", toArray(at.dimensions()));
  else if (opcode == "reverse" || opcode == "reduce" || opcode == "map")
    addDims(state, "dimensions", toArray(at.dimensions()));
  else if (opcode == "dynamic-slice")
    addDims(state, "slice_sizes", toArray(at.dynamic_slice_sizes()));
  else if (opcode == "concatenate" || opcode == "sort")
    return number("dimension");
  else if (opcode == "iota")
    return number("iota_dimension");
  return success();
}

LogicalResult HloToStableHlo::addAttributes(const hlo::Instruction &at, ValueRange operands,
                                            OperationState &state) {
  StringRef opcode = at.opcode();
  if (opcode == "constant")
    return addLiteral(at, state);
  if (opcode == "compare")
    return addComparison(at, state);
  if (opcode == "dot")
    return addDot(at, state);
  if (opcode == "convolution")
    return addConvolution(at, state);
  if (opcode == "reduce-window" || opcode == "select-and-scatter")
    return addWindow(at, state);
  if (opcode == "fft" || opcode == "cholesky" || opcode == "triangular-solve")
    return addLinearAlgebra(at, state);
  if (opcode.starts_with("all-") || opcode.starts_with("collective-") || opcode == "reduce-scatter")
    return addCollective(at, operands, state);
  if (state.name.getStringRef() == "chlo.top_k")
    return addTopK(at, operands, state);
  if (opcode == "custom-call")
    return addCustomCall(at, state);
  if (opcode == "slice")
    addSlice(at, state);
  else if (opcode == "pad")
    addPad(at, state);
  else if (opcode == "gather")
    addGather(at, state);
  else if (opcode == "scatter")
    addScatter(at, state);
  else if (opcode == "sort")
    addBool(state, "is_stable", at.is_stable());
  else if (opcode.starts_with("batch-norm-")) {
    state.addAttribute("epsilon", builder.getF32FloatAttr(at.epsilon()));
    addNumber(state, "feature_index", at.feature_index());
  } else if (opcode == "reduce-precision") {
    state.addAttribute("exponent_bits", builder.getI32IntegerAttr(at.exponent_bits()));
    state.addAttribute("mantissa_bits", builder.getI32IntegerAttr(at.mantissa_bits()));
  } else if (opcode == "rng-bit-generator") {
    auto algorithm = sh::symbolizeRngAlgorithm(at.rng_algorithm());
    if (!algorithm)
      return error(at) << "has algorithm " << at.rng_algorithm() << ", which does not exist";
    state.addAttribute("rng_algorithm", sh::RngAlgorithmAttr::get(context, *algorithm));
  }
  return addDimensions(at, state);
}
