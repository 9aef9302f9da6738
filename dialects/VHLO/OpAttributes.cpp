// Converts the attributes of an artifact's op to those of St's op.
#include "dialects/Sdy/SdyDialect.h"
#include "dialects/StableHLO/StableHLOAttributes.h"
#include "dialects/VHLO/OpTable.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::vhlo;

namespace {
/// Reads the attributes of one op.
class OpAttributeReader {
public:
  OpAttributeReader(const OpRow &row, EntryReader &reader, NamedAttrList &attributes)
      : row(row), reader(reader), b(reader.getContext()), attributes(attributes) {}

  void read();

private:
  void readOne(StringRef name, StringRef form, bool dropsDefault);
  /// The converted attribute. Null if it is dropped, or with a fault.
  Attribute convert(StringRef name, StringRef form, Attribute value);
  Attribute toDims(StringRef name, Attribute value);
  Attribute toBools(StringRef name, Attribute value);
  Attribute toSymbols(StringRef name, Attribute value);

  void dropEmptyLayouts();
  /// Builds the structure from `parts`.
  void buildStructure();
  Attribute buildDotAlgorithm();
  SmallVector<int64_t> dims(StringRef part);
  int64_t integer(StringRef part);
  bool has(StringRef part) const { return static_cast<bool>(parts.get(part)); }

  void fault(StringRef name) {
    reader.fault(row.name + ": damaged bytecode: unexpected value of " + name);
  }

  const OpRow &row;
  EntryReader &reader;
  Builder b;
  NamedAttrList &attributes, parts;
};
} // namespace

/// Returns true if the attribute has its default value.
static bool isDefault(StringRef name, Attribute value) {
  if (auto flag = dyn_cast<BoolAttr>(value))
    return !flag.getValue();
  // A list of default precisions is a default too.
  if (auto array = dyn_cast<ArrayAttr>(value))
    return llvm::all_of(array, [](Attribute element) {
      auto precision = dyn_cast<stablehlo::PrecisionAttr>(element);
      return precision && precision.getValue() == stablehlo::Precision::DEFAULT;
    });
  if (auto text = dyn_cast<StringAttr>(value))
    return text.empty();
  if (auto dictionary = dyn_cast<DictionaryAttr>(value))
    return dictionary.empty();
  // An omitted `api_version` of a custom call is 1, the original interface.
  if (auto number = dyn_cast<IntegerAttr>(value))
    return number.getValue() == (name == "api_version" ? 1 : 0);
  // Strides and dilations of one, padding of none, nothing reversed.
  if (auto elements = dyn_cast<DenseIntElementsAttr>(value)) {
    bool isOne = elements.getElementType().isInteger(64) && name != "padding";
    return elements.isSplat() && elements.getSplatValue<APInt>() == (isOne ? 1 : 0);
  }
  if (auto type = dyn_cast<stablehlo::ComparisonTypeAttr>(value))
    return type.getValue() == stablehlo::ComparisonType::NOTYPE;
  if (auto accuracy = dyn_cast<stablehlo::ResultAccuracyAttr>(value))
    return accuracy.getMode().getValue() == stablehlo::ResultAccuracyMode::DEFAULT;
  return false;
}

void OpAttributeReader::read() {
  StringRef rest = row.attributes;
  while (!rest.empty() && !reader.failed()) {
    auto [one, others] = rest.split(' ');
    rest = others;
    bool dropsDefault = one.consume_back("?");
    auto [name, form] = one.split(':');
    readOne(name, form, dropsDefault);
  }
  dropEmptyLayouts();
  if (!reader.failed() && !parts.empty())
    buildStructure();
}

/// A custom call has the layouts of its operands and of its results, or neither.
void OpAttributeReader::dropEmptyLayouts() {
  auto isEmpty = [&](StringRef name) {
    auto layouts = dyn_cast_or_null<ArrayAttr>(attributes.get(name));
    return layouts && layouts.empty();
  };
  if (!isEmpty("operand_layouts") || !isEmpty("result_layouts"))
    return;
  attributes.erase("operand_layouts");
  attributes.erase("result_layouts");
}

void OpAttributeReader::readOne(StringRef name, StringRef form, bool dropsDefault) {
  Attribute value = form == "optional" ? reader.optionalAttribute() : reader.attribute();
  if (!value || (dropsDefault && isDefault(name, value)))
    return;
  if (form == "part") {
    parts.set(name, value);
    return;
  }
  value = convert(name, form, value);
  if (value)
    attributes.set(form == "channel" ? "channel_handle" : name, value);
}

Attribute OpAttributeReader::convert(StringRef name, StringRef form, Attribute value) {
  if (form == "dims")
    return toDims(name, value);
  if (form == "bools")
    return toBools(name, value);
  if (form == "symbols")
    return toSymbols(name, value);
  if (form == "symbol") {
    if (auto text = dyn_cast<StringAttr>(value))
      return FlatSymbolRefAttr::get(text);
    return dyn_cast<FlatSymbolRefAttr>(value);
  }
  if (form == "flag")
    return b.getUnitAttr();
  if (form != "channel" && form != "direction")
    return value;
  auto number = dyn_cast<IntegerAttr>(value);
  if (!number || number.getValue().getBitWidth() > 64) {
    fault(name);
    return Attribute();
  }
  if (form == "direction") {
    auto direction = sdy::symbolizePropagationDirection(number.getValue().getZExtValue());
    if (!direction)
      fault(name);
    return direction ? sdy::PropagationDirectionAttr::get(b.getContext(), *direction) : Attribute();
  }
  // VHLO does not encode the type of a collective's channel. StableHLO's own reader uses 0.
  int64_t handle = number.getValue().getSExtValue();
  return handle == 0 ? Attribute()
                     : stablehlo::ChannelHandleAttr::get(b.getContext(), handle, /*type=*/0);
}

/// The elements of a tensor of i64 and one dimension.
static std::optional<SmallVector<int64_t>> getDims(Attribute value) {
  auto elements = dyn_cast_or_null<DenseIntElementsAttr>(value);
  if (!elements || elements.getType().getRank() != 1 || !elements.getElementType().isInteger(64))
    return std::nullopt;
  return llvm::to_vector(elements.getValues<int64_t>());
}

Attribute OpAttributeReader::toDims(StringRef name, Attribute value) {
  std::optional<SmallVector<int64_t>> dims = getDims(value);
  if (!dims) {
    fault(name);
    return Attribute();
  }
  return b.getDenseI64ArrayAttr(*dims);
}

Attribute OpAttributeReader::toBools(StringRef name, Attribute value) {
  auto elements = dyn_cast<DenseIntElementsAttr>(value);
  if (!elements || elements.getType().getRank() != 1 || !elements.getElementType().isInteger(1)) {
    fault(name);
    return Attribute();
  }
  return b.getDenseBoolArrayAttr(llvm::to_vector(elements.getValues<bool>()));
}

Attribute OpAttributeReader::toSymbols(StringRef name, Attribute value) {
  SmallVector<Attribute> symbols;
  auto texts = dyn_cast<ArrayAttr>(value);
  for (Attribute element : texts ? texts.getValue() : ArrayRef<Attribute>())
    if (auto text = dyn_cast<StringAttr>(element))
      symbols.push_back(FlatSymbolRefAttr::get(text));
  if (!texts || symbols.size() != texts.size()) {
    fault(name);
    return Attribute();
  }
  return b.getArrayAttr(symbols);
}

/// Empty if this version of the op does not have the part.
SmallVector<int64_t> OpAttributeReader::dims(StringRef part) {
  Attribute value = parts.get(part);
  std::optional<SmallVector<int64_t>> dims = getDims(value);
  if (value && !dims)
    fault(part);
  return dims.value_or(SmallVector<int64_t>());
}

int64_t OpAttributeReader::integer(StringRef part) {
  auto number = dyn_cast_or_null<IntegerAttr>(parts.get(part));
  if (!number || number.getValue().getBitWidth() > 64)
    fault(part);
  return number && !reader.failed() ? number.getValue().getSExtValue() : 0;
}

/// The algorithm of a matrix product. Null if the program specifies none.
Attribute OpAttributeReader::buildDotAlgorithm() {
  auto type = [&](StringRef part) {
    auto attribute = dyn_cast_or_null<TypeAttr>(parts.get(part));
    if (!attribute)
      fault(part);
    return attribute ? attribute.getValue() : Type();
  };
  auto allowed = dyn_cast_or_null<BoolAttr>(parts.get("allow_imprecise_accumulation"));
  Type lhs = type("lhs_precision_type"), rhs = type("rhs_precision_type"),
       accumulation = type("accumulation_type");
  if (reader.failed() || isa<NoneType>(lhs))
    return Attribute();
  if (!allowed)
    fault("allow_imprecise_accumulation");
  int64_t lhsCount = integer("lhs_component_count"), rhsCount = integer("rhs_component_count"),
          operations = integer("num_primitive_operations");
  if (reader.failed())
    return Attribute();
  return stablehlo::DotAlgorithmAttr::get(b.getContext(), lhs, rhs, accumulation, lhsCount,
                                          rhsCount, operations, allowed.getValue());
}

void OpAttributeReader::buildStructure() {
  MLIRContext *context = b.getContext();
  Attribute structure;
  StringRef name = "dimension_numbers";
  if (has("start_index_map")) {
    structure = stablehlo::GatherDimensionNumbersAttr::get(
        context, dims("offset_dims"), dims("collapsed_slice_dims"), dims("operand_batching_dims"),
        dims("start_indices_batching_dims"), dims("start_index_map"), integer("index_vector_dim"));
  } else if (has("update_window_dims")) {
    name = "scatter_dimension_numbers";
    structure = stablehlo::ScatterDimensionNumbersAttr::get(
        context, dims("update_window_dims"), dims("inserted_window_dims"),
        dims("input_batching_dims"), dims("scatter_indices_batching_dims"),
        dims("scatter_dims_to_operand_dims"), integer("index_vector_dim"));
  } else if (has("lhs_contracting_dimensions")) {
    name = "dot_dimension_numbers";
    structure = stablehlo::DotDimensionNumbersAttr::get(
        context, dims("lhs_batching_dimensions"), dims("rhs_batching_dimensions"),
        dims("lhs_contracting_dimensions"), dims("rhs_contracting_dimensions"));
    if (Attribute algorithm = has("accumulation_type") ? buildDotAlgorithm() : Attribute())
      attributes.set("algorithm", algorithm);
  } else {
    structure = stablehlo::ConvDimensionNumbersAttr::get(
        context, integer("input_batch_dimension"), integer("input_feature_dimension"),
        dims("input_spatial_dimensions"), integer("kernel_input_feature_dimension"),
        integer("kernel_output_feature_dimension"), dims("kernel_spatial_dimensions"),
        integer("output_batch_dimension"), integer("output_feature_dimension"),
        dims("output_spatial_dimensions"));
  }
  if (!reader.failed())
    attributes.set(name, structure);
}

bool mlir::vhlo::readOpAttributes(const OpRow &row, EntryReader reader, NamedAttrList &attributes) {
  OpAttributeReader(row, reader, attributes).read();
  if (!reader.failed() && !reader.isEmpty())
    reader.fault(row.name + ": damaged bytecode: more attributes than the op has");
  return !reader.failed();
}
