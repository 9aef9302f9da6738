// Ops on global and per-device tensors; StProgramOps.td has programs and tasks.

#ifndef ST_OPS_TD
#define ST_OPS_TD

include "dialects/St/IR/StDialect.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class St_Op<string mnemonic, list<Trait> traits = []> : Op<St_Dialect, mnemonic, traits>;
def St_Tensor : StaticShapeTensorOf<[AnyType]>;

def St_MeshOp : St_Op<"mesh", [Symbol]> {
  let summary = "named axes: spatial axes and the temporal axis micro";
  let description = [{
    ```mlir
    st.mesh @mesh <["data"=2, "tensor"=4], micro=4>
    ```
    Positions along spatial axes are the devices of a group, numbered row-major (last axis fastest).
    `micro` always exists.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, ArrayAttr:$axis_names,
                       DenseI64ArrayAttr:$axis_sizes, I64Attr:$micro);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    static constexpr ::llvm::StringLiteral kMicro = "micro";
    /// Size of an axis, `micro` included; nullopt if there is none of this name.
    std::optional<int64_t> getAxisSize(::llvm::StringRef axis);
    /// Product of the spatial axes: devices of one group.
    int64_t getNumDevices();
    /// Coordinate along a spatial axis of device `rank` of the group.
    int64_t getCoordinate(int64_t rank, ::llvm::StringRef axis);
  }];
}

// ---- on global tensors --------------------------------------------------------

def St_ReshardOp : St_Op<"reshard", [Pure, SameOperandsAndResultType]> {
  let summary = "changes the sharding of a global tensor";
  let arguments = (ins St_Tensor:$operand, St_ShardingAttr:$sharding);
  let results = (outs St_Tensor:$result);
  let assemblyFormat = "$operand `to` $sharding attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def St_ConstrainOp : St_Op<"constrain", [Pure, SameOperandsAndResultType]> {
  let summary = "a user's constraint on the sharding of a tensor, for propagation";
  let description = [{
    The result has this sharding, with further axes possible in its open dimensions. With a
    `direction` (a barrier), shardings propagate only from the operand to the result (`forward`),
    only in the other direction (`backward`) or not at all (`none`). Results of the same `group`
    have the same shape and sharding.

    ```mlir
    %1 = st.constrain %0 to <@mesh, [{"data"}, {?} ]> : tensor<8x16xf32>
    %2 = st.constrain %1 to <@mesh, [{?}, {?} ]> direction forward : tensor<8x16xf32>
    %3 = st.constrain %2 to <@mesh, [{?}, {?} ]> group 1 : tensor<8x16xf32>
    ```
  }];
  let arguments = (ins St_Tensor:$operand, St_ShardingAttr:$sharding, OptionalAttr<St_DirectionAttr>:$direction,
                       OptionalAttr<I64Attr>:$group);
  let results = (outs St_Tensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Type":$type, "::mlir::Value":$operand, "::mlir::st::ShardingAttr":$sharding), [{
    build($_builder, $_state, type, operand, sharding, /*direction=*/nullptr, /*group=*/nullptr);
  }]>];
  let assemblyFormat = [{
    $operand `to` $sharding (`direction` $direction^)? (`group` $group^)? attr-dict `:` type($result)
  }];
  let hasVerifier = 1;
}

def St_TransferOp : St_Op<"transfer", [Pure, SameOperandsAndResultType]> {
  let summary = "moves a value from one stage to another with the same sharding";
  let description = "Rank r of the source stage's group sends to rank r of the target's.";
  let arguments = (ins St_Tensor:$operand, I64Attr:$source, I64Attr:$target);
  let results = (outs St_Tensor:$result);
  let assemblyFormat = "$operand `from` $source `to` $target attr-dict `:` type($result)";
  let hasVerifier = 1;
}

// ---- on per-device tensors ----------------------------------------------------

class St_CollectiveOp<string mnemonic, list<Trait> traits = []> : St_Op<mnemonic, traits # [Pure]> {
  code axesAccessor = [{
    ::llvm::SmallVector<::llvm::StringRef> getAxisNames() {
      ::llvm::SmallVector<::llvm::StringRef> names;
      for (::mlir::Attribute axis : getAxes())
        names.push_back(::llvm::cast<::mlir::StringAttr>(axis).getValue());
      return names;
    }
  }];
  let extraClassDeclaration = axesAccessor;
  let hasVerifier = 1;
}

// A collective of several tensors, as combine-collectives forms it: one start, and the messages of all tensors
// are sent together.
class St_CombinableOp<string mnemonic> : St_CollectiveOp<mnemonic> {
  let extraClassDeclaration = axesAccessor # [{
    ::mlir::RankedTensorType getInputType(unsigned i) {
      return ::llvm::cast<::mlir::RankedTensorType>(getInputs()[i].getType());
    }
    ::mlir::RankedTensorType getResultType(unsigned i) {
      return ::llvm::cast<::mlir::RankedTensorType>(getResults()[i].getType());
    }
  }];
}

def St_AllReduceOp : St_CombinableOp<"all_reduce"> {
  let summary = "reduces tensors over mesh axes; every device gets the results";
  let arguments = (ins Variadic<St_Tensor>:$inputs, St_ReduceKindAttr:$kind, StrArrayAttr:$axes,
                       FlatSymbolRefAttr:$mesh);
  let results = (outs Variadic<St_Tensor>:$results);
  let assemblyFormat = [{
    $inputs $kind `over` $axes `of` $mesh attr-dict `:` custom<SameTypes>(type($inputs), type($results))
  }];
}

def St_AllGatherOp : St_CombinableOp<"all_gather"> {
  let summary = "concatenates the shards of a dimension, first axis major";
  let arguments = (ins Variadic<St_Tensor>:$inputs, I64Attr:$dim, StrArrayAttr:$axes, FlatSymbolRefAttr:$mesh);
  let results = (outs Variadic<St_Tensor>:$results);
  let assemblyFormat = "$inputs `dim` $dim `over` $axes `of` $mesh attr-dict `:` type($inputs) `->` type($results)";
}

def St_ReduceScatterOp : St_CombinableOp<"reduce_scatter"> {
  let summary = "reduces over mesh axes and gives each device its part of a dimension";
  let arguments = (ins Variadic<St_Tensor>:$inputs, St_ReduceKindAttr:$kind, I64Attr:$dim, StrArrayAttr:$axes,
                       FlatSymbolRefAttr:$mesh);
  let results = (outs Variadic<St_Tensor>:$results);
  let assemblyFormat = "$inputs $kind `dim` $dim `over` $axes `of` $mesh attr-dict `:` type($inputs) `->` type($results)";
}

def St_AllToAllOp : St_CollectiveOp<"all_to_all"> {
  let summary = "moves the sharding from one dimension to another";
  let description = "Splits `split_dim` over the axes and gathers `concat_dim` along them.";
  let arguments = (ins St_Tensor:$operand, I64Attr:$split_dim, I64Attr:$concat_dim, StrArrayAttr:$axes,
                       FlatSymbolRefAttr:$mesh);
  let results = (outs St_Tensor:$result);
  let assemblyFormat = "$operand `split` $split_dim `concat` $concat_dim `over` $axes `of` $mesh attr-dict `:` type($operand) `->` type($result)";
}

def St_AllSliceOp : St_CollectiveOp<"all_slice"> {
  let summary = "keeps this device's part of a dimension; moves no data";
  let arguments = (ins St_Tensor:$operand, I64Attr:$dim, StrArrayAttr:$axes, FlatSymbolRefAttr:$mesh);
  let results = (outs St_Tensor:$result);
  let assemblyFormat = "$operand `dim` $dim `over` $axes `of` $mesh attr-dict `:` type($operand) `->` type($result)";
}

def St_CollectivePermuteOp : St_CollectiveOp<"collective_permute", [SameOperandsAndResultType]> {
  let summary = "sends each device's tensor along axes by the given source-target pairs";
  let description = [{
    A pair has positions along all axes together, the first axis major. A position sends to at most
    one other and receives from at most one. A position that is no target gets zeros.
  }];
  let arguments = (ins St_Tensor:$operand, DenseI64ArrayAttr:$pairs, StrArrayAttr:$axes, FlatSymbolRefAttr:$mesh);
  let results = (outs St_Tensor:$result);
  let assemblyFormat = "$operand $pairs `over` $axes `of` $mesh attr-dict `:` type($result)";
}

def St_AccumulateOp : St_Op<"accumulate", [Pure, SameOperandsAndResultType]> {
  let summary = "reduces over the micro-batches of a step, in their order";
  let arguments = (ins St_Tensor:$operand, St_ReduceKindAttr:$kind);
  let results = (outs St_Tensor:$result);
  let assemblyFormat = "$operand $kind `over` `micro` attr-dict `:` type($result)";
}

def St_AxisIndexOp : St_Op<"axis_index", [Pure]> {
  let summary = "this device's coordinate along a mesh axis (i32 scalar); along micro: the micro-batch";
  let description = [{
    `plus` n, with n below the axis' size, gives the coordinate plus n, modulo the size. That is the
    coordinate of the device n places ahead on the ring of the axis.
  }];
  let arguments = (ins StrAttr:$axis, FlatSymbolRefAttr:$mesh, DefaultValuedAttr<I64Attr, "0">:$shift);
  let results = (outs TensorOf<[I32]>:$result);
  let assemblyFormat = "$axis (`plus` $shift^)? `of` $mesh attr-dict `:` type($result)";
  let hasVerifier = 1;
}

#endif // ST_OPS_TD
