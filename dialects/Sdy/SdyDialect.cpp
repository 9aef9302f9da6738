#include "dialects/Sdy/SdyDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::sdy;

#include "dialects/Sdy/SdyDialect.cpp.inc"

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

/// `{"a", "b", ?}`; the question mark only where `open` is given.
static ParseResult parseAxes(AsmParser &parser, SmallVectorImpl<StringAttr> &axes, bool *open) {
  auto parseOne = [&]() -> ParseResult {
    if (open && succeeded(parser.parseOptionalQuestion())) {
      *open = true;
      return success();
    }
    std::string name;
    if (parser.parseString(&name))
      return failure();
    if (succeeded(parser.parseOptionalColon()))
      return parser.emitError(parser.getCurrentLocation())
             << "a part of axis \"" << name << "\" cannot be imported";
    axes.push_back(parser.getBuilder().getStringAttr(name));
    return success();
  };
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Braces, parseOne);
}

static ParseResult parseDimension(AsmParser &parser, SmallVectorImpl<ArrayAttr> &dims,
                                  SmallVectorImpl<bool> &open) {
  SmallVector<StringAttr> axes;
  bool isOpen = false;
  if (parseAxes(parser, axes, &isOpen))
    return failure();
  dims.push_back(
      parser.getBuilder().getArrayAttr(SmallVector<Attribute>(axes.begin(), axes.end())));
  open.push_back(isOpen);
  // A priority, p0, p1, ...
  StringRef priority;
  if (succeeded(parser.parseOptionalKeyword(&priority)) &&
      (!priority.consume_front("p") || priority.empty() || !llvm::all_of(priority, llvm::isDigit)))
    return parser.emitError(parser.getCurrentLocation()) << "expected a priority such as p0";
  return success();
}

Attribute TensorShardingAttr::parse(AsmParser &parser, Type) {
  FlatSymbolRefAttr mesh;
  SmallVector<ArrayAttr> dims;
  SmallVector<bool> open;
  SmallVector<StringAttr> replicated, unreduced;
  if (parser.parseLess() || parser.parseAttribute(mesh) || parser.parseComma() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                     [&] { return parseDimension(parser, dims, open); }))
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
  return get(parser.getContext(), mesh, dims, open, replicated, unreduced);
}

void TensorShardingAttr::print(AsmPrinter &printer) const {
  printer << "<" << getMesh() << ", [";
  llvm::interleaveComma(llvm::zip_equal(getDims(), getOpen()), printer, [&](auto dim) {
    auto [axes, open] = dim;
    printer << "{";
    llvm::interleaveComma(axes, printer);
    if (open)
      printer << (axes.empty() ? "?" : ", ?");
    printer << "}";
  });
  printer << "]";
  auto printList = [&](StringRef name, ArrayRef<StringAttr> axes) {
    if (axes.empty())
      return;
    printer << ", " << name << "={";
    llvm::interleaveComma(axes, printer);
    printer << "}";
  };
  printList("replicated", getReplicated());
  printList("unreduced", getUnreduced());
  printer << ">";
}
