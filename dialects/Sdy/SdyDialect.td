// The part of the sdy dialect that JAX prints: sharding annotations of a program.
#ifndef SDY_DIALECT_TD
#define SDY_DIALECT_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Sdy_Dialect : Dialect {
  let name = "sdy";
  let cppNamespace = "::mlir::sdy";
  let summary = "Sharding annotations of a program.";
  let description = [{
    `import-shardings` replaces the annotations by `st` shardings. The discardable attribute `sdy.sharding` is
    on arguments and results of functions. A part of an axis, `"a":(1)2`, is stored as an axis named `a:(1)2`.
  }];
  let extraClassDeclaration = [{
    void registerSdyAttributes();
    ::mlir::Attribute parseAttribute(::mlir::DialectAsmParser &parser, ::mlir::Type type) const override;
    void printAttribute(::mlir::Attribute attribute, ::mlir::DialectAsmPrinter &printer) const override;
  }];
}

class Sdy_Attr<string name, string attrMnemonic> : AttrDef<Sdy_Dialect, name> {
  let mnemonic = attrMnemonic;
  let hasCustomAssemblyFormat = 1;
}

def Sdy_MeshAttr : Sdy_Attr<"Mesh", "mesh"> {
  let summary = "named axes: `<[\"a\"=2, \"b\"=4]>`";
  let description = "Devices are numbered row-major, or in the order of `device_ids`.";
  let parameters = (ins
    ArrayRefParameter<"::mlir::StringAttr", "names">:$axes,
    ArrayRefParameter<"int64_t", "sizes">:$sizes,
    ArrayRefParameter<"int64_t", "device numbers">:$device_ids);
  let genVerifyDecl = 1;
}

def Sdy_TensorShardingAttr : Sdy_Attr<"TensorSharding", "sharding"> {
  let summary = "the axes of each dimension: `<@mesh, [{\"a\"}, {?}]>`";
  let description = [{
    An open dimension (`?`) may get more axes. Explicitly replicated axes must not shard any dimension. A
    dimension has a priority (`p1`), or -1.
  }];
  let parameters = (ins
    "::mlir::FlatSymbolRefAttr":$mesh,
    ArrayRefParameter<"::mlir::ArrayAttr", "axes of each dimension">:$dims,
    ArrayRefParameter<"bool", "whether each dimension is open">:$open,
    ArrayRefParameter<"int64_t", "priority of each dimension">:$priorities,
    ArrayRefParameter<"::mlir::StringAttr", "replicated axes">:$replicated,
    ArrayRefParameter<"::mlir::StringAttr", "unreduced axes">:$unreduced);
}

def Sdy_TensorShardingPerValueAttr : Sdy_Attr<"TensorShardingPerValue", "sharding_per_value"> {
  let summary = "a sharding for each operand or result: `<[<@mesh, [{\"a\"}]>]>`";
  let parameters = (ins ArrayRefParameter<"::mlir::sdy::TensorShardingAttr", "shardings">:$shardings);
}

def Sdy_ManualAxesAttr : Sdy_Attr<"ManualAxes", "manual_axes"> {
  let summary = "axes over which a computation is written per shard: `{\"a\", \"b\"}`";
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr", "names">:$axes);
}

def Sdy_OpShardingRuleAttr : AttrDef<Sdy_Dialect, "OpShardingRule"> {
  let summary = "correspondence between dimensions of a custom call's operands and results";
  let description = [{
    `#sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=8}>`. Kept as text and not interpreted: St does not know
    the computation of such a call.
  }];
  let attrName = "sdy.op_sharding_rule";
  let parameters = (ins StringRefParameter<"text between < and >">:$text);
}

class Sdy_Op<string mnemonic, list<Trait> traits = []> : Op<Sdy_Dialect, mnemonic, traits>;

def Sdy_MeshOp : Sdy_Op<"mesh", [Symbol]> {
  let summary = "a mesh for shardings to refer to";
  let arguments = (ins SymbolNameAttr:$sym_name, Sdy_MeshAttr:$mesh);
  let assemblyFormat = "$sym_name `=` $mesh attr-dict";
}

def Sdy_ShardingConstraintOp : Sdy_Op<"sharding_constraint", [Pure, SameOperandsAndResultType]> {
  let summary = "a constraint on the sharding of a tensor";
  let arguments = (ins AnyRankedTensor:$input, Sdy_TensorShardingAttr:$sharding);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input $sharding attr-dict `:` type($result)";
}

def Sdy_ReshardOp : Sdy_Op<"reshard", [Pure, SameOperandsAndResultType]> {
  let summary = "a tensor in another sharding";
  let arguments = (ins AnyRankedTensor:$input, Sdy_TensorShardingAttr:$sharding);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input $sharding attr-dict `:` type($result)";
}

def Sdy_PropagationDirection : I32EnumAttr<"PropagationDirection", "directions of propagation", [
  I32EnumAttrCase<"NONE", 0>, I32EnumAttrCase<"FORWARD", 1>, I32EnumAttrCase<"BACKWARD", 2>,
  I32EnumAttrCase<"BOTH", 3>]> {
  let cppNamespace = "::mlir::sdy";
}

def Sdy_PropagationBarrierOp : Sdy_Op<"propagation_barrier", [Pure, SameOperandsAndResultType]> {
  let summary = "a value that lets shardings propagate in one direction, or in none";
  let arguments = (ins AnyRankedTensor:$input, Sdy_PropagationDirection:$allowed_direction);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input `allowed_direction` `` `=` `` $allowed_direction attr-dict `:` type($input)";
}

def Sdy_ShardingGroupOp : Sdy_Op<"sharding_group"> {
  let summary = "a constraint that gives all tensors of one group the same sharding";
  let arguments = (ins AnyRankedTensor:$input, I64Attr:$group_id);
  let assemblyFormat = "$input `group_id` `` `=` `` $group_id attr-dict `:` type($input)";
}

// Shardy's partitioner writes a change of sharding as collectives. Their tensors are global, so the
// values do not change; only their sharding does.
class Sdy_CollectiveOp<string mnemonic, dag axes, string format>
    : Sdy_Op<mnemonic, [Pure, SameOperandsAndResultType]> {
  let arguments = !con((ins AnyRankedTensor:$tensor), axes,
                       (ins Sdy_TensorShardingAttr:$out_sharding));
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = format #
      "$tensor `out_sharding` `` `=` `` $out_sharding attr-dict `:` type($result)";
}

def Sdy_AxisList : TypedArrayAttrBase<StrAttr, "axes">;
def Sdy_AxisLists : TypedArrayAttrBase<Sdy_AxisList, "axes of each dimension">;
// Axes, their source dimension and their target dimension.
def Sdy_AxisMoves : TypedArrayAttrBase<ConfinedAttr<ArrayAttr, [AttrConstraint<CPred<[{
  ::llvm::cast<::mlir::ArrayAttr>($_self).size() == 3 &&
  ::llvm::isa<::mlir::ArrayAttr>(::llvm::cast<::mlir::ArrayAttr>($_self)[0]) &&
  ::llvm::all_of(::llvm::cast<::mlir::ArrayAttr>(::llvm::cast<::mlir::ArrayAttr>($_self)[0]),
                 [](::mlir::Attribute axis) { return ::llvm::isa<::mlir::StringAttr>(axis); }) &&
  ::llvm::isa<::mlir::IntegerAttr>(::llvm::cast<::mlir::ArrayAttr>($_self)[1]) &&
  ::llvm::isa<::mlir::IntegerAttr>(::llvm::cast<::mlir::ArrayAttr>($_self)[2])}]>, "axes and two dimensions">]>,
  "moves of axes">;

def Sdy_AllGatherOp : Sdy_CollectiveOp<"all_gather", (ins Sdy_AxisLists:$gathering_axes),
                                       "custom<AxisLists>($gathering_axes) "> {
  let summary = "gathers dimensions along some axes";
}
def Sdy_AllSliceOp : Sdy_CollectiveOp<"all_slice", (ins Sdy_AxisLists:$slicing_axes),
                                      "custom<AxisLists>($slicing_axes) "> {
  let summary = "splits dimensions over more axes";
}
def Sdy_AllToAllOp : Sdy_CollectiveOp<"all_to_all", (ins Sdy_AxisMoves:$params),
                                      "custom<AxisMoves>($params) "> {
  let summary = "moves axes to another dimension";
}
def Sdy_CollectivePermuteOp : Sdy_CollectiveOp<"collective_permute", (ins), ""> {
  let summary = "splits the dimensions over other axes of the same size";
}
def Sdy_AllReduceOp : Sdy_CollectiveOp<"all_reduce", (ins Sdy_AxisList:$reduction_axes),
                                       "custom<AxisList>($reduction_axes) "> {
  let summary = "adds the parts of a sum along some axes";
}
def Sdy_ReduceScatterOp : Sdy_CollectiveOp<"reduce_scatter", (ins Sdy_AxisLists:$reduce_scatter_axes),
                                           "custom<AxisLists>($reduce_scatter_axes) "> {
  let summary = "adds the parts of a sum, and splits dimensions over the axes";
}
def Sdy_ReplicatedToUnreducedOp : Sdy_CollectiveOp<"replicated_to_unreduced", (ins Sdy_AxisList:$axes),
                                                   "custom<AxisList>($axes) "> {
  let summary = "makes a tensor the sum of parts along some axes: itself and zeros";
}
def Sdy_ShardedToUnreducedOp : Sdy_CollectiveOp<"sharded_to_unreduced", (ins Sdy_AxisLists:$axes),
                                                "custom<AxisLists>($axes) "> {
  let summary = "makes a tensor the sum of its shards along some axes, each padded with zeros";
}

def Sdy_ConstantOp : Sdy_Op<"constant", [Pure, AllTypesMatch<["value", "output"]>]> {
  let summary = "a constant whose users may each choose its sharding";
  let arguments = (ins ElementsAttr:$value);
  let results = (outs AnyRankedTensor:$output);
  let assemblyFormat = "attr-dict $value";
}

def Sdy_ManualComputationOp : Sdy_Op<"manual_computation", [RecursiveMemoryEffects]> {
  let summary = "a computation written for one shard";
  let description = [{
    The body takes the local shard of each operand along the manual axes, and yields that of each result. Its
    collectives name devices by number.
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs,
                       Sdy_TensorShardingPerValueAttr:$in_shardings,
                       Sdy_TensorShardingPerValueAttr:$out_shardings,
                       Sdy_ManualAxesAttr:$manual_axes);
  let results = (outs Variadic<AnyRankedTensor>);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Sdy_ReturnOp : Sdy_Op<"return", [Pure, Terminator, ParentOneOf<["ManualComputationOp"]>]> {
  let summary = "returns the results of a body";
  let arguments = (ins Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = "attr-dict ($results^ `:` type($results))?";
}

#endif // SDY_DIALECT_TD
