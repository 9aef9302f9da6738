#include "backends/common/ReachingDefinitions.h"
#include "backends/cuda/codegen/Passes.h"
#include "backends/cuda/codegen/analysis/ScalarFunction.h"
#include "backends/cuda/codegen/kernels/KernelParts.h"
#include "backends/cuda/codegen/products/Product.h"
#include "dialects/St/IR/ShardingUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/TypeUtilities.h"

namespace mlir::cuda {
#define GEN_PASS_DEF_FUSEEPILOGUES
#include "backends/cuda/codegen/Passes.h.inc"
} // namespace mlir::cuda

using namespace mlir;
using namespace mlir::cuda;
using mlir::st::KernelOp;

// ---- across kernels and tasks -------------------------------------------------------------------

namespace {
/// The buffers in which a micro-batch's tasks stash values for each other.
class Stashes {
public:
  explicit Stashes(ModuleOp module) {
    module.walk([&](mlir::st::ProgramOp program) {
      for (auto buffer : program.getOps<mlir::st::BufferOp>())
        if (buffer.isPerMicroBatch() && !buffer.isOnHost())
          uses[{program, buffer.getSymNameAttr()}].buffer = buffer;
    });
    module.walk([&](Operation *op) {
      if (auto read = dyn_cast<mlir::st::ReadOp>(op))
        note(op, read.getSourceAttr(), &Use::reads);
      else if (auto write = dyn_cast<mlir::st::WriteOp>(op))
        note(op, write.getTargetAttr(), &Use::writes);
    });
  }

  /// Returns the value that a read returns, as the writing task computed it.
  Value getWritten(mlir::st::ReadOp read) const {
    auto it = uses.find(keyOf(read, read.getSourceAttr()));
    if (it == uses.end() || it->second.writes.size() != 1)
      return {};
    auto write = cast<mlir::st::WriteOp>(it->second.writes.front());
    return write.getAccumulate() ? Value() : write.getValue();
  }

  /// Removes stashes without reads. Returns the kernels that computed them.
  llvm::SetVector<KernelOp> dropUnread();

private:
  using Key = std::pair<Operation *, StringAttr>;
  struct Use {
    mlir::st::BufferOp buffer;
    SmallVector<Operation *> reads, writes;
  };
  llvm::MapVector<Key, Use> uses;

  static Key keyOf(Operation *op, FlatSymbolRefAttr symbol) {
    return {op->getParentOfType<mlir::st::ProgramOp>(), symbol.getAttr()};
  }
  void note(Operation *op, FlatSymbolRefAttr symbol, SmallVector<Operation *> Use::*list) {
    if (auto it = uses.find(keyOf(op, symbol)); it != uses.end())
      (it->second.*list).push_back(op);
  }
};
} // namespace

llvm::SetVector<KernelOp> Stashes::dropUnread() {
  llvm::SetVector<KernelOp> writers;
  for (auto &[key, use] : uses) {
    size_t before = use.reads.size();
    llvm::erase_if(use.reads, [](Operation *read) {
      bool isUnused = read->use_empty();
      if (isUnused)
        read->erase();
      return isUnused;
    });
    if (before == 0 || !use.reads.empty())
      continue;
    for (Operation *write : use.writes) {
      if (auto writer = write->getOperand(0).getDefiningOp<KernelOp>())
        writers.insert(writer);
      write->erase();
    }
    use.buffer.erase();
  }
  uses.remove_if([](const auto &entry) { return entry.second.reads.empty(); });
  return writers;
}

// ---- kernels ------------------------------------------------------------------------------------

namespace {
/// Emits the ops after a product in its body.
using Writer = llvm::function_ref<SmallVector<Value>(OpBuilder &, Block &, Value)>;

class EpilogueFuser {
public:
  explicit EpilogueFuser(ModuleOp module) : stashes(module) {}

  Stashes stashes;

  bool fuseGeluGradient(KernelOp kernel);
  bool fuseGelu(KernelOp kernel);
  bool fuseSums(KernelOp reduce);

private:
  /// Returns the definition of a value in the body of a kernel, or in the task that stashed it.
  Value findDefinition(Value value) const {
    return mlir::st::findDefinition(
        value, [&](mlir::st::ReadOp read) { return stashes.getWritten(read); });
  }
};

class FuseEpiloguesPass : public mlir::cuda::impl::FuseEpiloguesBase<FuseEpiloguesPass> {
public:
  void runOnOperation() override;
};
} // namespace

/// Returns the only user of a value, if it is a kernel that reads it once and in the same block.
static KernelOp getOnlyUser(Value value) {
  auto kernel = value.hasOneUse() ? dyn_cast<KernelOp>(*value.user_begin()) : KernelOp();
  return kernel && kernel->getBlock() == value.getParentBlock() ? kernel : KernelOp();
}

/// Adds inputs to a product's kernel; `write` computes its results from the product.
static KernelOp extend(OpBuilder &builder, KernelOp product, ValueRange further, Writer write) {
  Block &old = product.getBody().front();
  SmallVector<Value> inputs(product.getInputs());
  llvm::append_range(inputs, further);
  auto *body = new Block;
  for (Value input : inputs)
    body->addArgument(input.getType(), product.getLoc());
  IRMapping mapping;
  mapping.map(old.getArguments(), body->getArguments().take_front(old.getNumArguments()));
  OpBuilder inside(product.getContext());
  inside.setInsertionPointToEnd(body);
  for (Operation &op : old.without_terminator())
    inside.clone(op, mapping);
  Value result = mapping.lookup(old.getTerminator()->getOperand(0));
  SmallVector<Value> results = write(inside, *body, result);
  mlir::st::YieldOp::create(inside, product.getLoc(), results);
  auto types = llvm::map_to_vector(results, [](Value value) { return value.getType(); });
  auto kernel =
      KernelOp::create(builder, product.getLoc(), types, builder.getStringAttr("matmul"), inputs);
  kernel->setDiscardableAttrs(product->getDiscardableAttrDictionary());
  kernel.getBody().push_back(body);
  return kernel;
}

/// Removes unused results and the ops that only they need.
static void dropUnusedResults(KernelOp kernel) {
  SmallVector<Value> kept, used;
  for (auto [result, value] : llvm::zip_equal(
           kernel.getResults(), kernel.getBody().front().getTerminator()->getOperands()))
    if (!result.use_empty()) {
      kept.push_back(value);
      used.push_back(result);
    }
  if (kept.size() == kernel.getNumResults())
    return;
  OpBuilder builder(kernel);
  if (!kept.empty()) {
    KernelOp part = makePart(builder, kernel, kernel.getKind(), kept, {});
    for (auto [old, now] : llvm::zip_equal(used, part.getResults()))
      old.replaceAllUsesWith(now);
  }
  kernel.erase();
}

/// Returns a product with a single result that an activation could follow.
static std::optional<Product> getPlainProduct(KernelOp kernel) {
  std::optional<Product> product = matchProductKernel(kernel);
  if (!product || kernel.getNumResults() != 1 || product->addend ||
      product->activation != Activation::None ||
      !hasActivation(getElementTypeOrSelf(kernel.getResult(0).getType()),
                     product->layout.batch.size(), product->layout.d.row, product->layout.d.column))
    return std::nullopt;
  return product;
}

// ---- the gradient of GELU -----------------------------------------------------------------------

/// Fuses loops that multiply a product with GELU's gradient. They may read other stashed values
/// besides GELU's argument if these are functions of it.
bool EpilogueFuser::fuseGeluGradient(KernelOp kernel) {
  std::optional<Product> product = getPlainProduct(kernel);
  if (!product || product->bias)
    return false;
  Type type = kernel.getResult(0).getType();
  auto definition = [&](Value value) { return findDefinition(value); };
  ScalarFunction function(definition);
  SmallVector<KernelOp> between;
  for (KernelOp loop = getOnlyUser(kernel.getResult(0)); loop && loop.getKind() == "loop";
       loop = getOnlyUser(loop.getResult(0))) {
    if (loop.getNumResults() != 1)
      return false;
    between.push_back(loop);
    if (loop.getResult(0).getType() != type)
      continue;
    auto isArgument = [&](Value input) {
      return input.getType() == type &&
             function.isGeluGradient(loop.getResult(0), kernel.getResult(0), input);
    };
    auto inputs = loop.getInputs();
    auto aux = llvm::find_if(inputs, isArgument);
    if (aux == inputs.end())
      continue;
    OpBuilder builder(loop);
    KernelOp fused =
        extend(builder, kernel, *aux, [&](OpBuilder &inside, Block &body, Value result) {
          Value x = body.getArguments().back();
          return SmallVector<Value>{emitGeluGradient(inside, loop.getLoc(), result, x)};
        });
    // In cuBLASLt only the addend may have the address of the result.
    fused->setAttr("st.no_alias", builder.getUnitAttr());
    loop.getResult(0).replaceAllUsesWith(fused.getResult(0));
    for (KernelOp done : llvm::reverse(between))
      done.erase();
    kernel.erase();
    return true;
  }
  return false;
}

// ---- GELU ---------------------------------------------------------------------------------------

/// Moves the bias that a loop adds before GELU into its product, if the loop is the product's only
/// user and the types agree.
static bool moveBias(KernelOp &kernel, KernelOp loop) {
  std::optional<Product> product = getPlainProduct(kernel);
  Block &body = loop.getBody().front();
  if (!kernel.getResult(0).hasOneUse() || product->bias)
    return false;
  auto it = llvm::find(loop.getInputs(), kernel.getResult(0));
  BlockArgument argument = body.getArgument(std::distance(loop.getInputs().begin(), it));
  auto add = argument.hasOneUse() ? dyn_cast<stablehlo::AddOp>(*argument.user_begin())
                                  : stablehlo::AddOp();
  if (!add || add.getType() != kernel.getResult(0).getType())
    return false;
  Value spread = add->getOperand(add.getLhs() == argument ? 1 : 0);
  Bias bias = matchBias(spread, *product);
  ScalarFunction function([](Value value) { return value; });
  if (!bias.argument || llvm::none_of(body.getTerminator()->getOperands(), [&](Value value) {
        return value.getType() == add.getType() && function.isGelu(value, add);
      }))
    return false;
  OpBuilder builder(loop);
  Value vector = loop.getInputs()[bias.argument.getArgNumber()];
  if (bias.isConverted)
    vector = makeConversion(builder, loop, vector, add.getType().getElementType());
  KernelOp biased =
      extend(builder, kernel, vector, [&](OpBuilder &inside, Block &body, Value result) {
        Value columns = rebuildBias(inside, spread, body.getArguments().back());
        return SmallVector<Value>{stablehlo::AddOp::create(inside, add.getLoc(), result, columns)};
      });
  auto values = llvm::to_vector(body.getTerminator()->getOperands());
  KernelOp rest = makePart(builder, loop, "loop", values, Cut{add, biased.getResult(0)});
  loop.replaceAllUsesWith(rest.getResults());
  loop.erase();
  kernel.erase();
  kernel = biased;
  return true;
}

/// Fuses a loop that writes GELU of a product. If GELU's argument has other users, it becomes a
/// second result.
bool EpilogueFuser::fuseGelu(KernelOp kernel) {
  if (!getPlainProduct(kernel))
    return false;
  if (KernelOp loop = getOnlyUser(kernel.getResult(0)); loop && loop.getKind() == "loop")
    moveBias(kernel, loop);
  Value x = kernel.getResult(0);
  ScalarFunction function([&](Value value) { return findDefinition(value); });
  for (Operation *user : x.getUsers()) {
    auto loop = dyn_cast<KernelOp>(user);
    if (!loop || loop.getKind() != "loop")
      continue;
    auto results = loop.getResults();
    auto gelu = llvm::find_if(results, [&](Value result) {
      return result.getType() == x.getType() && function.isGelu(result, x);
    });
    if (gelu == results.end())
      continue;
    // Users of GELU's argument use the product's result.
    for (Value result : results)
      if (findDefinition(result) == findDefinition(x))
        result.replaceAllUsesWith(x);
    OpBuilder builder(kernel);
    KernelOp fused = extend(builder, kernel, {}, [&](OpBuilder &inside, Block &, Value result) {
      return SmallVector<Value>{emitGelu(inside, loop.getLoc(), result), result};
    });
    (*gelu).replaceAllUsesWith(fused.getResult(0));
    x.replaceAllUsesWith(fused.getResult(1));
    kernel.erase();
    dropUnusedResults(loop);
    dropUnusedResults(fused);
    return true;
  }
  return false;
}

// ---- gradients of biases ------------------------------------------------------------------------

/// The sum of a tensor along dimensions, accumulated at least in f32.
static Value emitSums(OpBuilder &builder, Location loc, Value summed, ArrayRef<int64_t> dims,
                      RankedTensorType type) {
  auto convert = [&](Value value, Type element) -> Value {
    auto from = cast<RankedTensorType>(value.getType());
    return from.getElementType() == element
               ? value
               : stablehlo::ConvertOp::create(builder, loc, from.clone(element), value);
  };
  Type f32 = builder.getF32Type();
  Value zero = stablehlo::ConstantOp::create(
      builder, loc, cast<ElementsAttr>(builder.getZeroAttr(RankedTensorType::get({}, f32))));
  auto reduce = stablehlo::ReduceOp::create(
      builder, loc, convert(summed, f32), zero, dims,
      [&](OpBuilder &inside, Location loc, ValueRange values) {
        return SmallVector<Value>{stablehlo::AddOp::create(inside, loc, values[0], values[1])};
      });
  return convert(reduce.getResult(0), type.getElementType());
}

static bool mayTouch(Operation *op, FlatSymbolRefAttr storage) {
  if (auto read = dyn_cast<mlir::st::ReadOp>(op))
    return read.getSourceAttr() == storage;
  if (auto write = dyn_cast<mlir::st::WriteOp>(op))
    return write.getTargetAttr() == storage;
  return op->getNumRegions() > 0 && !isa<KernelOp>(op);
}

/// Moves writes of a value that come before an op to after it. Requires that they are the value's
/// only users there and no op in between accesses their targets.
static bool moveUsersAfter(Value value, Operation *op) {
  SmallVector<Operation *> early;
  for (Operation *user : value.getUsers()) {
    if (user->getBlock() != op->getBlock())
      return false;
    if (!user->isBeforeInBlock(op))
      continue;
    auto write = dyn_cast<mlir::st::WriteOp>(user);
    if (!write)
      return false;
    for (Operation *between = user->getNextNode(); between != op; between = between->getNextNode())
      if (mayTouch(between, write.getTargetAttr()))
        return false;
    early.push_back(user);
  }
  for (Operation *write : early)
    write->moveAfter(op);
  return true;
}

/// Fuses a kernel that sums an operand of a product along the contracted dimension.
bool EpilogueFuser::fuseSums(KernelOp reduce) {
  if (reduce.getNumResults() != 1)
    return false;
  auto definition = [&](Value value) { return findDefinition(value); };
  Value sums = reduce.getResult(0);
  auto type = cast<RankedTensorType>(sums.getType());
  SetVector<Operation *> users;
  for (Value input : reduce.getInputs())
    users.insert(input.user_begin(), input.user_end());
  for (Operation *user : users) {
    auto kernel = dyn_cast<KernelOp>(user);
    if (!kernel || kernel->getBlock() != reduce->getBlock() || kernel.getKind() != "matmul" ||
        kernel.getNumResults() != 1)
      continue;
    std::optional<Product> product = matchProductKernel(kernel);
    if (!product || product->activation != Activation::None)
      continue;
    std::optional<Operand> summed = matchOperandSums(*product, sums, definition);
    if (!summed || !moveUsersAfter(sums, kernel))
      continue;
    auto numbers = product->dot.getDotDimensionNumbers();
    bool isA = *summed == Operand::A;
    auto argument = cast<BlockArgument>(isA ? product->dot.getLhs() : product->dot.getRhs());
    ArrayRef<int64_t> dims =
        isA ? numbers.getLhsContractingDimensions() : numbers.getRhsContractingDimensions();
    OpBuilder builder(kernel);
    KernelOp fused = extend(builder, kernel, {}, [&](OpBuilder &inside, Block &body, Value result) {
      Value operand = body.getArgument(argument.getArgNumber());
      return SmallVector<Value>{result, emitSums(inside, reduce.getLoc(), operand, dims, type)};
    });
    kernel.getResult(0).replaceAllUsesWith(fused.getResult(0));
    sums.replaceAllUsesWith(fused.getResult(1));
    kernel.erase();
    reduce.erase();
    return true;
  }
  return false;
}

// ---- the pass -----------------------------------------------------------------------------------

/// Returns true if products of f32 round their operands; sums of the operands would not.
static bool roundsOperands(ModuleOp module) {
  auto precision = module->getAttrOfType<DictionaryAttr>(mlir::st::kPrecisionAttr);
  auto products = precision ? precision.getAs<StringAttr>("products") : StringAttr();
  return products && products.getValue() == "tf32";
}

void FuseEpiloguesPass::runOnOperation() {
  ModuleOp module = getOperation();
  auto planned = module.walk(
      [&](KernelOp kernel) { return WalkResult(checkUnplanned(kernel, getArgument())); });
  if (planned.wasInterrupted())
    return signalPassFailure();
  EpilogueFuser fuser(module);
  auto kernelsOf = [&](StringRef kind) {
    SmallVector<KernelOp> kernels;
    module.walk([&](KernelOp kernel) {
      if (kernel.getKind() == kind)
        kernels.push_back(kernel);
    });
    return kernels;
  };
  for (KernelOp kernel : kernelsOf("matmul"))
    numGeluGradients += fuser.fuseGeluGradient(kernel);
  for (KernelOp writer : fuser.stashes.dropUnread())
    dropUnusedResults(writer);
  for (KernelOp kernel : kernelsOf("matmul"))
    numGelus += fuser.fuseGelu(kernel);
  const bool isRounded = roundsOperands(module);
  for (KernelOp kernel : kernelsOf("reduce")) {
    auto input = kernel.getInputs().empty() ? Value() : kernel.getInputs().front();
    if (!isRounded || (input && !getElementTypeOrSelf(input.getType()).isF32()))
      numSums += fuser.fuseSums(kernel);
  }
}
