#include "dialects/St/IR/ModuleFacts.h"
#include "passes/Collectives/Buckets.h"
#include "passes/Collectives/Passes.h"

namespace mlir::st {
#define GEN_PASS_DEF_COMBINECOLLECTIVES
#include "passes/Collectives/Passes.h.inc"
} // namespace mlir::st

using namespace mlir;
using namespace mlir::st;

/// As in PyTorch's DistributedDataParallel.
static constexpr int64_t kDefaultBytes = int64_t(25) << 20;

/// The ops from the first to the last of a bucket that need a result of it, in their order.
static SmallVector<Operation *> findDelayed(const Bucket &bucket) {
  DenseSet<Operation *> late(bucket.begin(), bucket.end());
  SmallVector<Operation *> delayed;
  StorageOrder order;
  auto isLate = [&](Operation *op) { return late.contains(op); };
  for (Operation *op = bucket.front(); op != bucket.back(); op = op->getNextNode()) {
    if (!isLate(op) &&
        (llvm::any_of(getProducers(op), isLate) || llvm::any_of(order.predecessors(op), isLate))) {
      late.insert(op);
      delayed.push_back(op);
    }
    order.add(op);
  }
  return delayed;
}

/// One collective where the last of the bucket stands, and behind it what needs its results.
static void combine(Bucket &bucket) {
  // Where other buckets were put together, these may have changed places.
  llvm::sort(bucket, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  SmallVector<Operation *> delayed = findDelayed(bucket);
  OperationState state(bucket.front()->getLoc(), bucket.front()->getName());
  SmallVector<Location> locations;
  for (Operation *op : bucket) {
    state.addOperands(op->getOperands());
    state.addTypes(op->getResultTypes());
    locations.push_back(op->getLoc());
  }
  state.location = FusedLoc::get(bucket.front()->getContext(), locations);
  state.addAttributes(bucket.front()->getAttrs());
  Operation *combined = OpBuilder(bucket.back()).create(state);
  ValueRange results = combined->getResults();
  for (Operation *op : bucket) {
    op->replaceAllUsesWith(results.take_front(op->getNumResults()));
    results = results.drop_front(op->getNumResults());
  }
  Operation *last = combined;
  for (Operation *op : delayed) {
    op->moveAfter(last);
    last = op;
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
    int64_t bytes = bucketBytes;
    if (bytes < 0) {
      auto recorded = module->getAttrOfType<IntegerAttr>("st.bucket_bytes");
      bytes = recorded ? recorded.getInt() : kDefaultBytes;
    }
    for (auto program : module.getOps<ProgramOp>())
      for (auto task : program.getOps<TaskOp>())
        for (Bucket &bucket : fillBuckets(task.getBody().front(), bytes))
          if (bucket.size() > 1) {
            combine(bucket);
            combined += bucket.size() - 1;
            ++buckets;
          }
  }
};
} // namespace
