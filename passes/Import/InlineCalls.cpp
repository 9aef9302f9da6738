#include "dialects/St/IR/ModuleFacts.h"
#include "dialects/St/Interfaces/Notes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "passes/Import/Passes.h"

namespace mlir::st {
#define GEN_PASS_DEF_INLINECALLS
#include "passes/Import/Passes.h.inc"
} // namespace mlir::st

using namespace mlir;
using namespace mlir::st;

/// A few small functions that each call another twice can expand to any number of ops.
static constexpr int64_t kMaxOps = 10'000'000;

namespace {
/// Inlines callees first, so that each body is final when it is copied.
class CallInliner {
public:
  explicit CallInliner(ModuleOp module) : symbols(module) {}

  LogicalResult inlineInto(func::FuncOp function);
  void eraseUnused(ModuleOp module);
  int64_t count() const { return inlined; }

private:
  LogicalResult inlineCall(func::CallOp call);

  SymbolTable symbols;
  enum class State { Active, Done };
  DenseMap<Operation *, State> states;
  /// Ops of a finished function, nested ones included.
  DenseMap<Operation *, int64_t> sizes;
  int64_t total = 0, inlined = 0;
};
} // namespace

LogicalResult CallInliner::inlineInto(func::FuncOp function) {
  states[function] = State::Active;
  SmallVector<func::CallOp> calls;
  int64_t size = 0;
  function.walk([&](Operation *op) {
    ++size;
    if (auto call = dyn_cast<func::CallOp>(op))
      calls.push_back(call);
  });
  total += size;
  for (func::CallOp call : calls) {
    auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
    if (!callee || callee.isExternal())
      continue;
    if (!callee.getBody().hasOneBlock())
      return withNote(call.emitOpError("calls @")
                          << call.getCallee() << ", whose body has several blocks",
                      callee, "the function is here");
    auto state = states.find(callee);
    if (state != states.end() && state->second == State::Active)
      return withNote(call.emitOpError("calls @") << call.getCallee() << ", which calls itself",
                      callee, "the function is here");
    if (state == states.end() && failed(inlineInto(callee)))
      return failure();
    size += sizes[callee];
    total += sizes[callee];
    if (total > kMaxOps)
      return call.emitOpError("expands the program to more than ") << kMaxOps << " operations";
    if (failed(inlineCall(call)))
      return failure();
  }
  sizes[function] = size;
  states[function] = State::Done;
  return success();
}

LogicalResult CallInliner::inlineCall(func::CallOp call) {
  auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
  Block &body = callee.front();
  IRMapping mapping;
  mapping.map(body.getArguments(), call.getOperands());
  OpBuilder builder(call);
  for (Operation &op : body.without_terminator()) {
    Operation *copy = builder.clone(op, mapping);
    copy->walk(
        [&](Operation *inner) { inner->setLoc(CallSiteLoc::get(inner->getLoc(), call.getLoc())); });
  }
  for (auto [result, value] :
       llvm::zip_equal(call.getResults(), body.getTerminator()->getOperands()))
    result.replaceAllUsesWith(mapping.lookupOrDefault(value));
  call.erase();
  ++inlined;
  return success();
}

/// Erases private functions without callers; functions that other ops name stay.
void CallInliner::eraseUnused(ModuleOp module) {
  DenseSet<StringAttr> used;
  if (auto uses = SymbolTable::getSymbolUses(&module.getBodyRegion()))
    for (const SymbolTable::SymbolUse &use : *uses)
      used.insert(use.getSymbolRef().getRootReference());
  for (auto function : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
    if (function.isPrivate() && !function.isExternal() && !used.contains(function.getSymNameAttr()))
      symbols.erase(function);
}

namespace {
struct InlineCalls : mlir::st::impl::InlineCallsBase<InlineCalls> {
  using InlineCallsBase::InlineCallsBase;

  void runOnOperation() override {
    if (failed(checkFacts(getOperation(), getArgument(), kBeforeLayout)))
      return signalPassFailure();
    CallInliner inliner(getOperation());
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function.isPublic() && !function.isExternal() && failed(inliner.inlineInto(function)))
        return signalPassFailure();
    // A function that only erased functions call stays.
    inliner.eraseUnused(getOperation());
    calls += inliner.count();
  }
};
} // namespace
