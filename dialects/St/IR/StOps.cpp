#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/St/IR/StDialect.h"
#include "dialects/St/Interfaces/Notes.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::st;

/// The types of operands that are also those of the results.
static ParseResult parseSameTypes(OpAsmParser &parser, SmallVectorImpl<Type> &operands,
                                  SmallVectorImpl<Type> &results) {
  if (parser.parseTypeList(operands))
    return failure();
  results.assign(operands.begin(), operands.end());
  return success();
}

static void printSameTypes(OpAsmPrinter &printer, Operation *, TypeRange operands, TypeRange) {
  llvm::interleaveComma(operands, printer);
}

#define GET_OP_CLASSES
#include "dialects/St/IR/StOps.cpp.inc"

// ---- st.mesh ------------------------------------------------------------------

std::optional<int64_t> MeshOp::getAxisSize(StringRef axis) {
  if (axis == kMicro)
    return getMicro();
  for (auto [name, size] : llvm::zip_equal(getAxisNames(), getAxisSizes()))
    if (cast<StringAttr>(name).getValue() == axis)
      return size;
  return std::nullopt;
}

int64_t MeshOp::getNumDevices() {
  int64_t count = 1;
  for (int64_t size : getAxisSizes())
    count *= size;
  return count;
}

int64_t MeshOp::getCoordinate(int64_t rank, StringRef axis) {
  const ArrayRef<int64_t> sizes = getAxisSizes();
  int64_t inner = 1;
  for (size_t i = sizes.size(); i-- > 0; inner *= sizes[i])
    if (cast<StringAttr>(getAxisNames()[i]).getValue() == axis)
      return rank / inner % sizes[i];
  return 0;
}

LogicalResult MeshOp::verify() {
  if (getAxisNames().size() != getAxisSizes().size())
    return emitOpError("has ") << getAxisNames().size() << " axis names and "
                               << getAxisSizes().size() << " sizes";
  if (getMicro() < 1)
    return emitOpError("expects micro to be at least 1, found ") << getMicro();
  llvm::StringSet<> seen;
  for (auto [attribute, size] : llvm::zip_equal(getAxisNames(), getAxisSizes())) {
    StringRef name = cast<StringAttr>(attribute).getValue();
    if (name == kMicro)
      return emitOpError("lists the temporal axis \"micro\" among the spatial ones");
    if (!seen.insert(name).second)
      return emitOpError("names axis \"") << name << "\" twice";
    if (size < 1)
      return emitOpError("expects axis \"") << name << "\" to have a positive size, found " << size;
  }
  return success();
}

ParseResult MeshOp::parse(OpAsmParser &parser, OperationState &result) {
  StringAttr name;
  SmallVector<Attribute> axes;
  SmallVector<int64_t> sizes;
  int64_t micro = 1;
  auto parseAxis = [&]() -> ParseResult {
    std::string axis;
    int64_t size;
    if (parser.parseString(&axis) || parser.parseEqual() || parser.parseInteger(size))
      return failure();
    axes.push_back(parser.getBuilder().getStringAttr(axis));
    sizes.push_back(size);
    return success();
  };
  if (parser.parseSymbolName(name, "sym_name", result.attributes) || parser.parseLess() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseAxis) ||
      parser.parseComma() || parser.parseKeyword("micro") || parser.parseEqual() ||
      parser.parseInteger(micro) || parser.parseGreater() ||
      parser.parseOptionalAttrDict(result.attributes))
    return failure();
  Builder &builder = parser.getBuilder();
  result.addAttribute("axis_names", builder.getArrayAttr(axes));
  result.addAttribute("axis_sizes", builder.getDenseI64ArrayAttr(sizes));
  result.addAttribute("micro", builder.getI64IntegerAttr(micro));
  return success();
}

void MeshOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printer.printSymbolName(getSymName());
  printer << " <[";
  llvm::interleaveComma(llvm::zip_equal(getAxisNames(), getAxisSizes()), printer, [&](auto axis) {
    printer << std::get<0>(axis) << "=" << std::get<1>(axis);
  });
  printer << "], micro=" << getMicro() << ">";
  printer.printOptionalAttrDict((*this)->getAttrs(),
                                {"sym_name", "axis_names", "axis_sizes", "micro"});
}

// ---- on global tensors ----------------------------------------------------------

LogicalResult ReshardOp::verify() { return verifyShardingFits(getSharding(), getType(), *this); }
LogicalResult ConstrainOp::verify() {
  return verifyShardingFits(getSharding(), getType(), *this, /*mayBeUneven=*/true);
}

LogicalResult TransferOp::verify() {
  int64_t source = getSource(), target = getTarget();
  if (source < 0 || target < 0 || source == target)
    return emitOpError("expects two different stages, found ") << source << " and " << target;
  return success();
}

// ---- collectives --------------------------------------------------------------

/// Returns the diagnostic with a note at the mesh that the op names, where that is visible.
static InFlightDiagnostic withMesh(InFlightDiagnostic &&diagnostic, Operation *op) {
  auto name = op->getAttrOfType<FlatSymbolRefAttr>("mesh");
  auto mesh = SymbolTable::lookupNearestSymbolFrom<MeshOp>(op->getParentOfType<ModuleOp>(), name);
  return mesh ? withNote(std::move(diagnostic), mesh, "the mesh is here") : std::move(diagnostic);
}

/// Number of devices along `axes`, or failure with a diagnostic. A mesh that is
/// not visible from here (a fragment in a test) leaves the sizes unchecked.
static FailureOr<std::optional<int64_t>> checkAxes(Operation *op, FlatSymbolRefAttr meshName,
                                                   ArrayAttr axes) {
  if (axes.empty())
    return op->emitOpError("expects at least one mesh axis");
  auto mesh =
      SymbolTable::lookupNearestSymbolFrom<MeshOp>(op->getParentOfType<ModuleOp>(), meshName);
  if (!mesh)
    return op->emitOpError("names mesh ") << meshName << ", which does not exist";
  int64_t size = 1;
  for (Attribute axis : axes) {
    StringRef name = cast<StringAttr>(axis).getValue();
    std::optional<int64_t> axisSize = mesh.getAxisSize(name);
    if (!axisSize || name == MeshOp::kMicro)
      return withMesh(op->emitOpError("expects a spatial axis of ")
                          << meshName << ", found \"" << name << "\"",
                      op);
    size *= *axisSize;
  }
  return std::optional<int64_t>(size);
}

/// Checks that `to` is `from` with dimension `dim` multiplied by `times` and divided by `over`.
static LogicalResult checkScaled(Operation *op, RankedTensorType from, RankedTensorType to,
                                 int64_t dim, int64_t times, int64_t over) {
  if (dim < 0 || dim >= from.getRank())
    return op->emitOpError("has dimension ") << dim << " of a tensor of rank " << from.getRank();
  SmallVector<int64_t> expected(from.getShape());
  if (expected[dim] * times % over != 0)
    return withMesh(op->emitOpError("cannot split dimension ")
                        << dim << " of size " << expected[dim] << " into " << over,
                    op);
  expected[dim] = expected[dim] * times / over;
  auto type = RankedTensorType::get(expected, from.getElementType());
  if (type != to)
    return op->emitOpError("expects result type ") << type << ", found " << to;
  return success();
}

/// Checks that the numbers of results and operands are equal, and checks each pair of types.
static LogicalResult
checkPairs(Operation *op, function_ref<LogicalResult(RankedTensorType, RankedTensorType)> check) {
  if (op->getNumOperands() == 0)
    return op->emitOpError("expects at least one operand");
  if (op->getNumOperands() != op->getNumResults())
    return op->emitOpError("expects one result for each operand, found ")
           << op->getNumOperands() << " operands and " << op->getNumResults() << " results";
  for (auto [from, to] : llvm::zip_equal(op->getOperandTypes(), op->getResultTypes()))
    if (failed(check(cast<RankedTensorType>(from), cast<RankedTensorType>(to))))
      return failure();
  return success();
}

LogicalResult AllReduceOp::verify() {
  if (failed(checkAxes(*this, getMeshAttr(), getAxes())))
    return failure();
  return checkPairs(*this, [&](RankedTensorType from, RankedTensorType to) {
    return from == to ? success() : emitOpError("expects result type ") << from << ", found " << to;
  });
}

LogicalResult AllGatherOp::verify() {
  auto size = checkAxes(*this, getMeshAttr(), getAxes());
  if (failed(size))
    return failure();
  return checkPairs(*this, [&](RankedTensorType from, RankedTensorType to) {
    return checkScaled(*this, from, to, getDim(), **size, 1);
  });
}

LogicalResult ReduceScatterOp::verify() {
  auto size = checkAxes(*this, getMeshAttr(), getAxes());
  if (failed(size))
    return failure();
  return checkPairs(*this, [&](RankedTensorType from, RankedTensorType to) {
    return checkScaled(*this, from, to, getDim(), 1, **size);
  });
}

LogicalResult AllSliceOp::verify() {
  auto size = checkAxes(*this, getMeshAttr(), getAxes());
  if (failed(size))
    return failure();
  return checkScaled(*this, cast<RankedTensorType>(getOperand().getType()),
                     cast<RankedTensorType>(getType()), getDim(), 1, **size);
}

LogicalResult AllToAllOp::verify() {
  auto size = checkAxes(*this, getMeshAttr(), getAxes());
  if (failed(size))
    return failure();
  auto from = cast<RankedTensorType>(getOperand().getType());
  int64_t split = getSplitDim(), concat = getConcatDim();
  if (split < 0 || split >= from.getRank() || concat < 0 || concat >= from.getRank() ||
      split == concat)
    return emitOpError("expects two different dimensions of a tensor of rank ") << from.getRank();
  SmallVector<int64_t> shape(from.getShape());
  if (shape[split] % **size != 0)
    return withMesh(emitOpError("cannot split dimension ")
                        << split << " of size " << shape[split] << " into " << **size,
                    *this);
  shape[split] /= **size;
  shape[concat] *= **size;
  auto type = RankedTensorType::get(shape, from.getElementType());
  if (type != getType())
    return emitOpError("expects result type ") << type << ", found " << getType();
  return success();
}

LogicalResult CollectivePermuteOp::verify() {
  if (getPairs().size() % 2 != 0)
    return emitOpError("expects source-target pairs, found ") << getPairs().size() << " numbers";
  auto size = checkAxes(*this, getMeshAttr(), getAxes());
  if (failed(size))
    return failure();
  llvm::SmallDenseSet<int64_t> ends[2];
  for (auto [i, position] : llvm::enumerate(getPairs())) {
    if (position < 0 || position >= **size)
      return withMesh(emitOpError("expects positions below ") << **size << ", found " << position,
                      *this);
    if (!ends[i % 2].insert(position).second)
      return emitOpError("expects each ")
             << (i % 2 ? "target" : "source") << " once, found " << position << " again";
  }
  return success();
}

LogicalResult AxisIndexOp::verify() {
  if (cast<RankedTensorType>(getType()).getRank() != 0)
    return emitOpError("expects a scalar result, found ") << getType();
  auto mesh = SymbolTable::lookupNearestSymbolFrom<MeshOp>((*this)->getParentOfType<ModuleOp>(),
                                                           getMeshAttr());
  std::optional<int64_t> size = mesh ? mesh.getAxisSize(getAxis()) : std::nullopt;
  if (!size)
    return withMesh(emitOpError("expects an axis of ")
                        << getMeshAttr() << ", found \"" << getAxis() << "\"",
                    *this);
  const int64_t end = getAxis() == MeshOp::kMicro ? 1 : *size;
  if (getShift() < 0 || getShift() >= end)
    return withMesh(
        emitOpError("expects a shift from 0 to ") << end - 1 << ", found " << getShift(), *this);
  return success();
}
