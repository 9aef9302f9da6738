#include "passes/Collectives/Buckets.h"
#include "dialects/St/Utils/Collectives.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::st;

//===----------------------------------------------------------------------===//
// Order of the ops of a task
//===----------------------------------------------------------------------===//

static StringAttr storageOf(Operation *op) {
  if (auto read = dyn_cast<ReadOp>(op))
    return read.getSourceAttr().getAttr();
  if (auto write = dyn_cast<WriteOp>(op))
    return write.getTargetAttr().getAttr();
  return nullptr;
}

ArrayRef<Operation *> StorageOrder::predecessors(Operation *op) const {
  auto it = accesses.find(storageOf(op));
  if (!storageOf(op) || it == accesses.end())
    return {};
  return isa<WriteOp>(op) ? it->second.all : it->second.writes;
}

void StorageOrder::add(Operation *op) {
  StringAttr storage = storageOf(op);
  if (!storage)
    return;
  accesses[storage].all.push_back(op);
  if (isa<WriteOp>(op))
    accesses[storage].writes.push_back(op);
}

bool mlir::st::isBorder(Operation *op) { return !storageOf(op) && !isMemoryEffectFree(op); }

SmallVector<Operation *> mlir::st::getProducers(Operation *op) {
  SmallVector<Operation *> producers;
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (Operation *producer = operand.getDefiningOp();
          producer && producer->getBlock() == op->getBlock())
        producers.push_back(producer);
  });
  return producers;
}

//===----------------------------------------------------------------------===//
// Filling
//===----------------------------------------------------------------------===//

static int64_t bytesOf(ValueRange values) {
  int64_t bytes = 0;
  for (Value value : values) {
    auto type = cast<RankedTensorType>(value.getType());
    Type element = getElementTypeOrSelf(type);
    bytes += type.getNumElements() *
             (element.isIntOrFloat() ? llvm::divideCeil(element.getIntOrFloatBitWidth(), 8) : 8);
  }
  return bytes;
}

namespace {
/// Fills the buckets of a part of a task without barriers.
class Filler {
public:
  Filler(std::vector<Bucket> &buckets, llvm::function_ref<int64_t(Operation *)> maximum)
      : buckets(buckets), maximum(maximum) {}

  void visit(Operation *op);
  /// Ends the part: no op may move across this point.
  void end();

private:
  /// The common properties of a bucket's collectives.
  using Key = std::tuple<OperationName, Attribute, Type>;
  struct Open {
    unsigned bucket;
    int64_t bytes;
  };

  void take(Operation *op, const llvm::BitVector &needed);
  /// `needed` and, transitively, the buckets that these need.
  llvm::BitVector close(const llvm::BitVector &needed) const;

  std::vector<Bucket> &buckets;
  llvm::function_ref<int64_t(Operation *)> maximum;
  /// The buckets that an op, or the collectives of a bucket, need.
  DenseMap<Operation *, llvm::BitVector> needs;
  std::vector<llvm::BitVector> needsOfBucket;
  llvm::MapVector<Key, Open> open;
  StorageOrder order;
};
} // namespace

static void unite(llvm::BitVector &set, const llvm::BitVector &other) {
  if (set.size() < other.size())
    set.resize(other.size());
  set |= other;
}

llvm::BitVector Filler::close(const llvm::BitVector &needed) const {
  llvm::BitVector all(buckets.size());
  SmallVector<unsigned> worklist(needed.set_bits());
  while (!worklist.empty()) {
    unsigned next = worklist.pop_back_val();
    if (all.test(next))
      continue;
    all.set(next);
    if (next < needsOfBucket.size())
      llvm::append_range(worklist, needsOfBucket[next].set_bits());
  }
  return all;
}

void Filler::take(Operation *op, const llvm::BitVector &needed) {
  int64_t bytes = std::max(bytesOf(op->getOperands()), bytesOf(op->getResults()));
  const int64_t limit = maximum(op);
  if (bytes >= limit)
    return;
  Key key{op->getName(), op->getPropertiesAsAttribute(),
          getElementTypeOrSelf(op->getOperand(0).getType())};
  auto it = open.find(key);
  if (it == open.end() || it->second.bytes + bytes > limit ||
      close(needed).test(it->second.bucket)) {
    open[key] = {static_cast<unsigned>(buckets.size()), 0};
    it = open.find(key);
    buckets.emplace_back();
    needsOfBucket.resize(buckets.size());
  }
  Open &into = it->second;
  into.bytes += bytes;
  buckets[into.bucket].push_back(op);
  unite(needsOfBucket[into.bucket], needed);
  llvm::BitVector &own = needs[op];
  own.resize(buckets.size());
  own.set(into.bucket);
}

void Filler::visit(Operation *op) {
  llvm::BitVector needed;
  auto need = [&](Operation *other) {
    if (auto it = needs.find(other); it != needs.end())
      unite(needed, it->second);
  };
  llvm::for_each(getProducers(op), need);
  llvm::for_each(order.predecessors(op), need);
  order.add(op);
  if (isCombinableCollective(op))
    take(op, needed);
  if (needed.any())
    unite(needs[op], needed);
}

void Filler::end() {
  open.clear();
  needs.clear();
  order = StorageOrder();
}

std::vector<Bucket> mlir::st::fillBuckets(Block &block,
                                          llvm::function_ref<int64_t(Operation *)> maximum) {
  std::vector<Bucket> buckets;
  Filler filler(buckets, maximum);
  for (Operation &op : block) {
    if (isBorder(&op))
      filler.end();
    else
      filler.visit(&op);
  }
  return buckets;
}
