// The one interface through which an op states how its dimensions correspond.

#ifndef ST_INTERFACES_SHARDING_RULE_TD
#define ST_INTERFACES_SHARDING_RULE_TD

include "mlir/IR/OpBase.td"

def ShardingRuleOpInterface : OpInterface<"ShardingRuleOpInterface"> {
  let description = [{
    An op that can be computed in shards describes its factors: independent
    index ranges from which every dimension of every operand and result is
    composed (major to minor). Propagation, partitioning and cost all read this
    one rule and nothing else about the op.
  }];
  let cppNamespace = "::mlir::st";
  let methods = [
    InterfaceMethod<
      /*desc=*/"Returns the factors of this op and how operands and results are composed of them.",
      /*retTy=*/"::mlir::st::ShardingRule",
      /*methodName=*/"getShardingRule", /*args=*/(ins)>,
    InterfaceMethod<
      /*desc=*/[{Adjusts a clone of this op, whose operands already have local shapes, to per-device
      result types: `localResultTypes` are the types that the sharded rule yields. Ops with shape
      attributes (iota, slice sizes, constants) override it.}],
      /*retTy=*/"::llvm::LogicalResult",
      /*methodName=*/"localize",
      /*args=*/(ins "::mlir::OpBuilder &":$builder, "::mlir::st::LocalizeContext &":$context),
      /*methodBody=*/"",
      /*defaultImpl=*/"return ::mlir::st::localizeByTypes($_op.getOperation(), context);">
  ];
}

#endif // ST_INTERFACES_SHARDING_RULE_TD
