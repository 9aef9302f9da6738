//===- ControlFlowFolders.cpp - Folding of control flow -------------------===//

#include "dialects/StableHLO/StableHLOOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::stablehlo;

OpFoldResult GetTupleElementOp::fold(FoldAdaptor) {
  if (auto tuple = getOperand().getDefiningOp<TupleOp>())
    return tuple.getVal()[getIndex()];
  return {};
}

/// Replaces an op by what its branch computes. A branch has no arguments.
static void inlineBranch(Operation *op, Region &branch, PatternRewriter &rewriter) {
  Block &block = branch.front();
  Operation *last = block.getTerminator();
  SmallVector<Value> results(last->getOperands());
  rewriter.inlineBlockBefore(&block, op);
  rewriter.eraseOp(last);
  rewriter.replaceOp(op, results);
}

/// The constant that a scalar holds.
static std::optional<APInt> getConstant(Value scalar) {
  DenseIntElementsAttr value;
  if (!matchPattern(scalar, m_Constant(&value)))
    return std::nullopt;
  return value.getSplatValue<APInt>();
}

namespace {

struct InlineIf : public OpRewritePattern<IfOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(IfOp op, PatternRewriter &rewriter) const override {
    std::optional<APInt> pred = getConstant(op.getPred());
    if (!pred)
      return failure();
    inlineBranch(op, pred->isZero() ? op.getFalseBranch() : op.getTrueBranch(), rewriter);
    return success();
  }
};

struct InlineCase : public OpRewritePattern<CaseOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(CaseOp op, PatternRewriter &rewriter) const override {
    std::optional<APInt> index = getConstant(op.getIndex());
    if (!index)
      return failure();
    unsigned last = op.getBranches().size() - 1;
    // Out of range, also below, means the last branch.
    unsigned branch = index->isNegative() ? last : index->getLimitedValue(last);
    inlineBranch(op, op.getBranches()[branch], rewriter);
    return success();
  }
};

} // namespace

void IfOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<InlineIf>(context);
}

void CaseOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<InlineCase>(context);
}
