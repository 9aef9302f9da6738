//===- AddAdapters.cpp - Low-rank updates of weight matrices --------------===//

#include "dialects/St/IR/ModuleFacts.h"
#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/St/IR/Signature.h"
#include "dialects/St/Interfaces/Notes.h"
#include "dialects/St/Utils/Roles.h"
#include "dialects/StableHLO/Utils/DropoutMask.h"
#include "lib/Support/Safetensors.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Autodiff/Passes.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

namespace mlir::st {
#define GEN_PASS_DEF_ADDADAPTERS
#include "passes/Autodiff/Passes.h.inc"
} // namespace mlir::st

using namespace mlir;
using namespace mlir::st;
using stablehlo::DotGeneralOp;

namespace {
/// A weight matrix that gets an adapter.
struct Target {
  BlockArgument weight;
  StringRef module;
  SmallVector<DotGeneralOp> products;
};

/// Rewrites one @main.
class AdapterBuilder {
public:
  AdapterBuilder(func::FuncOp function, ArrayRef<std::string> patterns, int64_t rank, double alpha,
                 double dropout)
      : function(function), patterns(patterns), rank(rank), alpha(alpha),
        dropRate(roundDropoutRate(dropout)), builder(function),
        emit(builder, &function.front(), builder.getUnknownLoc()) {}

  LogicalResult collect();
  void rewrite();
  size_t count() const { return targets.size(); }

private:
  LogicalResult collect(BlockArgument weight, StringRef module, bool isNamed);
  /// Returns true if one of the patterns names the module; notes that the pattern is used.
  bool isNamed(StringRef module);
  bool isInLayer(ArrayRef<DotGeneralOp> products) const;
  /// Reports products whose inputs have too many elements for a mask.
  LogicalResult checkMasks();
  Value getKey(Signature &signature);
  void adapt(const Target &target, Value down, Value up);
  BlockArgument addParameter(Signature &signature, const Target &target, StringRef suffix,
                             ArrayRef<int64_t> shape, DictionaryAttr init);
  DictionaryAttr initOf(StringRef kind, std::optional<double> deviation);

  func::FuncOp function;
  ArrayRef<std::string> patterns;
  const int64_t rank;
  const double alpha;
  const uint32_t dropRate; ///< in the form of the dropout mask
  OpBuilder builder;
  Emitter emit;
  llvm::StringSet<> used;
  SmallVector<Target> targets;
  int64_t lastBlock = 0;
  Value key; ///< of the masks
  uint32_t nextSite = kFirstAddedSite;
};
} // namespace

static std::optional<int64_t> blockOf(Operation *op) {
  auto block = op->getAttrOfType<IntegerAttr>(kBlockAttr);
  return block ? std::optional(block.getInt()) : std::nullopt;
}

static bool isBefore(DotGeneralOp product, Value weight) { return product.getLhs() == weight; }

/// The operand that is not the weight.
static Value getInput(DotGeneralOp product, Value weight) {
  return isBefore(product, weight) ? product.getRhs() : product.getLhs();
}

/// The dimension of its left or its right operand that a plain product sums over.
static int64_t contractedDim(DotGeneralOp product, bool ofLeft) {
  auto dims = product.getDotDimensionNumbers();
  return (ofLeft ? dims.getLhsContractingDimensions() : dims.getRhsContractingDimensions())[0];
}

/// True if the product is x W, with one dimension to sum over.
static bool isPlainProduct(DotGeneralOp product) {
  auto dims = product.getDotDimensionNumbers();
  return product.getLhs() != product.getRhs() && dims.getLhsBatchingDimensions().empty() &&
         dims.getLhsContractingDimensions().size() == 1;
}

//===----------------------------------------------------------------------===//
// Targets
//===----------------------------------------------------------------------===//

bool AdapterBuilder::isNamed(StringRef module) {
  bool found = false;
  for (StringRef pattern : patterns) {
    const bool isGlob = pattern.find_first_of("*?[{") != StringRef::npos;
    const bool matches = isGlob ? llvm::cantFail(createNamePattern(pattern)).match(module)
                                : module == pattern || module.ends_with(("." + pattern).str());
    if (!matches)
      continue;
    used.insert(pattern);
    found = true;
  }
  return found;
}

/// The embeddings are block 0 and the head is the last block.
bool AdapterBuilder::isInLayer(ArrayRef<DotGeneralOp> products) const {
  return llvm::all_of(products, [&](DotGeneralOp product) {
    std::optional<int64_t> block = blockOf(product);
    return block && *block > 0 && *block < lastBlock;
  });
}

LogicalResult AdapterBuilder::collect(BlockArgument weight, StringRef module, bool isNamed) {
  auto type = cast<RankedTensorType>(weight.getType());
  SmallVector<DotGeneralOp> products;
  auto inDim = [&](DotGeneralOp product) {
    return contractedDim(product, isBefore(product, weight));
  };
  for (Operation *user : weight.getUsers()) {
    auto product = dyn_cast<DotGeneralOp>(user);
    if (product && type.getRank() == 2 && isPlainProduct(product) &&
        (products.empty() || inDim(product) == inDim(products.front()))) {
      products.push_back(product);
      continue;
    }
    if (!isNamed)
      return success();
    return withNote(function.emitOpError("cannot add an adapter to ")
                        << module
                        << ": expected a matrix used only by products over one dimension, "
                        << "found " << type << " in " << user->getName(),
                    user, "it is used here");
  }
  if (!products.empty() && (isNamed || isInLayer(products)))
    targets.push_back({weight, module, std::move(products)});
  return success();
}

LogicalResult AdapterBuilder::collect() {
  function.walk([&](Operation *op) { lastBlock = std::max(lastBlock, blockOf(op).value_or(0)); });
  const bool wantsAll = llvm::is_contained(patterns, "all-linear");
  for (BlockArgument argument : function.getArguments()) {
    auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), kNameAttr);
    if (getRole(argument) != "parameter" || !name)
      continue;
    StringRef module = name.getValue();
    if (!module.consume_back(".weight"))
      continue;
    const bool named = isNamed(module);
    if ((named || wantsAll) && failed(collect(argument, module, named)))
      return failure();
  }
  for (StringRef pattern : patterns)
    if (pattern != "all-linear" && !used.contains(pattern))
      return function.emitOpError("has no parameter ") << pattern << ".weight for an adapter";
  if (targets.empty())
    return function.emitOpError("has no matrix in a layer for an adapter");
  return checkMasks();
}

LogicalResult AdapterBuilder::checkMasks() {
  if (dropRate == 0)
    return success();
  constexpr size_t kMasks = kMaxRandomSites - kFirstAddedSite;
  size_t masks = 0;
  for (const Target &target : targets) {
    masks += target.products.size();
    for (DotGeneralOp product : target.products)
      if (Value x = getInput(product, target.weight); !hasDropoutMask(Emitter::shapeOf(x)))
        return withNote(function.emitOpError("cannot drop elements of the input of ")
                            << target.module << ": expected at most " << kMaxRandomSlices
                            << " slices of " << kMaxSliceElements << " elements, found "
                            << x.getType(),
                        product.getOperation(), "it is used here");
  }
  if (masks > kMasks)
    return function.emitOpError("expected at most ")
           << kMasks << " products with dropout before an adapter, found " << masks;
  return success();
}

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

DictionaryAttr AdapterBuilder::initOf(StringRef kind, std::optional<double> deviation) {
  SmallVector<NamedAttribute> fields = {builder.getNamedAttr("kind", builder.getStringAttr(kind))};
  if (deviation)
    fields.push_back(builder.getNamedAttr("std", builder.getF64FloatAttr(*deviation)));
  return builder.getDictionaryAttr(fields);
}

BlockArgument AdapterBuilder::addParameter(Signature &signature, const Target &target,
                                           StringRef suffix, ArrayRef<int64_t> shape,
                                           DictionaryAttr init) {
  NamedAttrList attrs;
  attrs.set(kNameAttr, builder.getStringAttr(Twine(::st::kAdapterPrefix) + target.module + suffix));
  attrs.set(kRoleAttr, builder.getStringAttr("parameter"));
  attrs.set(kInitAttr, init);
  auto type = RankedTensorType::get(shape, Emitter::typeOf(target.weight).getElementType());
  return signature.insertArgument(target.weight.getArgNumber() + 1, type, attrs,
                                  target.weight.getLoc());
}

/// The seed and the step: an argument that models with dropout already have.
Value AdapterBuilder::getKey(Signature &signature) {
  auto type = RankedTensorType::get({2}, builder.getIntegerType(32, /*isSigned=*/false));
  for (BlockArgument argument : function.getArguments())
    if (getRole(argument) == "key" && argument.getType() == type)
      return argument;
  NamedAttrList attrs;
  attrs.set(kNameAttr, builder.getStringAttr("rng_key"));
  attrs.set(kRoleAttr, builder.getStringAttr("key"));
  return signature.appendArgument(type, attrs, builder.getUnknownLoc());
}

/// Adds the scaled product (x A^T) B^T to each product x W. Its free dimensions have the order of
/// those of x W, so each of the two products has the weight on the same side. Dropout applies to x
/// in the first product.
void AdapterBuilder::adapt(const Target &target, Value down, Value up) {
  for (DotGeneralOp product : target.products) {
    builder.setInsertionPointAfter(product);
    emit.loc = NameLoc::get(builder.getStringAttr("adapter"), product.getLoc());
    const bool isLeft = isBefore(product, target.weight);
    Value x = getInput(product, target.weight);
    if (dropRate > 0)
      x = emitDropout(emit, x, key, nextSite++, dropRate);
    const int64_t contracted = contractedDim(product, !isLeft);
    const int64_t last = Emitter::typeOf(x).getRank() - 1;
    Value low = isLeft ? emit.dot(down, x, {{}, {}, {1}, {contracted}})
                       : emit.dot(x, down, {{}, {}, {contracted}, {1}});
    Value added =
        isLeft ? emit.dot(up, low, {{}, {}, {1}, {0}}) : emit.dot(low, up, {{}, {}, {last}, {1}});
    Value scaled = emit.scale(added, alpha / static_cast<double>(rank));
    Value sum = emit.add(product, scaled);
    if (Attribute block = product->getAttr(kBlockAttr))
      for (Operation *op = product; op != sum.getDefiningOp(); op = op->getNextNode())
        op->getNextNode()->setAttr(kBlockAttr, block);
    product.getResult().replaceAllUsesExcept(sum, sum.getDefiningOp());
  }
}

void AdapterBuilder::rewrite() {
  Signature signature(function);
  if (dropRate > 0)
    key = getKey(signature);
  for (const Target &target : targets) {
    DotGeneralOp first = target.products.front();
    const int64_t contracted = contractedDim(first, isBefore(first, target.weight));
    ArrayRef<int64_t> shape = Emitter::shapeOf(target.weight);
    const int64_t in = shape[contracted], out = shape[1 - contracted];
    // The standard deviation of PEFT's initial values, which have the uniform distribution of a
    // linear layer.
    const double deviation = 1.0 / std::sqrt(3.0 * static_cast<double>(in));
    Value up = addParameter(signature, target, ".lora_B.weight", {out, rank},
                            initOf("zeros", std::nullopt));
    Value down =
        addParameter(signature, target, ".lora_A.weight", {rank, in}, initOf("normal", deviation));
    adapt(target, down, up);
  }
  signature.write();
}

static constexpr FactContract kContract = {
    {Fact::Roles},
    FactSet({Fact::Gradients, Fact::Update, Fact::Optimizer}) | FactSet::from(Fact::Layout)};

namespace {
struct AddAdapters : mlir::st::impl::AddAdaptersBase<AddAdapters> {
  using AddAdaptersBase::AddAdaptersBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (failed(checkFacts(module, getArgument(), kContract)))
      return signalPassFailure();
    auto fail = [&](const Twine &text) {
      module.emitError(text);
      signalPassFailure();
    };
    if (rank < 1)
      return fail("expected a rank of at least 1, found " + Twine(rank));
    if (!(dropout >= 0 && dropout < 1))
      return fail("expected a dropout of at least 0 and below 1, found " +
                  llvm::formatv("{0}", dropout.getValue()).str());
    for (StringRef target : targets)
      if (llvm::Expected<llvm::GlobPattern> glob = createNamePattern(target); !glob)
        return fail("pattern " + target + ": " + llvm::toString(glob.takeError()));
    auto function = module.lookupSymbol<func::FuncOp>("main");
    if (!function || function.isExternal())
      return fail("expected a function @main with a body");
    AdapterBuilder adapters(function, targets, rank, alpha == 0 ? double(rank) : alpha, dropout);
    if (failed(adapters.collect()))
      return signalPassFailure();
    adapters.rewrite();
    addedAdapters += adapters.count();
  }
};
} // namespace
