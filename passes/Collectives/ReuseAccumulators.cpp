#include "dialects/St/IR/ModuleFacts.h"
#include "dialects/St/IR/StDialect.h"
#include "passes/Collectives/Passes.h"

namespace mlir::st {
#define GEN_PASS_DEF_REUSEACCUMULATORS
#include "passes/Collectives/Passes.h.inc"
} // namespace mlir::st

using namespace mlir;
using namespace mlir::st;

static constexpr FactContract kContract = {{Fact::Mesh, Fact::Programs},
                                           FactSet::from(Fact::Kernels)};

namespace {
struct ReuseAccumulators : mlir::st::impl::ReuseAccumulatorsBase<ReuseAccumulators> {
  void runOnOperation() override;
  void visit(ProgramOp program);
};
} // namespace

void ReuseAccumulators::visit(ProgramOp program) {
  // Counted over all tasks, because another task may read a value that this one overwrites.
  DenseMap<StringAttr, int64_t> reads;
  program.walk([&](ReadOp read) { ++reads[read.getSourceAttr().getAttr()]; });
  SymbolTable symbols(program);
  for (auto task : program.getOps<TaskOp>()) {
    if (task.getPhase() != "update")
      continue;
    DenseSet<StringAttr> written;
    task.walk([&](WriteOp write) { written.insert(write.getTargetAttr().getAttr()); });
    auto isFree = [&](ReadOp read) {
      if (!read || !read->hasOneUse() || read.getMicroBatch())
        return false;
      StringAttr source = read.getSourceAttr().getAttr();
      return symbols.lookup<BufferOp>(source) && reads[source] == 1 && !written.contains(source);
    };
    for (auto sum : task.getBody().getOps<AllReduceOp>()) {
      OpBuilder builder(sum->getContext());
      builder.setInsertionPointAfter(sum);
      for (auto [input, result] : llvm::zip_equal(sum.getInputs(), sum.getResults()))
        if (auto read = input.getDefiningOp<ReadOp>(); isFree(read)) {
          WriteOp::create(builder, sum.getLoc(), result, read.getSourceAttr(),
                          /*micro_batch=*/Value(), /*accumulate=*/ReduceKindAttr());
          ++reused;
        }
    }
  }
}

void ReuseAccumulators::runOnOperation() {
  if (failed(checkFacts(getOperation(), getArgument(), kContract)))
    return signalPassFailure();
  for (auto program : getOperation().getOps<ProgramOp>())
    visit(program);
}
