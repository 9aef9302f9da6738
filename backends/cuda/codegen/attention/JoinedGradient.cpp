#include "backends/cuda/codegen/attention/JoinedGradient.h"

#include "backends/cuda/codegen/attention/AttentionTile.h"
#include "backends/cuda/codegen/kernels/SharedMemory.h"
#include "dialects/StableHLO/Utils/ProductStrides.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/CSE.h"

using namespace mlir;
using namespace mlir::cuda;
using mlir::st::KernelOp;
namespace hlo = mlir::stablehlo;

static Block &bodyOf(KernelOp kernel) { return kernel.getBody().front(); }

/// Counts the consumers that contract rows (`ofColumns`) or columns.
static size_t countConsumers(KernelOp kernel, bool ofColumns) {
  return llvm::count_if(bodyOf(kernel).getOps<hlo::DotGeneralOp>(), [&](hlo::DotGeneralOp dot) {
    return !isMatrix(dot.getLhs()) && mlir::st::contractsRows(dot) == ofColumns;
  });
}

static size_t countProducers(KernelOp kernel) {
  return llvm::count_if(bodyOf(kernel).getOps<hlo::DotGeneralOp>(),
                        [](hlo::DotGeneralOp dot) { return isMatrix(dot.getLhs()); });
}

/// Returns true if all other users of the first kernel's results come after the second kernel.
static bool canWait(KernelOp rows, KernelOp columns) {
  return llvm::all_of(rows->getUsers(), [&](Operation *user) {
    return user == columns ||
           (user->getBlock() == columns->getBlock() && columns->isBeforeInBlock(user));
  });
}

KernelOp mlir::cuda::joinGradientKernels(KernelOp rows, KernelOp columns,
                                         const mlir::st::ReachingDefinitions &definitions) {
  OpBuilder builder(columns), inside(columns.getContext());
  auto *body = new Block;
  inside.setInsertionPointToEnd(body);
  SmallVector<Value> inputs, yielded;
  SmallVector<Type> types;
  IRMapping created; // results of the first kernel
  for (KernelOp kernel : {rows, columns}) {
    IRMapping mapping;
    for (auto [argument, input] :
         llvm::zip_equal(bodyOf(kernel).getArguments(), kernel.getInputs())) {
      if (Value value = created.lookupOrNull(input)) {
        mapping.map(argument, value);
        continue;
      }
      auto isSame = [&, input = input](Value other) {
        return input.getType() == other.getType() && definitions.of(input) == definitions.of(other);
      };
      const auto number = static_cast<unsigned>(llvm::find_if(inputs, isSame) - inputs.begin());
      if (number == inputs.size()) {
        inputs.push_back(input);
        body->addArgument(input.getType(), argument.getLoc());
      }
      mapping.map(argument, body->getArgument(number));
    }
    for (Operation &op : bodyOf(kernel).without_terminator())
      inside.clone(op, mapping);
    for (auto [value, result] :
         llvm::zip_equal(bodyOf(kernel).getTerminator()->getOperands(), kernel.getResults())) {
      yielded.push_back(mapping.lookup(value));
      created.map(result, yielded.back());
    }
    llvm::append_range(types, kernel.getResultTypes());
  }
  mlir::st::YieldOp::create(inside, columns.getLoc(), yielded);
  auto joined = KernelOp::create(builder, columns.getLoc(), types, columns.getKindAttr(), inputs);
  joined->setDiscardableAttrs(columns->getDiscardableAttrDictionary());
  joined.getBody().push_back(body);
  // The scores of both kernels become one product.
  IRRewriter rewriter(columns.getContext());
  DominanceInfo dominance(joined);
  eliminateCommonSubExpressions(rewriter, dominance, joined);
  return joined;
}

bool mlir::cuda::canJoinGradientKernels(KernelOp rows, KernelOp columns,
                                        const mlir::st::ReachingDefinitions &definitions) {
  if (countConsumers(rows, /*ofColumns=*/false) != 1 ||
      countConsumers(rows, /*ofColumns=*/true) != 0 ||
      countConsumers(columns, /*ofColumns=*/false) != 0 ||
      countConsumers(columns, /*ofColumns=*/true) == 0 || !canWait(rows, columns))
    return false;
  KernelOp joined = joinGradientKernels(rows, columns, definitions);
  ScopedDiagnosticHandler silence(joined.getContext(), [](Diagnostic &) { return success(); });
  FailureOr<FusedAttention> fused = failure();
  if (countProducers(joined) == 2)
    fused = analyzeAttention(joined);
  const bool can = succeeded(fused) && AttentionTile::canCross(*fused, getSharedBytes(joined));
  joined.erase();
  return can;
}
