#include "backends/dtu/codegen/attention/AttentionPlan.h"
#include "backends/dtu/isa/Names.h"
#include "dialects/St/Interfaces/Shapes.h"
#include "dialects/St/Utils/CoordinateRange.h"
#include "dialects/St/Utils/KernelParts.h"

#include "backends/dtu/codegen/kernels/VectorOps.h"
#include "dialects/StableHLO/Utils/ProductStrides.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::dtu;
using mlir::st::shapeOf;
using stablehlo::DotGeneralOp;

static std::optional<hw::DType> elementDType(Value value) {
  return getDType(getElementTypeOrSelf(value.getType()));
}

// ---- the part on rows -------------------------------------------------------------------------

namespace {
class AttentionAnalysis {
public:
  AttentionAnalysis(Block &body, FusedAttention &fused) : body(body), fused(fused) {}
  LogicalResult run();

private:
  Block &body;
  FusedAttention &fused;
  SmallVector<IterationSpace::AxisStrides> accesses; // along the axes, for all products
  bool contractsRows = false;                        // all consumers do

  LogicalResult collectProducts();
  LogicalResult setConsumers();
  void cloneRows();
  LogicalResult analyzeProducer(AttentionProduct &product, Value rows);
  LogicalResult analyzeConsumer(AttentionProduct &product, Value rows, bool ofRows);
  LogicalResult setTypes(AttentionProduct &product);
  void setGroups();
  LogicalResult translate();
  void findBand();
  int makeTile(TileRef &read, GroupSet tile);
  Block &rowBody() const { return fused.rows->getBody().front(); }
  Value producedRows(size_t producer) const {
    return rowBody().getArgument(body.getNumArguments() + producer);
  }
  Value consumedRows(size_t consumer) const {
    return rowBody().getTerminator()->getOperand(fused.stored.size() + consumer);
  }
  Value contractedRows(size_t product) const {
    return consumedRows(fused.consumers.size() + product);
  }
};
} // namespace

static LogicalResult refuse(DotGeneralOp dot) {
  return dot.emitOpError(
      "of this form is not supported by the DTU backend inside an attention kernel");
}

/// A product of arguments computes rows; a product of a body value consumes them.
LogicalResult AttentionAnalysis::collectProducts() {
  for (auto dot : body.getOps<DotGeneralOp>()) {
    AttentionProduct product;
    product.op = dot;
    auto *yield = body.getTerminator();
    auto result = llvm::find(yield->getOperands(), dot.getResult());
    if (result == yield->operand_end()) {
      fused.producers.push_back(std::move(product));
      continue;
    }
    product.result = result - yield->operand_begin();
    if (!dot->hasOneUse())
      return refuse(dot);
    (mlir::st::contractsRows(dot) ? fused.columnProducts : fused.consumers)
        .push_back(std::move(product));
  }
  for (auto [index, value] : llvm::enumerate(body.getTerminator()->getOperands()))
    if (!value.getDefiningOp<DotGeneralOp>())
      fused.stored.push_back(index);
  return setConsumers();
}

/// All products of a streamed kernel contract the same dimension.
LogicalResult AttentionAnalysis::setConsumers() {
  Operation *kernel = body.getParentOp();
  fused.isStreamed = kernel->hasAttr(mlir::st::kStreamedAttr);
  if (fused.isStreamed && !fused.columnProducts.empty()) {
    if (!fused.consumers.empty())
      return kernel->emitOpError(
          "of kind \"attention\" streams products that contract its rows and "
          "products that do not: run split-attention first");
    fused.consumers = std::move(fused.columnProducts);
    fused.columnProducts.clear();
    contractsRows = true;
  }
  // A gradient of a sum of rows does not need the scores.
  if ((fused.producers.empty() && !contractsRows) || fused.consumers.empty())
    return kernel->emitOpError(
        "of kind \"attention\" has no product before its row loop or none after it");
  return success();
}

void AttentionAnalysis::cloneRows() {
  Location loc = body.getParentOp()->getLoc();
  OpBuilder builder(body.getParentOp()->getContext());
  SmallVector<Value> yielded;
  Operation *yield = body.getTerminator();
  for (unsigned index : fused.stored)
    yielded.push_back(yield->getOperand(index));
  for (auto *products : {&fused.consumers, &fused.columnProducts})
    for (AttentionProduct &product : *products)
      yielded.push_back(product.op.getLhs());
  auto types = llvm::map_to_vector(yielded, [](Value value) { return value.getType(); });
  fused.rows = mlir::st::KernelOp::create(builder, loc, types, builder.getStringAttr("loop"), {});
  Block *rows = builder.createBlock(&fused.rows->getBody());
  IRMapping mapping;
  for (BlockArgument argument : body.getArguments())
    mapping.map(argument, rows->addArgument(argument.getType(), loc));
  for (AttentionProduct &product : fused.producers) {
    // The matrix engine produces f32, which is rounded if the product's type is narrower.
    auto type = cast<RankedTensorType>(product.op.getType());
    Value made = rows->addArgument(type.clone(builder.getF32Type()), loc);
    if (!type.getElementType().isF32())
      made = stablehlo::ConvertOp::create(builder, loc, type, made);
    mapping.map(product.op.getResult(), made);
  }
  for (Operation &op : body.without_terminator())
    if (!isa<DotGeneralOp>(op))
      builder.clone(op, mapping);
  mlir::st::YieldOp::create(builder, loc, llvm::map_to_vector(yielded, [&](Value value) {
                              return mapping.lookup(value);
                            }));
  // The reverse iterator becomes invalid when its op is erased.
  auto ops = llvm::map_to_vector(rows->without_terminator(), [](Operation &op) { return &op; });
  for (Operation *op : llvm::reverse(ops))
    if (op->use_empty())
      op->erase();
}

// ---- products ---------------------------------------------------------------------------------

LogicalResult AttentionAnalysis::setTypes(AttentionProduct &product) {
  auto type = elementDType(product.op.getLhs());
  if (!type || type != elementDType(product.op.getRhs()) ||
      !llvm::is_contained({hw::DType::F32, hw::DType::BF16, hw::DType::F16}, *type))
    return refuse(product.op);
  product.type = *type;
  return success();
}

/// `width`: the dimension that is not a loop of the rows.
static void setMatrix(AttentionProduct &product, Value operand, const OperandAccess &access,
                      int64_t width) {
  product.matrix.argument = access.argument.getArgNumber();
  product.matrix.offset = access.offset;
  product.matrix.width = shapeOf(operand)[width];
  product.matrix.widthStride = access.strides[width];
  product.matrix.type = elementDType(access.argument).value_or(hw::DType::I1);
}

LogicalResult AttentionAnalysis::analyzeProducer(AttentionProduct &product, Value rows) {
  DotGeneralOp dot = product.op;
  FailureOr<mlir::st::ProductDims> dims = mlir::st::findDepths(dot);
  FailureOr<OperandAccess> lhs = traceOperand(dot.getLhs()), rhs = traceOperand(dot.getRhs());
  if (failed(lhs) || failed(rhs))
    return failure();
  if (failed(dims) || dims->leftDepth < 0 || dims->rightDepth < 0)
    return refuse(dot);
  auto strides = mlir::st::getOperandStrides(dot, rows, fused.space, lhs->strides, rhs->strides);
  // Workers hold elements of the parallel dimension's operand; the other one streams.
  const OperandAccess &held = contractsRows ? *rhs : *lhs;
  int64_t depth = contractsRows ? dims->rightDepth : dims->leftDepth;
  accesses.append({strides.left, strides.right});
  if (contractsRows)
    std::swap(accesses.back(), accesses[accesses.size() - 2]);
  product.rows.argument = held.argument.getArgNumber();
  product.rows.offset = held.offset;
  product.rows.depth = {held.strides[depth]};
  product.rows.type = elementDType(held.argument).value_or(hw::DType::I1);
  if (contractsRows)
    setMatrix(product, dot.getLhs(), *lhs, dims->leftDepth);
  else
    setMatrix(product, dot.getRhs(), *rhs, dims->rightDepth);
  return setTypes(product);
}

LogicalResult AttentionAnalysis::analyzeConsumer(AttentionProduct &product, Value rows,
                                                 bool ofRows) {
  DotGeneralOp dot = product.op;
  FailureOr<mlir::st::ProductDims> dims = mlir::st::findDepthsAndWidth(dot);
  FailureOr<OperandAccess> rhs = traceOperand(dot.getRhs());
  if (failed(rhs))
    return failure();
  size_t axes = fused.space.getNumAxes();
  if (failed(dims) || dims->leftDepth < 0 || dims->rightDepth < 0 || dims->width < 0 || axes < 2 ||
      fused.space.getAxis(rows, dims->leftDepth) != axes - (ofRows ? 2 : 1))
    return refuse(dot);
  SmallVector<int64_t> result = denseStrides(shapeOf(dot.getResult()));
  auto strides = mlir::st::getConsumerStrides(dot, *dims, rows, fused.space, result, rhs->strides);
  product.resultColumnStride = result[strides.widthDim];
  product.resultType = elementDType(dot.getResult()).value_or(hw::DType::I1);
  accesses.append({strides.right, strides.left});
  setMatrix(product, dot.getRhs(), *rhs, dims->width);
  return setTypes(product);
}

/// The products' strides along the groups, in collection order.
void AttentionAnalysis::setGroups() {
  fused.space.formGroups(accesses);
  size_t next = 0;
  auto take = [&] { return fused.space.getStrides(accesses[next++]); };
  for (AttentionProduct &product : fused.producers) {
    product.rows.strides = take();
    product.matrix.strides = take();
  }
  for (auto *products : {&fused.consumers, &fused.columnProducts})
    for (AttentionProduct &product : *products) {
      product.matrix.strides = take();
      product.resultStrides = take();
    }
  fused.parallel = contractsRows ? fused.columnGroup() : fused.rowGroup();
  fused.streamed = contractsRows ? fused.rowGroup() : fused.columnGroup();
  for (AttentionProduct *product : getProducts(fused))
    product->matrix.group = fused.streamed;
  for (AttentionProduct &product : fused.columnProducts)
    product.matrix.group = fused.rowGroup();
}

/// Returns the value that a product reads as a tile that the core computes. A value that varies
/// along rows or columns alone (a broadcast of row statistics), or an unmodified input, is copied
/// to a tile.
int AttentionAnalysis::makeTile(TileRef &read, GroupSet tile) {
  TileProgram &program = fused.program;
  const TileValue &value = program.values[read.value];
  if (value.kind == TileValue::Kind::Computed && (value.groups & tile) == tile)
    return read.value;
  TileOp copy;
  copy.dstType = read.type;
  copy.sources = {read};
  copy.groups = value.groups | tile;
  auto *known = llvm::find_if(program.ops, [&](const TileOp &op) {
    return op.op == copy.op && !op.reduction && op.groups == copy.groups &&
           op.dstType == copy.dstType && op.sources.front().value == read.value &&
           op.sources.front().type == read.type;
  });
  if (known == program.ops.end()) {
    TileValue made;
    made.groups = copy.groups;
    made.type = copy.dstType;
    made.level = value.level;
    copy.dst = program.values.size();
    program.values.push_back(std::move(made));
    program.ops.push_back(std::move(copy));
    known = &program.ops.back();
  }
  read = {known->dst, known->dstType};
  return known->dst;
}

LogicalResult AttentionAnalysis::translate() {
  FailureOr<TileProgram> program = TileProgram::build(rowBody(), fused.space);
  if (failed(program))
    return failure();
  fused.program = std::move(*program);
  GroupSet tile = GroupSet(1) << fused.rowGroup() | GroupSet(1) << fused.columnGroup();
  for (auto [index, value] : llvm::enumerate(fused.program.values)) {
    if (value.kind != TileValue::Kind::Input || value.argument < body.getNumArguments())
      continue;
    value.kind = TileValue::Kind::Accumulator;
    fused.producers[value.argument - body.getNumArguments()].value = index;
  }
  size_t output = fused.stored.size();
  for (auto *products : {&fused.consumers, &fused.columnProducts})
    for (AttentionProduct &product : *products)
      product.value = makeTile(fused.program.outputs[output++].ref, tile);
  // A product's operand or result is a tile of complete rows, one per iteration of the other loops.
  GroupSet column = GroupSet(1) << fused.columnGroup();
  fused.program.setRates(~column, 0);
  for (AttentionProduct *product : getProducts(fused)) {
    StreamedMatrix &matrix = product->matrix;
    const TileValue *value = product->value < 0 ? nullptr : &fused.program.values[product->value];
    int other = fused.rowGroup() + fused.columnGroup() - static_cast<int>(matrix.group);
    if (!value || (value->groups & tile) != tile || matrix.strides[other] != 0)
      return refuse(product->op);
    matrix.streamInside = matrix.streamStride() == 1 && matrix.widthStride != 1;
  }
  for (AttentionProduct &product : fused.columnProducts) {
    auto *known = llvm::find_if(
        fused.panels, [&](const AttentionPanel &panel) { return panel.value == product.value; });
    product.panel = known - fused.panels.begin();
    if (known == fused.panels.end())
      fused.panels.push_back({product.value, product.type});
  }
  return success();
}

/// Sets the band of elements to compute: all if some row value that is stored varies along columns.
void AttentionAnalysis::findBand() {
  const GroupSet column = GroupSet(1) << fused.columnGroup();
  OperandRange yielded = rowBody().getTerminator()->getOperands();
  for (Value value : yielded.take_front(fused.stored.size()))
    if (fused.space.getGroups(value) & column)
      return;
  SmallVector<Value> scores;
  for (size_t i = 0; i < fused.producers.size(); ++i)
    scores.push_back(producedRows(i));
  auto kernel = cast<mlir::st::KernelOp>(body.getParentOp());
  fused.band = mlir::st::findDiagonalBand(
      rowBody(), fused.space, fused.rowGroup(), fused.columnGroup(), scores,
      yielded.drop_front(fused.stored.size()), mlir::st::getInputRanges(kernel),
      kernel->hasAttr(mlir::st::kPartialRowsAttr));
}

LogicalResult AttentionAnalysis::run() {
  if (failed(collectProducts()))
    return failure();
  cloneRows();
  FailureOr<IterationSpace> space = IterationSpace::analyze(rowBody());
  if (failed(space))
    return failure();
  fused.space = *space;
  for (auto [index, product] : llvm::enumerate(fused.producers))
    if (failed(analyzeProducer(product, producedRows(index))))
      return failure();
  for (auto [index, product] : llvm::enumerate(fused.consumers))
    if (failed(analyzeConsumer(product, consumedRows(index), contractsRows)))
      return failure();
  for (auto [index, product] : llvm::enumerate(fused.columnProducts))
    if (failed(analyzeConsumer(product, contractedRows(index), true)))
      return failure();
  setGroups();
  unsigned axes = fused.space.getNumAxes();
  if (axes < 2 || fused.space.getGroupOfAxis(axes - 1) == fused.space.getGroupOfAxis(axes - 2))
    return refuse(fused.consumers.front().op);
  if (failed(translate()))
    return failure();
  findBand();
  std::optional<GroupSet> reduced = fused.program.getReducedGroups();
  if (!reduced || (*reduced & ~(GroupSet(1) << fused.streamed)) != 0)
    return body.getParentOp()->emitOpError("reduces dimensions other than its ")
           << (contractsRows ? "rows" : "columns")
           << ", which is not supported by the DTU backend inside an attention kernel";
  return success();
}

FailureOr<FusedAttention> mlir::dtu::analyzeAttention(Block &body) {
  FusedAttention fused;
  if (failed(AttentionAnalysis(body, fused).run()))
    return failure();
  return fused;
}

SmallVector<AttentionProduct *> mlir::dtu::getProducts(FusedAttention &fused) {
  SmallVector<AttentionProduct *> products;
  for (auto *list : {&fused.producers, &fused.consumers, &fused.columnProducts})
    for (AttentionProduct &product : *list)
      products.push_back(&product);
  return products;
}
