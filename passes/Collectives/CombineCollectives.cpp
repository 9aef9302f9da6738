#include "dialects/St/IR/ModuleFacts.h"
#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/St/Sharding/OpWork.h"
#include "dialects/St/Sharding/TensorSharding.h"
#include "passes/Collectives/Buckets.h"
#include "passes/Collectives/Passes.h"

namespace mlir::st {
#define GEN_PASS_DEF_COMBINECOLLECTIVES
#include "passes/Collectives/Passes.h.inc"
} // namespace mlir::st

using namespace mlir;
using namespace mlir::st;

/// The bucket size at which the fixed cost of a collective (its start and the latencies of its
/// messages) is a twentieth of its time. A larger bucket saves little and waits longer for its last
/// tensor. The result is at most the bucket size of PyTorch's DistributedDataParallel.
static int64_t getBucketBytes(Operation *op, const MeshAxes &axes) {
  constexpr double maximum = 25 << 20, share = 1.0 / 20;
  auto time = [&](double bytes) {
    return axes.costs()
        .collective(kindOfCollective(op), bytes, groupOfCollective(op, axes))
        .total();
  };
  const double fixed = time(0), ofBytes = time(maximum) - fixed;
  const double worthIt =
      ofBytes > 0 ? (1 / share - 1) * fixed / ofBytes : 1; // of one rank: nothing
  return static_cast<int64_t>(maximum * std::min(1.0, worthIt));
}

namespace {
/// The ops between the collectives of a bucket, in program order: the producers of the collectives'
/// operands, and the users of their results. No op is both.
struct Between {
  SmallVector<Operation *> needed, needing;
};
} // namespace

static Between findBetween(const Bucket &bucket) {
  DenseMap<Operation *, SmallVector<Operation *>> before;
  DenseSet<Operation *> late(bucket.begin(), bucket.end()), early(bucket.begin(), bucket.end());
  Between between;
  StorageOrder order;
  Operation *end = bucket.back()->getNextNode();
  for (Operation *op = bucket.front(); op != end; op = op->getNextNode()) {
    SmallVector<Operation *> &own = before[op] = getProducers(op);
    llvm::append_range(own, order.predecessors(op));
    order.add(op);
    if (!late.contains(op) &&
        llvm::any_of(own, [&](Operation *other) { return late.contains(other); })) {
      late.insert(op);
      between.needing.push_back(op);
    }
  }
  for (Operation *op = bucket.back(); op != bucket.front(); op = op->getPrevNode())
    if (early.contains(op))
      early.insert(before[op].begin(), before[op].end());
  for (Operation *op = bucket.front(); op != end; op = op->getNextNode())
    if (early.contains(op) && !late.contains(op))
      between.needed.push_back(op);
  return between;
}

/// Combines a bucket at the position of its last collective, moving users after it, or at that of
/// its first, moving producers before it. Chooses the position that moves fewer ops. Weights are
/// thus gathered at their first use, and gradients are reduced once the last is known.
static void combine(Bucket &bucket) {
  // Combining other buckets may have reordered these.
  llvm::sort(bucket, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  Between between = findBetween(bucket);
  bool isFirst = between.needed.size() < between.needing.size();
  OperationState state(bucket.front()->getLoc(), bucket.front()->getName());
  SmallVector<Location> locations;
  for (Operation *op : bucket) {
    state.addOperands(op->getOperands());
    state.addTypes(op->getResultTypes());
    locations.push_back(op->getLoc());
  }
  state.location = FusedLoc::get(bucket.front()->getContext(), locations);
  state.addAttributes(bucket.front()->getAttrs());
  Operation *combined = OpBuilder(isFirst ? bucket.front() : bucket.back()).create(state);
  ValueRange results = combined->getResults();
  for (Operation *op : bucket) {
    op->replaceAllUsesWith(results.take_front(op->getNumResults()));
    results = results.drop_front(op->getNumResults());
  }
  if (isFirst) {
    for (Operation *op : between.needed)
      op->moveBefore(combined);
  } else {
    for (Operation *op : llvm::reverse(between.needing))
      op->moveAfter(combined);
  }
  for (Operation *op : bucket)
    op->erase();
}

static constexpr FactContract kContract = {{Fact::Mesh, Fact::Programs},
                                           FactSet::from(Fact::Kernels)};

namespace {
struct CombineCollectives : mlir::st::impl::CombineCollectivesBase<CombineCollectives> {
  using CombineCollectivesBase::CombineCollectivesBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (failed(checkFacts(module, getArgument(), kContract)))
      return signalPassFailure();
    std::optional<int64_t> given;
    if (auto recorded = module->getAttrOfType<IntegerAttr>("st.bucket_bytes"))
      given = recorded.getInt();
    if (bucketBytes >= 0)
      given = bucketBytes;
    MeshAxes axes(getMesh(module));
    auto maximum = [&](Operation *op) { return given ? *given : getBucketBytes(op, axes); };
    for (auto program : module.getOps<ProgramOp>())
      for (auto task : program.getOps<TaskOp>())
        for (Bucket &bucket : fillBuckets(task.getBody().front(), maximum))
          if (bucket.size() > 1) {
            combine(bucket);
            combined += bucket.size() - 1;
            ++buckets;
          }
  }
};
} // namespace
