// Moves products before and after a row loop into its kernel, so that the rows between them (the
// scores and probabilities of attention) stay in the scratch memory of a core.

#include "dialects/StableHLO/StableHLOOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "passes/Kernels/KernelPlan.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::st;
using stablehlo::DotGeneralOp;

namespace {
/// The dimensions larger than 1 of one operand of a product.
struct OperandDims {
  SmallVector<int64_t> batch, contracted, free;
};
} // namespace

/// Number of row values that are live at the same time in addition to the loop's inputs, in
/// four-byte elements; and bytes of an accumulator element of the matrix engine.
static constexpr int64_t kAlive = 8, kSumBytes = 4;

static OperandDims getDims(Value operand, ArrayRef<int64_t> batch, ArrayRef<int64_t> contracted) {
  OperandDims dims;
  for (auto [dim, size] : llvm::enumerate(cast<RankedTensorType>(operand.getType()).getShape())) {
    auto number = static_cast<int64_t>(dim);
    if (size == 1)
      continue;
    if (llvm::is_contained(batch, number))
      dims.batch.push_back(number);
    else if (llvm::is_contained(contracted, number))
      dims.contracted.push_back(number);
    else
      dims.free.push_back(number);
  }
  return dims;
}

static OperandDims getLhsDims(DotGeneralOp dot) {
  auto numbers = dot.getDotDimensionNumbers();
  return getDims(dot.getLhs(), numbers.getLhsBatchingDimensions(),
                 numbers.getLhsContractingDimensions());
}
static OperandDims getRhsDims(DotGeneralOp dot) {
  auto numbers = dot.getDotDimensionNumbers();
  return getDims(dot.getRhs(), numbers.getRhsBatchingDimensions(),
                 numbers.getRhsContractingDimensions());
}

static int64_t getSize(Value value, int64_t dim) {
  return cast<RankedTensorType>(value.getType()).getDimSize(dim);
}

/// The depth of a product, and the columns of one that reads rows.
static int64_t getDepth(DotGeneralOp dot) {
  return getSize(dot.getLhs(), getLhsDims(dot).contracted.front());
}
static int64_t getWidth(DotGeneralOp dot) {
  return getSize(dot.getRhs(), getRhsDims(dot).free.front());
}

/// The largest depth and column count of products around rows that GPUs stream: their registers
/// hold the accumulators of the results.
static constexpr int64_t kMaxStreamed = 128;

/// Returns true if the matrix engine accepts the operands without a transpose.
static bool isPlainProduct(DotGeneralOp dot) {
  Type type = getElementTypeOrSelf(dot.getLhs().getType());
  return type == getElementTypeOrSelf(dot.getRhs().getType()) && isa<FloatType>(type) &&
         type.getIntOrFloatBitWidth() <= 32;
}

/// Returns true if a product's result has the type of the matrix engine's accumulator.
static bool isSum(DotGeneralOp dot) { return getElementTypeOrSelf(dot.getType()).isF32(); }

/// A product whose rows and columns are those of the loop and whose result only the loop reads,
/// unchanged.
bool KernelPlan::isAttentionProducer(unsigned product, unsigned loop) const {
  const PlanNode &node = nodes[product], &rows = nodes[loop];
  if (node.kind != PlanNode::Matmul || node.space != rows.space || !node.writes.empty() ||
      llvm::any_of(node.users, [&](unsigned user) { return find(user) != loop; }))
    return false;
  DotGeneralOp dot = getProduct(node);
  if (!isPlainProduct(dot) || getLhsDims(dot).free.empty() || getRhsDims(dot).free.size() != 1 ||
      getLhsDims(dot).contracted.size() != 1)
    return false;
  Value created = node.ops.back()->getResult(0);
  for (Operation *op : rows.ops)
    for (const Leaf &leaf : getLeaves(op, axesOf.lookup(op), rows.space))
      if (find(homeIndex(leaf.value)) == product &&
          (leaf.value != created || leaf.axes != allAxes(rows.space.size())))
        return false;
  return true;
}

/// A product with an operand over the loop's full space. It contracts one dimension of that
/// operand.
bool KernelPlan::readsRows(unsigned product, unsigned loop) const {
  const PlanNode &node = nodes[product], &rows = nodes[loop];
  if (node.kind != PlanNode::Matmul || node.ops.size() != 1)
    return false;
  DotGeneralOp dot = getProduct(node);
  Operation *maker = dot.getLhs().getDefiningOp();
  auto found = nodeOf.find(maker);
  bool ofLoop = found != nodeOf.end() && find(found->second) == loop &&
                axesOf.lookup(maker) == allAxes(rows.space.size());
  return ofLoop && isPlainProduct(dot) && find(homeIndex(dot.getRhs())) != loop &&
         getLhsDims(dot).contracted.size() == 1 && getRhsDims(dot).free.size() == 1;
}

/// A product that contracts complete rows of the loop.
bool KernelPlan::isAttentionConsumer(unsigned product, unsigned loop) const {
  if (!readsRows(product, loop))
    return false;
  OperandDims lhs = getLhsDims(getProduct(nodes[product]));
  return !lhs.free.empty() && lhs.contracted.front() > lhs.free.back() &&
         (lhs.batch.empty() || lhs.free.back() > lhs.batch.back());
}

/// A product that contracts the rows of the loop, column by column.
bool KernelPlan::isColumnProduct(unsigned product, unsigned loop) const {
  if (!readsRows(product, loop))
    return false;
  OperandDims lhs = getLhsDims(getProduct(nodes[product]));
  return lhs.free.size() == 1 && lhs.free.front() > lhs.contracted.front() &&
         (lhs.batch.empty() || lhs.contracted.front() > lhs.batch.back());
}

/// A place for a loop with these consumers: after all their other operands and before any of their
/// users.
std::optional<uint64_t> KernelPlan::getAttentionPlace(unsigned loop,
                                                      ArrayRef<unsigned> consumers) const {
  uint64_t place = nodes[loop].place;
  for (unsigned consumer : consumers) {
    unsigned source = find(homeIndex(getProduct(nodes[consumer]).getRhs()));
    if (nodes[source].place > place)
      place = nodes[consumer].place;
  }
  auto isEarly = [&](unsigned user) {
    user = find(user);
    return user != loop && !llvm::is_contained(consumers, user) && nodes[user].place < place;
  };
  if (llvm::any_of(nodes[loop].users, isEarly))
    return std::nullopt;
  for (unsigned consumer : consumers)
    if (llvm::any_of(nodes[consumer].users, isEarly))
      return std::nullopt;
  return place;
}

/// Returns true if a core can stream the rows: it holds the accumulators of some rows and two
/// blocks of each matrix. If `consumers` contract the rows, the loop's columns take the place of
/// its rows.
bool KernelPlan::canStream(unsigned loop, ArrayRef<unsigned> producers,
                           ArrayRef<unsigned> consumers, bool ofColumns) const {
  constexpr int64_t kRows = 8, kBlock = 16;
  int64_t own = 0, streamed = 0, widest = 0; // bytes of a row, and of a column
  llvm::SmallDenseSet<Value> matrices;
  auto addProduct = [&](DotGeneralOp dot, Value matrix, int64_t width) {
    own += width * (kSumBytes + getElementBytes(dot.getResult()));
    if (matrices.insert(matrix).second)
      streamed += width * getElementBytes(matrix);
    widest = std::max(widest, width);
  };
  for (unsigned producer : producers) {
    DotGeneralOp dot = getProduct(nodes[producer]);
    addProduct(dot, ofColumns ? dot.getLhs() : dot.getRhs(), getDepth(dot));
  }
  for (unsigned consumer : consumers) {
    DotGeneralOp dot = getProduct(nodes[consumer]);
    addProduct(dot, dot.getRhs(), getWidth(dot));
  }
  if (limits.attention == AttentionForm::Streamed)
    return widest <= kMaxStreamed;
  int64_t tile = kAlive * kSumBytes;
  for (Value input : nodes[loop].inputs)
    if (ArrayRef(squeeze(input)) == ArrayRef(nodes[loop].space))
      tile += 2 * getElementBytes(input);
  return 2 * kBlock * streamed + kRows * (own + kBlock * tile) <= limits.scratchBytes;
}

/// Returns true if the rows, once computed, are stored for ops other than these consumers and the
/// products that contract them.
bool KernelPlan::storesRows(unsigned loop, ArrayRef<unsigned> consumers) const {
  const PlanNode &node = nodes[loop];
  DenseSet<Operation *> readers(node.ops.begin(), node.ops.end());
  auto addReader = [&](unsigned reader) {
    readers.insert(nodes[reader].ops.begin(), nodes[reader].ops.end());
  };
  llvm::for_each(consumers, addReader);
  for (unsigned user : node.users)
    if (isColumnProduct(find(user), loop))
      addReader(find(user));
  return llvm::any_of(node.ops, [&](Operation *op) {
    return axesOf.lookup(op) == allAxes(node.space.size()) && op->getNumResults() == 1 &&
           isReadOutside(op->getResult(0), readers);
  });
}

/// Returns true if rows that a core may hold in full or in part may be streamed. Streaming costs
/// time, and saves no memory if the rows are stored anyway.
bool KernelPlan::mayStream(unsigned loop, ArrayRef<unsigned> producers,
                           ArrayRef<unsigned> consumers) const {
  ArrayRef<int64_t> space = nodes[loop].space;
  int64_t widths = 0;
  for (unsigned producer : producers)
    widths += getDepth(getProduct(nodes[producer]));
  for (unsigned consumer : consumers)
    widths += getWidth(getProduct(nodes[consumer]));
  return limits.attention == AttentionForm::Auto && space[space.size() - 2] >= limits.cores &&
         widths <= space.back() && canStream(loop, producers, consumers) &&
         !storesRows(loop, consumers);
}

/// While every core holds a set of rows, the matrices that the products multiply them with are
/// streamed once. This traffic must be less than writing and reading the rows in between, and the
/// rows must fill most of the matrix engine, which takes 16 at a time. Returns the space of a core
/// with the fewest rows for which this holds; std::nullopt if a core holds fewer.
std::optional<KernelPlan::AttentionMemory>
KernelPlan::getAttentionMemory(unsigned loop, ArrayRef<unsigned> producers,
                               ArrayRef<unsigned> consumers) {
  constexpr int64_t kBlock = 64, kFewest = 12;
  const PlanNode &node = nodes[loop];
  if (limits.attention == AttentionForm::Streamed)
    return canStream(loop, producers, consumers) ? std::optional(kStreamed) : std::nullopt;
  if (limits.prefersStreamed && mayStream(loop, producers, consumers))
    return kStreamed;
  int64_t columns = node.space.back(), rows = node.space[node.space.size() - 2];
  // Per row, or per column of a streamed matrix.
  int64_t streamed = 0, widest = 0, widths = 0, own = 0, saved = 0;
  llvm::SmallDenseSet<Value> between;
  auto addProduct = [&](Value matrix, int64_t width, Value value) {
    int64_t bytes = width * getElementBytes(matrix);
    streamed += bytes;
    widths += width;
    widest = std::max(widest, bytes);
    if (between.insert(value).second)
      saved += 2 * getElementBytes(value);
  };
  for (unsigned producer : producers) {
    DotGeneralOp dot = getProduct(nodes[producer]);
    int64_t depth = getDepth(dot);
    addProduct(dot.getRhs(), depth, dot.getResult());
    own += depth * getElementBytes(dot.getLhs());
  }
  for (unsigned consumer : consumers) {
    DotGeneralOp dot = getProduct(nodes[consumer]);
    int64_t width = getWidth(dot);
    addProduct(dot.getRhs(), width, dot.getLhs());
    // Results are double-buffered, and need another buffer for the f32 accumulator.
    own += 2 * width * (kSumBytes + (isSum(dot) ? 0 : getElementBytes(dot.getResult())));
  }
  int64_t tile = kAlive * kSumBytes;
  for (Value input : node.inputs)
    if (ArrayRef(squeeze(input)) == ArrayRef(node.space))
      tile += getElementBytes(input);
  int64_t rowBytes = columns * tile + own;
  int64_t forRows = limits.scratchBytes - 2 * kBlock * widest, held = forRows / rowBytes;
  int64_t share = llvm::divideCeil(rows, limits.cores), taken = std::clamp<int64_t>(held, 0, share);
  int64_t needed = std::max(streamed / (saved * limits.cores) + 1, std::min(kFewest, share));
  if (taken >= needed)
    return AttentionMemory{forRows - needed * rowBytes, needed * columns * tile};
  // Few rows do not save the traffic of the streamed matrices.
  if (needed > share)
    return std::nullopt;
  hasUnfusedRows = true;
  if (mayStream(loop, producers, consumers))
    return kStreamed;
  // No remark if rows are short compared to the products.
  if (!longRows && 4 * widths <= columns)
    longRows = {getProduct(nodes[consumers.front()]), columns, std::max<int64_t>(held, 0), needed};
  return std::nullopt;
}

/// All products that contract the rows of a value, if only the loop, `products` and they read it.
SmallVector<unsigned> KernelPlan::getColumnProducts(Value rows, unsigned loop,
                                                    ArrayRef<unsigned> products) const {
  SmallVector<unsigned> found;
  for (Operation *user : rows.getUsers()) {
    auto node = nodeOf.find(user);
    if (node == nodeOf.end())
      return {};
    unsigned userNode = find(node->second);
    if (userNode == loop || llvm::is_contained(products, userNode) ||
        llvm::is_contained(found, userNode))
      continue;
    if (!isColumnProduct(userNode, loop) || getProduct(nodes[userNode]).getLhs() != rows)
      return {};
    found.push_back(userNode);
  }
  return found;
}

/// Products that contract the rows join if the rows of one outer iteration fit the memory that the
/// cores share, and a core's part of the results fits together with its rows. Two blocks of both
/// operands, with as many rows as there are cores, and the accumulators of rounded results replace
/// the tile. Those of streamed rows become a kernel in which cores hold columns and the rows
/// stream.
void KernelPlan::addColumnProducts(unsigned loop, ArrayRef<unsigned> producers,
                                   SmallVectorImpl<unsigned> &products,
                                   const AttentionMemory &room) const {
  constexpr int64_t kAlignment = 128;
  const PlanNode &node = nodes[loop];
  int64_t columns = node.space.back(), rows = node.space[node.space.size() - 2];
  int64_t share = llvm::divideCeil(columns, limits.cores), shared = limits.sharedBytes;
  int64_t results = 0, sums = 0, block = 0; // per core
  SmallVector<unsigned> joined;
  auto isComputed = [&](unsigned product, ArrayRef<unsigned> all) {
    return llvm::is_contained(all, find(homeIndex(getProduct(nodes[product]).getRhs())));
  };
  llvm::SmallSetVector<Value, 2> panels;
  for (unsigned user : node.users)
    if (isColumnProduct(find(user), loop))
      panels.insert(getProduct(nodes[find(user)]).getLhs());
  for (Value panel : panels) {
    SmallVector<unsigned> added = getColumnProducts(panel, loop, products);
    int64_t panelBytes = llvm::alignTo(rows * columns * getElementBytes(panel), kAlignment);
    int64_t allResults = results, allSums = sums, largestBlock = block;
    for (unsigned product : added) {
      DotGeneralOp dot = getProduct(nodes[product]);
      int64_t across = getWidth(dot);
      allResults += share * across * getElementBytes(dot.getResult());
      allSums += isSum(dot) ? 0 : share * across * kSumBytes;
      largestBlock =
          std::max(largestBlock, limits.cores * (share + across) * getElementBytes(panel));
    }
    int64_t beyondTile = std::max<int64_t>(0, 2 * largestBlock + allSums - room.tile);
    SmallVector<unsigned> all(products.begin(), products.end()), columnProducts(joined);
    llvm::append_range(all, added);
    llvm::append_range(columnProducts, added);
    const bool fits = room.streamed ? canStream(loop, producers, columnProducts, /*ofColumns=*/true)
                                    : panelBytes <= shared && allResults + beyondTile <= room.spare;
    if (added.empty() || !fits ||
        llvm::any_of(all, [&](unsigned product) { return isComputed(product, all); }) ||
        !getAttentionPlace(loop, all))
      continue;
    joined = std::move(columnProducts);
    shared -= panelBytes;
    results = allResults;
    sums = allSums;
    block = largestBlock;
    products.assign(all);
  }
}

/// Returns true if a product that contracts the rows is not one of `products`, so that it reads
/// stored rows.
bool KernelPlan::leavesColumnProducts(unsigned loop, ArrayRef<unsigned> products) const {
  return llvm::any_of(nodes[loop].users, [&](unsigned user) {
    return isColumnProduct(find(user), loop) && !llvm::is_contained(products, find(user));
  });
}

/// Returns true if nodes before `place` store the value, or all values from which its users
/// recompute it.
bool KernelPlan::existsBefore(Value value, uint64_t place) const {
  if (kinds.isInline(value))
    return llvm::all_of(value.getDefiningOp()->getOperands(),
                        [&](Value operand) { return existsBefore(operand, place); });
  return nodes[find(homeIndex(value))].place < place;
}

/// The matrix of a product after the loop, such as heads repeated for groups of others, may be
/// copied before the loop, if its source exists by then.
void KernelPlan::hoistCopy(unsigned copy, unsigned loop) {
  PlanNode &node = nodes[copy];
  const uint64_t place = nodes[loop].place;
  if (node.kind != PlanNode::Copy || node.place < place || !node.writes.empty())
    return;
  for (Operation *op : node.ops)
    for (Value operand : op->getOperands())
      if (!existsBefore(operand, place))
        return;
  node.place = place - 1;
}

void KernelPlan::formAttention(unsigned loop) {
  PlanNode &node = nodes[loop];
  auto rank = static_cast<int64_t>(node.space.size());
  if (rank < 2 || (node.rowDims >= 0 && node.rowDims != rank - 1) || !node.materialized.empty())
    return;
  llvm::SmallSetVector<unsigned, 2> producers;
  for (Value input : node.inputs)
    if (unsigned source = find(homeIndex(input)); isAttentionProducer(source, loop))
      producers.insert(source);
  if (producers.empty())
    return;
  SmallVector<unsigned> consumers;
  for (unsigned user : node.users) {
    user = find(user);
    if (llvm::is_contained(consumers, user) || !isAttentionConsumer(user, loop) ||
        llvm::is_contained(consumers, find(homeIndex(getProduct(nodes[user]).getRhs()))))
      continue;
    hoistCopy(find(homeIndex(getProduct(nodes[user]).getRhs())), loop);
    consumers.push_back(user);
    if (!getAttentionPlace(loop, consumers))
      consumers.pop_back();
  }
  if (consumers.empty())
    return;
  std::optional<AttentionMemory> room =
      getAttentionMemory(loop, producers.getArrayRef(), consumers);
  if (!room)
    return;
  SmallVector<unsigned> others = consumers;
  addColumnProducts(loop, producers.getArrayRef(), consumers, *room);
  if (!room->streamed && leavesColumnProducts(loop, consumers)) {
    // If rows are streamed, these products recompute what they would read.
    hasUnfusedRows = true;
    if (mayStream(loop, producers.getArrayRef(), others)) {
      addColumnProducts(loop, producers.getArrayRef(), others, kStreamed);
      if (!leavesColumnProducts(loop, others)) {
        room = kStreamed;
        consumers = std::move(others);
      }
    }
  }
  node.streamed = room->streamed;
  node.place = *getAttentionPlace(loop, consumers);
  node.kind = PlanNode::Attention;
  for (unsigned product : producers)
    moveInto(product, loop);
  for (unsigned product : consumers)
    moveInto(product, loop);
}
