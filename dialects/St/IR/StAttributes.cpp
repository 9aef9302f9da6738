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

ShardingAttr ShardingAttr::get(MLIRContext *context, FlatSymbolRefAttr mesh,
                               ArrayRef<ArrayAttr> dims, ReduceKind kind,
                               ArrayRef<StringAttr> unreduced) {
  return get(context, mesh, dims, kind, unreduced, {}, {}, {});
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
  return get(getContext(), getMesh(), getDims(), axes.empty() ? ReduceKind::Sum : kind, axes,
             getOpen(), getPriorities(), getReplicated());
}

ShardingAttr ShardingAttr::withDims(ArrayRef<ArrayAttr> dims) const {
  return get(getContext(), getMesh(), dims, getKind(), getUnreduced(), getOpen(), getPriorities(),
             getReplicated());
}

ShardingAttr ShardingAttr::withoutUnreduced() const { return withUnreduced(ReduceKind::Sum, {}); }

LogicalResult ShardingAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   FlatSymbolRefAttr mesh, ArrayRef<ArrayAttr> dims,
                                   ReduceKind kind, ArrayRef<StringAttr> unreduced,
                                   ArrayRef<int64_t> open, ArrayRef<int64_t> priorities,
                                   ArrayRef<StringAttr> replicated) {
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
          return emitError() << "expected an unsplit part of at least 2, found "
                             << unsplit.getInt();
        continue;
      }
      auto name = dyn_cast<StringAttr>(axis);
      if (!name)
        return emitError() << "expected axis names, found " << axis;
      if (failed(check(name.getValue())))
        return failure();
    }
  for (ArrayRef<StringAttr> axes : {unreduced, replicated})
    for (StringAttr axis : axes)
      if (failed(check(axis.getValue())))
        return failure();
  int64_t before = -1;
  for (int64_t dim : open) {
    if (dim <= before || dim >= static_cast<int64_t>(dims.size()))
      return emitError() << "expected open dimensions below " << dims.size()
                         << " in ascending order, found " << dim;
    before = dim;
  }
  if (!priorities.empty() && priorities.size() != dims.size())
    return emitError() << "expected a priority for each of " << dims.size() << " dimensions, found "
                       << priorities.size();
  if (llvm::any_of(priorities, [](int64_t priority) { return priority < 0; }))
    return emitError() << "expected priorities of at least 0";
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

namespace {
/// The parts of a sharding parsed so far.
struct ShardingParser {
  explicit ShardingParser(AsmParser &parser) : parser(parser) {}

  ParseResult parseDim();
  ParseResult parseField();
  ParseResult parseNames(SmallVectorImpl<StringAttr> &names);

  AsmParser &parser;
  SmallVector<ArrayAttr> dims;
  SmallVector<StringAttr> unreduced, replicated;
  SmallVector<int64_t> open, priorities;
  ReduceKind kind = ReduceKind::Sum;
};
} // namespace

/// One dimension: `{"a", 4, "b", ?}` and, with a priority, `{"a"}p1`.
ParseResult ShardingParser::parseDim() {
  SmallVector<Attribute> axes;
  bool isOpen = false;
  auto parsePart = [&]() -> ParseResult {
    if (isOpen)
      return parser.emitError(parser.getCurrentLocation(), "expected '?' last in a dimension");
    if (succeeded(parser.parseOptionalQuestion())) {
      isOpen = true;
      return success();
    }
    int64_t unsplit;
    OptionalParseResult isNumber = parser.parseOptionalInteger(unsplit);
    std::string name;
    if (isNumber.has_value() ? failed(*isNumber) : failed(parser.parseString(&name)))
      return failure();
    axes.push_back(isNumber.has_value() ? Attribute(parser.getBuilder().getI64IntegerAttr(unsplit))
                                        : Attribute(StringAttr::get(parser.getContext(), name)));
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Braces, parsePart))
    return failure();
  if (isOpen)
    open.push_back(static_cast<int64_t>(dims.size()));
  dims.push_back(ArrayAttr::get(parser.getContext(), axes));
  int64_t priority = 0;
  StringRef rank;
  SMLoc loc = parser.getCurrentLocation();
  if (succeeded(parser.parseOptionalKeyword(&rank)) &&
      (!rank.consume_front("p") || rank.getAsInteger(10, priority)))
    return parser.emitError(loc, "expected a priority such as p1");
  priorities.push_back(priority);
  return success();
}

ParseResult ShardingParser::parseNames(SmallVectorImpl<StringAttr> &names) {
  SmallVector<Attribute> axes;
  if (parseAxes(parser, AsmParser::Delimiter::Square, axes))
    return failure();
  for (Attribute axis : axes)
    names.push_back(cast<StringAttr>(axis));
  return success();
}

/// `replicated = ["a"]` or `unreduced = sum ["a"]`.
ParseResult ShardingParser::parseField() {
  SMLoc loc = parser.getCurrentLocation();
  if (succeeded(parser.parseOptionalKeyword("replicated")))
    return failure(parser.parseEqual() || parseNames(replicated));
  StringRef keyword;
  if (parser.parseKeyword("unreduced") || parser.parseEqual() || parser.parseKeyword(&keyword))
    return failure();
  std::optional<ReduceKind> parsed = symbolizeReduceKind(keyword);
  if (!parsed)
    return parser.emitError(loc) << "unknown kind of reduction '" << keyword
                                 << "', expected sum, max, min, and, or";
  kind = *parsed;
  return parseNames(unreduced);
}

Attribute ShardingAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  FlatSymbolRefAttr mesh;
  ShardingParser parsed(parser);
  if (parser.parseLess() || parser.parseAttribute(mesh) || parser.parseComma() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                     [&] { return parsed.parseDim(); }))
    return {};
  while (succeeded(parser.parseOptionalComma()))
    if (parsed.parseField())
      return {};
  if (parser.parseGreater())
    return {};
  if (llvm::all_of(parsed.priorities, [](int64_t priority) { return priority == 0; }))
    parsed.priorities.clear();
  return parser.getChecked<ShardingAttr>(loc, parser.getContext(), mesh, parsed.dims, parsed.kind,
                                         parsed.unreduced, parsed.open, parsed.priorities,
                                         parsed.replicated);
}

void ShardingAttr::print(AsmPrinter &printer) const {
  printer << "<" << getMesh() << ", [";
  int64_t dim = 0;
  llvm::interleaveComma(getDims(), printer, [&](ArrayAttr axes) {
    printer << "{";
    llvm::interleaveComma(axes, printer, [&](Attribute part) {
      if (auto unsplit = dyn_cast<IntegerAttr>(part))
        printer << unsplit.getInt();
      else
        printer << part;
    });
    if (isOpen(dim))
      printer << (axes.empty() ? "?" : ", ?");
    printer << "}";
    if (int64_t priority = priorityOf(dim++))
      printer << "p" << priority;
  });
  printer << "]";
  auto printNames = [&](ArrayRef<StringAttr> names) {
    printer << "[";
    llvm::interleaveComma(names, printer);
    printer << "]";
  };
  if (!getReplicated().empty()) {
    printer << ", replicated = ";
    printNames(getReplicated());
  }
  if (isUnreduced()) {
    printer << ", unreduced = " << stringifyReduceKind(getKind()) << " ";
    printNames(getUnreduced());
  }
  printer << ">";
}
