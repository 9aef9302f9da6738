// The one interface through which an op states how its dimensions correspond.

#ifndef ST_INTERFACES_SHARDING_RULE_TD
#define ST_INTERFACES_SHARDING_RULE_TD

include "mlir/IR/OpBase.td"

def ShardingRuleOpInterface : OpInterface<"ShardingRuleOpInterface"> {
  let description = [{
    An op that can be computed in shards describes its factors: independent
    index ranges from which every dimension of every operand and result is
    composed (major to minor). Propagation, partitioning and cost all read this
    one rule and nothing else about the op. Every device computes an op
    without the interface in full, on replicated operands.
  }];
  let cppNamespace = "::mlir::st";
  let methods = [
    InterfaceMethod<
      /*desc=*/[{Returns the factors of this op and how operands and results are composed of them.
      Reads global types. A rule without factors and without operands says that the op, with these
      attributes, has to be computed in full on every device.}],
      /*retTy=*/"::mlir::st::ShardingRule",
      /*methodName=*/"getShardingRule", /*args=*/(ins)>,
    InterfaceMethod<
      /*desc=*/[{Turns this op, whose operands already have per-device types, into its per-device
      form in place: results get `context.resultTypes`. Ops whose attributes hold shapes or
      positions (iota, slice sizes, constants) override it.}],
      /*retTy=*/"::llvm::LogicalResult",
      /*methodName=*/"localize",
      /*args=*/(ins "::mlir::st::LocalizeContext &":$context),
      /*methodBody=*/"",
      /*defaultImpl=*/"return ::mlir::st::localizeByTypes($_op.getOperation(), context);">
  ];
}

#endif // ST_INTERFACES_SHARDING_RULE_TD
