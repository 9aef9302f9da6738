//===- StableHLOAttributes.cpp - Attributes of stablehlo ------------------===//

#include "dialects/StableHLO/StableHLOAttributes.h"

#include "dialects/StableHLO/StableHLODialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/InterleavedRange.h"

using namespace mlir;
using namespace mlir::stablehlo;

#include "dialects/StableHLO/StableHLOEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/StableHLO/StableHLOAttributes.cpp.inc"

void StableHLODialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/StableHLO/StableHLOAttributes.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Helpers: `<name = value, ...>` with lists that are left out when empty
//===----------------------------------------------------------------------===//

namespace {

/// One field of an attribute: a list of dimensions or a single number.
struct Field {
  StringRef name;
  SmallVector<int64_t> *list = nullptr;
  int64_t *number = nullptr;
};

} // namespace

static ParseResult parseDims(AsmParser &parser, SmallVectorImpl<int64_t> &dims) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                        [&] { return parser.parseInteger(dims.emplace_back()); });
}

static void printDims(AsmPrinter &printer, ArrayRef<int64_t> dims) {
  printer << '[' << llvm::interleaved(dims) << ']';
}

static ParseResult parseField(AsmParser &parser, ArrayRef<Field> fields,
                              SmallVectorImpl<StringRef> &seen) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef name;
  if (parser.parseKeyword(&name) || parser.parseEqual())
    return failure();
  const Field *field = llvm::find_if(fields, [&](const Field &f) { return f.name == name; });
  if (field == fields.end())
    return parser.emitError(loc) << "unknown field '" << name << "', expected one of "
                                 << llvm::interleaved(llvm::map_range(
                                        fields, [](const Field &f) { return f.name; }));
  if (llvm::is_contained(seen, field->name))
    return parser.emitError(loc) << "field '" << name << "' is given twice";
  seen.push_back(field->name);
  if (field->list)
    return parseDims(parser, *field->list);
  return parser.parseInteger(*field->number);
}

static ParseResult parseFields(AsmParser &parser, ArrayRef<Field> fields) {
  SmallVector<StringRef> seen;
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::OptionalLessGreater,
                                        [&] { return parseField(parser, fields, seen); });
}

static void printFields(AsmPrinter &printer,
                        ArrayRef<std::pair<StringRef, ArrayRef<int64_t>>> lists,
                        int64_t indexVectorDim = 0) {
  printer << '<';
  StringRef separator = "";
  for (auto [name, dims] : lists) {
    if (dims.empty())
      continue;
    printer << separator << name << " = ";
    printDims(printer, dims);
    separator = ", ";
  }
  if (indexVectorDim != 0)
    printer << separator << "index_vector_dim = " << indexVectorDim;
  printer << '>';
}

//===----------------------------------------------------------------------===//
// dot, gather, scatter
//===----------------------------------------------------------------------===//

Attribute DotDimensionNumbersAttr::parse(AsmParser &parser, Type) {
  SmallVector<int64_t> lhsBatching, rhsBatching, lhsContracting, rhsContracting;
  if (parseFields(parser, {{"lhs_batching_dimensions", &lhsBatching},
                           {"rhs_batching_dimensions", &rhsBatching},
                           {"lhs_contracting_dimensions", &lhsContracting},
                           {"rhs_contracting_dimensions", &rhsContracting}}))
    return {};
  return get(parser.getContext(), lhsBatching, rhsBatching, lhsContracting, rhsContracting);
}

void DotDimensionNumbersAttr::print(AsmPrinter &printer) const {
  printFields(printer, {{"lhs_batching_dimensions", getLhsBatchingDimensions()},
                        {"rhs_batching_dimensions", getRhsBatchingDimensions()},
                        {"lhs_contracting_dimensions", getLhsContractingDimensions()},
                        {"rhs_contracting_dimensions", getRhsContractingDimensions()}});
}

Attribute GatherDimensionNumbersAttr::parse(AsmParser &parser, Type) {
  SmallVector<int64_t> offset, collapsed, operandBatching, indicesBatching, startIndexMap;
  int64_t indexVectorDim = 0;
  if (parseFields(parser, {{"offset_dims", &offset},
                           {"collapsed_slice_dims", &collapsed},
                           {"operand_batching_dims", &operandBatching},
                           {"start_indices_batching_dims", &indicesBatching},
                           {"start_index_map", &startIndexMap},
                           {"index_vector_dim", nullptr, &indexVectorDim}}))
    return {};
  return get(parser.getContext(), offset, collapsed, operandBatching, indicesBatching,
             startIndexMap, indexVectorDim);
}

void GatherDimensionNumbersAttr::print(AsmPrinter &printer) const {
  printFields(printer,
              {{"offset_dims", getOffsetDims()},
               {"collapsed_slice_dims", getCollapsedSliceDims()},
               {"operand_batching_dims", getOperandBatchingDims()},
               {"start_indices_batching_dims", getStartIndicesBatchingDims()},
               {"start_index_map", getStartIndexMap()}},
              getIndexVectorDim());
}

Attribute ScatterDimensionNumbersAttr::parse(AsmParser &parser, Type) {
  SmallVector<int64_t> window, inserted, inputBatching, indicesBatching, toOperand;
  int64_t indexVectorDim = 0;
  if (parseFields(parser, {{"update_window_dims", &window},
                           {"inserted_window_dims", &inserted},
                           {"input_batching_dims", &inputBatching},
                           {"scatter_indices_batching_dims", &indicesBatching},
                           {"scatter_dims_to_operand_dims", &toOperand},
                           {"index_vector_dim", nullptr, &indexVectorDim}}))
    return {};
  return get(parser.getContext(), window, inserted, inputBatching, indicesBatching, toOperand,
             indexVectorDim);
}

void ScatterDimensionNumbersAttr::print(AsmPrinter &printer) const {
  printFields(printer,
              {{"update_window_dims", getUpdateWindowDims()},
               {"inserted_window_dims", getInsertedWindowDims()},
               {"input_batching_dims", getInputBatchingDims()},
               {"scatter_indices_batching_dims", getScatterIndicesBatchingDims()},
               {"scatter_dims_to_operand_dims", getScatterDimsToOperandDims()}},
              getIndexVectorDim());
}

//===----------------------------------------------------------------------===//
// output_operand_alias
//===----------------------------------------------------------------------===//

Attribute OutputOperandAliasAttr::parse(AsmParser &parser, Type) {
  SmallVector<int64_t> outputIndices, operandIndices;
  int64_t operandIndex = 0;
  if (parseFields(parser, {{"output_tuple_indices", &outputIndices},
                           {"operand_index", nullptr, &operandIndex},
                           {"operand_tuple_indices", &operandIndices}}))
    return {};
  return get(parser.getContext(), outputIndices, operandIndex, operandIndices);
}

void OutputOperandAliasAttr::print(AsmPrinter &printer) const {
  printer << "<output_tuple_indices = ";
  printDims(printer, getOutputTupleIndices());
  printer << ", operand_index = " << getOperandIndex() << ", operand_tuple_indices = ";
  printDims(printer, getOperandTupleIndices());
  printer << '>';
}

//===----------------------------------------------------------------------===//
// result_accuracy
//===----------------------------------------------------------------------===//

Attribute ResultAccuracyAttr::parse(AsmParser &parser, Type) {
  double atol = 0, rtol = 0;
  int64_t ulps = 0;
  ResultAccuracyModeAttr mode;
  if (parser.parseLess() || parser.parseKeyword("atol") || parser.parseEqual() ||
      parser.parseFloat(atol) || parser.parseComma() || parser.parseKeyword("rtol") ||
      parser.parseEqual() || parser.parseFloat(rtol) || parser.parseComma() ||
      parser.parseKeyword("ulps") || parser.parseEqual() || parser.parseInteger(ulps) ||
      parser.parseComma() || parser.parseKeyword("mode") || parser.parseEqual() ||
      parser.parseAttribute(mode) || parser.parseGreater())
    return {};
  return get(parser.getContext(), APFloat(atol), APFloat(rtol), ulps, mode);
}

void ResultAccuracyAttr::print(AsmPrinter &printer) const {
  printer << "<atol = " << getAtol() << ", rtol = " << getRtol() << ", ulps = " << getUlps()
          << ", mode = " << getMode() << '>';
}
