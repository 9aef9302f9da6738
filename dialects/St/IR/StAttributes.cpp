#include "dialects/St/IR/StDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::st;

#include "dialects/St/IR/StEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/St/IR/StAttrs.cpp.inc"

void StDialect::registerStAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/St/IR/StAttrs.cpp.inc"
      >();
}

ShardingAttr ShardingAttr::get(MLIRContext *context, FlatSymbolRefAttr mesh,
                               ArrayRef<ArrayAttr> dims) {
  return get(context, mesh, dims, ReduceKind::Sum, {});
}

ShardingAttr ShardingAttr::getReplicated(FlatSymbolRefAttr mesh, int64_t rank) {
  MLIRContext *context = mesh.getContext();
  return get(context, mesh, SmallVector<ArrayAttr>(rank, ArrayAttr::get(context, {})));
}

SmallVector<StringRef> ShardingAttr::getAxes(int64_t dim) const {
  SmallVector<StringRef> axes;
  for (Attribute part : getDims()[dim])
    if (auto axis = dyn_cast<StringAttr>(part))
      axes.push_back(axis.getValue());
  return axes;
}

bool ShardingAttr::isReplicated() const {
  return !isUnreduced() && llvm::all_of(getDims(), [](ArrayAttr axes) { return axes.empty(); });
}

bool ShardingAttr::usesAxis(StringRef name) const {
  for (ArrayAttr axes : getDims())
    if (llvm::is_contained(axes, StringAttr::get(getContext(), name)))
      return true;
  return llvm::any_of(getUnreduced(), [&](StringAttr axis) { return axis.getValue() == name; });
}

ShardingAttr ShardingAttr::withUnreduced(ReduceKind kind, ArrayRef<StringAttr> axes) const {
  return get(getContext(), getMesh(), getDims(), axes.empty() ? ReduceKind::Sum : kind, axes);
}

ShardingAttr ShardingAttr::withoutUnreduced() const { return withUnreduced(ReduceKind::Sum, {}); }

LogicalResult ShardingAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   FlatSymbolRefAttr mesh, ArrayRef<ArrayAttr> dims,
                                   ReduceKind kind, ArrayRef<StringAttr> unreduced) {
  llvm::StringSet<> seen;
  auto check = [&](StringRef axis) -> LogicalResult {
    if (!seen.insert(axis).second)
      return emitError() << "axis \"" << axis << "\" appears twice in a sharding";
    return success();
  };
  for (ArrayAttr axes : dims)
    for (Attribute axis : axes) {
      if (auto unsplit = dyn_cast<IntegerAttr>(axis)) {
        if (unsplit.getInt() < 2)
          return emitError() << "expected an unsplit part of at least 2, found " << unsplit.getInt();
        continue;
      }
      auto name = dyn_cast<StringAttr>(axis);
      if (!name)
        return emitError() << "expected axis names, found " << axis;
      if (failed(check(name.getValue())))
        return failure();
    }
  for (StringAttr axis : unreduced)
    if (failed(check(axis.getValue())))
      return failure();
  return success();
}

/// Parses `["a", "b"]` or `{"a", "b"}` into string attributes.
static ParseResult parseAxes(AsmParser &parser, AsmParser::Delimiter delimiter,
                             SmallVectorImpl<Attribute> &axes) {
  return parser.parseCommaSeparatedList(delimiter, [&] {
    std::string name;
    if (parser.parseString(&name))
      return failure();
    axes.push_back(StringAttr::get(parser.getContext(), name));
    return success();
  });
}

Attribute ShardingAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  FlatSymbolRefAttr mesh;
  SmallVector<ArrayAttr> dims;
  SmallVector<StringAttr> unreduced;
  ReduceKind kind = ReduceKind::Sum;
  auto parseDim = [&]() -> ParseResult {
    SmallVector<Attribute> axes;
    auto parsePart = [&]() -> ParseResult {
      int64_t unsplit;
      OptionalParseResult isNumber = parser.parseOptionalInteger(unsplit);
      std::string name;
      if (isNumber.has_value() ? failed(*isNumber) : failed(parser.parseString(&name)))
        return failure();
      axes.push_back(isNumber.has_value()
                         ? Attribute(parser.getBuilder().getI64IntegerAttr(unsplit))
                         : Attribute(StringAttr::get(parser.getContext(), name)));
      return success();
    };
    if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Braces, parsePart))
      return failure();
    dims.push_back(ArrayAttr::get(parser.getContext(), axes));
    return success();
  };
  if (parser.parseLess() || parser.parseAttribute(mesh) || parser.parseComma() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseDim))
    return {};
  if (succeeded(parser.parseOptionalComma())) {
    StringRef keyword;
    SmallVector<Attribute> axes;
    if (parser.parseKeyword("unreduced") || parser.parseEqual() || parser.parseKeyword(&keyword))
      return {};
    std::optional<ReduceKind> parsed = symbolizeReduceKind(keyword);
    if (!parsed) {
      parser.emitError(loc) << "unknown kind of reduction '" << keyword
                            << "', expected sum, max, min, and, or";
      return {};
    }
    kind = *parsed;
    if (parseAxes(parser, AsmParser::Delimiter::Square, axes))
      return {};
    for (Attribute axis : axes)
      unreduced.push_back(cast<StringAttr>(axis));
  }
  if (parser.parseGreater())
    return {};
  return parser.getChecked<ShardingAttr>(loc, parser.getContext(), mesh, dims, kind, unreduced);
}

void ShardingAttr::print(AsmPrinter &printer) const {
  printer << "<" << getMesh() << ", [";
  llvm::interleaveComma(getDims(), printer, [&](ArrayAttr axes) {
    printer << "{";
    llvm::interleaveComma(axes, printer, [&](Attribute part) {
      if (auto unsplit = dyn_cast<IntegerAttr>(part))
        printer << unsplit.getInt();
      else
        printer << part;
    });
    printer << "}";
  });
  printer << "]";
  if (isUnreduced()) {
    printer << ", unreduced = " << stringifyReduceKind(getKind()) << " [";
    llvm::interleaveComma(getUnreduced(), printer);
    printer << "]";
  }
  printer << ">";
}
