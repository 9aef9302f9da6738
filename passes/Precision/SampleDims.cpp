#include "passes/Precision/SampleDims.h"
#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/St/Interfaces/ShardingRule.h"
#include "dialects/St/Utils/Roles.h"

using namespace mlir;
using namespace mlir::st;

SampleDims::SampleDims(func::FuncOp function) {
  for (BlockArgument argument : function.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!type || type.getRank() == 0 || getRole(argument) != "batch")
      continue;
    if (samples == 0)
      samples = type.getDimSize(0);
    if (type.getDimSize(0) == samples)
      dims[argument] = 0;
  }
  if (samples > 0)
    for (Operation &op : function.front())
      visit(op);
}

std::optional<int64_t> SampleDims::of(Value value) const {
  auto it = dims.find(value);
  return it == dims.end() ? std::nullopt : std::optional(it->second);
}

void SampleDims::visit(Operation &op) {
  auto ruled = dyn_cast<ShardingRuleOpInterface>(op);
  if (!ruled || llvm::none_of(op.getOperands(), [&](Value v) { return of(v).has_value(); }))
    return;
  ShardingRule rule = ruled.getShardingRule();
  DenseSet<int64_t> factors; // that have the sample as their major part
  for (auto [operand, tensor] : llvm::zip(op.getOperands(), rule.operands))
    if (std::optional<int64_t> dim = of(operand); dim && !tensor[*dim].empty())
      if (int64_t factor = tensor[*dim].front();
          rule.factors[factor].kind == FactorKind::Parallel && divides(rule.factors[factor].size))
        factors.insert(factor);
  for (auto [result, tensor] : llvm::zip(op.getResults(), rule.results))
    for (auto [dim, composing] : llvm::enumerate(tensor))
      if (!composing.empty() && factors.contains(composing.front()) &&
          divides(cast<RankedTensorType>(result.getType()).getDimSize(dim)))
        dims[result] = static_cast<int64_t>(dim);
}
