#include "dialects/Sdy/SdyDialect.h"
#include "dialects/Sdy/AxisAssembly.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::sdy;

#include "dialects/Sdy/SdyDialect.cpp.inc"

#include "dialects/Sdy/SdyEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Sdy/SdyAttrs.cpp.inc"

#define GET_OP_CLASSES
#include "dialects/Sdy/SdyOps.cpp.inc"

void SdyDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Sdy/SdyOps.cpp.inc"
      >();
  registerSdyAttributes();
}

void SdyDialect::registerSdyAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Sdy/SdyAttrs.cpp.inc"
      >();
}

Attribute SdyDialect::parseAttribute(DialectAsmParser &parser, Type type) const {
  // The rule is stored as text, which ends at the bracket that MLIR has matched.
  StringRef text = parser.getFullSymbolSpec();
  if (text.consume_front("op_sharding_rule<") && text.consume_back(">"))
    return OpShardingRuleAttr::get(getContext(), text);
  StringRef mnemonic;
  Attribute attribute;
  SMLoc loc = parser.getCurrentLocation();
  OptionalParseResult parsed = generatedAttributeParser(parser, &mnemonic, type, attribute);
  // Shardy has attributes for the axes of collectives; here they are arrays.
  ArrayAttr axes;
  if (!parsed.has_value() && mnemonic == "axis_ref_list")
    return succeeded(parseAxisList(parser, axes)) ? axes : Attribute();
  if (!parsed.has_value() && mnemonic == "list_of_axis_ref_lists")
    return succeeded(parseAxisLists(parser, axes)) ? axes : Attribute();
  if (!parsed.has_value() && mnemonic == "all_to_all_param_list")
    return succeeded(parseAxisMoves(parser, axes)) ? axes : Attribute();
  if (!parsed.has_value())
    parser.emitError(loc) << "unknown attribute `" << mnemonic << "` in dialect `sdy`";
  return parsed.has_value() && succeeded(*parsed) ? attribute : Attribute();
}

void SdyDialect::printAttribute(Attribute attribute, DialectAsmPrinter &printer) const {
  if (auto rule = dyn_cast<OpShardingRuleAttr>(attribute))
    printer << "op_sharding_rule<" << rule.getText() << ">";
  else
    (void)generatedAttributePrinter(attribute, printer);
}

//===----------------------------------------------------------------------===//
// Meshes
//===----------------------------------------------------------------------===//

LogicalResult MeshAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<StringAttr> axes, ArrayRef<int64_t> sizes,
                               ArrayRef<int64_t> deviceIds) {
  llvm::StringSet<> seen;
  int64_t devices = 1;
  for (auto [axis, size] : llvm::zip_equal(axes, sizes)) {
    if (!seen.insert(axis.getValue()).second)
      return emitError() << "axis " << axis << " appears twice in a mesh";
    if (size < 1 || size > (1 << 20) || devices > (1 << 20))
      return emitError() << "axis " << axis << " has size " << size << ", expected 1 to "
                         << (1 << 20);
    devices *= size;
  }
  if (!deviceIds.empty() && static_cast<int64_t>(deviceIds.size()) != devices && !axes.empty())
    return emitError() << "expected " << devices << " device ids, found " << deviceIds.size();
  return success();
}

Attribute MeshAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<StringAttr> axes;
  SmallVector<int64_t> sizes, ids;
  auto parseAxis = [&]() -> ParseResult {
    std::string name;
    if (parser.parseString(&name) || parser.parseEqual() ||
        parser.parseInteger(sizes.emplace_back()))
      return failure();
    axes.push_back(parser.getBuilder().getStringAttr(name));
    return success();
  };
  if (parser.parseLess() || parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseAxis))
    return {};
  if (succeeded(parser.parseOptionalComma()) &&
      (parser.parseKeyword("device_ids") || parser.parseEqual() ||
       parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                      [&] { return parser.parseInteger(ids.emplace_back()); })))
    return {};
  if (parser.parseGreater())
    return {};
  return parser.getChecked<MeshAttr>(loc, parser.getContext(), axes, sizes, ids);
}

void MeshAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(llvm::zip_equal(getAxes(), getSizes()), printer, [&](auto axis) {
    printer << std::get<0>(axis) << "=" << std::get<1>(axis);
  });
  printer << "]";
  if (!getDeviceIds().empty()) {
    printer << ", device_ids=[";
    llvm::interleaveComma(getDeviceIds(), printer);
    printer << "]";
  }
  printer << ">";
}

//===----------------------------------------------------------------------===//
// Shardings
//===----------------------------------------------------------------------===//

static ParseResult parseDimension(AsmParser &parser, SmallVectorImpl<ArrayAttr> &dims,
                                  SmallVectorImpl<bool> &open,
                                  SmallVectorImpl<int64_t> &priorities) {
  SmallVector<StringAttr> axes;
  bool isOpen = false;
  if (parseAxes(parser, axes, &isOpen))
    return failure();
  dims.push_back(
      parser.getBuilder().getArrayAttr(SmallVector<Attribute>(axes.begin(), axes.end())));
  open.push_back(isOpen);
  // A priority, p0, p1, ...
  StringRef priority;
  int64_t &number = priorities.emplace_back(-1);
  if (succeeded(parser.parseOptionalKeyword(&priority)) &&
      (!priority.consume_front("p") || priority.getAsInteger(10, number) || number < 0))
    return parser.emitError(parser.getCurrentLocation()) << "expected a priority such as p0";
  return success();
}

Attribute TensorShardingAttr::parse(AsmParser &parser, Type) {
  FlatSymbolRefAttr mesh;
  SmallVector<ArrayAttr> dims;
  SmallVector<bool> open;
  SmallVector<int64_t> priorities;
  SmallVector<StringAttr> replicated, unreduced;
  if (parser.parseLess() || parser.parseAttribute(mesh) || parser.parseComma() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
        return parseDimension(parser, dims, open, priorities);
      }))
    return {};
  while (succeeded(parser.parseOptionalComma())) {
    StringRef keyword;
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseKeyword(&keyword) || parser.parseEqual())
      return {};
    if (keyword != "replicated" && keyword != "unreduced") {
      parser.emitError(loc) << "expected replicated or unreduced, found " << keyword;
      return {};
    }
    if (parseAxes(parser, keyword == "replicated" ? replicated : unreduced, nullptr))
      return {};
  }
  if (parser.parseGreater())
    return {};
  return get(parser.getContext(), mesh, dims, open, priorities, replicated, unreduced);
}

void TensorShardingAttr::print(AsmPrinter &printer) const {
  printer << "<" << getMesh() << ", [";
  auto print = [&](Attribute axis) { printAxis(printer, cast<StringAttr>(axis).getValue()); };
  llvm::interleaveComma(llvm::zip_equal(getDims(), getOpen(), getPriorities()), printer,
                        [&](auto dim) {
                          auto [axes, open, priority] = dim;
                          printer << "{";
                          llvm::interleaveComma(axes, printer, print);
                          if (open)
                            printer << (axes.empty() ? "?" : ", ?");
                          printer << "}";
                          if (priority >= 0)
                            printer << "p" << priority;
                        });
  printer << "]";
  auto printList = [&](StringRef name, ArrayRef<StringAttr> axes) {
    if (axes.empty())
      return;
    printer << ", " << name << "={";
    llvm::interleaveComma(axes, printer, print);
    printer << "}";
  };
  printList("replicated", getReplicated());
  printList("unreduced", getUnreduced());
  printer << ">";
}

ParseResult sdy::parseShardings(AsmParser &parser, SmallVectorImpl<TensorShardingAttr> &shardings) {
  auto parseOne = [&]() -> ParseResult {
    Attribute sharding;
    OptionalParseResult parsed = parser.parseOptionalAttribute(sharding);
    if (!parsed.has_value())
      sharding = TensorShardingAttr::parse(parser, Type());
    else if (failed(*parsed))
      return failure();
    shardings.push_back(dyn_cast_or_null<TensorShardingAttr>(sharding));
    if (sharding && !shardings.back())
      return parser.emitError(parser.getCurrentLocation()) << "expected a sharding";
    return success(sharding != nullptr);
  };
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseOne);
}

Attribute TensorShardingPerValueAttr::parse(AsmParser &parser, Type) {
  SmallVector<TensorShardingAttr> shardings;
  if (parser.parseLess() || parseShardings(parser, shardings) || parser.parseGreater())
    return {};
  return get(parser.getContext(), shardings);
}

void TensorShardingPerValueAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(getShardings(), printer,
                        [&](TensorShardingAttr sharding) { sharding.print(printer); });
  printer << "]>";
}

Attribute ManualAxesAttr::parse(AsmParser &parser, Type) {
  SmallVector<StringAttr> axes;
  if (parseAxes(parser, axes, nullptr))
    return {};
  return get(parser.getContext(), axes);
}

void ManualAxesAttr::print(AsmPrinter &printer) const {
  printer << "{";
  llvm::interleaveComma(getAxes(), printer);
  printer << "}";
}
