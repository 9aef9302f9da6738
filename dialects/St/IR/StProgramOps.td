// Programs: the step of one device group.

#ifndef ST_PROGRAM_OPS_TD
#define ST_PROGRAM_OPS_TD

include "dialects/St/IR/StOps.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"

def St_ProgramOp : St_Op<"program", [Symbol, SymbolTable, IsolatedFromAbove, NoTerminator, SingleBlock]> {
  let summary = "the step of one device group, common to all its ranks";
  let description = [{
    ```mlir
    st.program @group0 stages [0] devices [0, 1, 2, 3] first_rank 0 mesh @mesh {
      st.state @w "dense.weight" role "parameter" of "" : tensor<8x8xf32> slice #st.sharding<...> : tensor<8x4xf32>
      st.task @forward0 forward stage 0 (%mb) { ... }
      st.schedule "sequential" [@forward0 0]
    }
    ```
    `devices` gives each rank its device id; global ranks count from `first_rank`.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, DenseI64ArrayAttr:$stages, DenseI64ArrayAttr:$devices,
                       I64Attr:$first_rank, FlatSymbolRefAttr:$mesh);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `stages` $stages `devices` $devices `first_rank` $first_rank `mesh` $mesh
    attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
}

class St_StorageOp<string mnemonic> : St_Op<mnemonic, [Symbol, HasParent<"ProgramOp">]> {
  let hasVerifier = 1;
}

// Access to storage of the enclosing program.
class St_AccessOp<string mnemonic, list<Trait> traits>
    : St_Op<mnemonic, traits # [ParentOneOf<["TaskOp", "LoopOp"]>, DeclareOpInterfaceMethods<SymbolUserOpInterface>]>;

def St_StateOp : St_StorageOp<"state"> {
  let summary = "a persistent tensor: parameter or optimizer state";
  let description = "`name` is the tensor's name in the model, and `of` the parameter of an optimizer tensor.";
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$name, StrAttr:$role, StrAttr:$of,
                       TypeAttr:$global_type, St_ShardingAttr:$sharding, TypeAttr:$local_type,
                       OptionalAttr<DictionaryAttr>:$init, OptionalAttr<I64Attr>:$init_stream,
                       OptionalAttr<St_AddressAttr>:$address);
  let assemblyFormat = [{
    $sym_name $name `role` $role `of` $of `global` $global_type `slice` $sharding `local` $local_type
    (`init` $init^)? (`stream` $init_stream^)? (`at` $address^)? attr-dict
  }];
}

def St_InputOp : St_StorageOp<"input"> {
  let summary = "an input of each step; split along micro_dim into micro-batches unless that is -1";
  let description = "`local_type` is the type of one micro-batch on one device.";
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$name, StrAttr:$role, TypeAttr:$global_type,
                       St_ShardingAttr:$sharding, TypeAttr:$local_type, I64Attr:$micro_dim,
                       OptionalAttr<St_AddressAttr>:$address);
  let assemblyFormat = [{
    $sym_name $name `role` $role `global` $global_type `slice` $sharding `local` $local_type
    `micro_dim` $micro_dim (`at` $address^)? attr-dict
  }];
  let extraClassDeclaration = "bool isPerMicroBatch() { return static_cast<int64_t>(getMicroDim()) >= 0; }";
}

def St_OutputOp : St_StorageOp<"output"> {
  let summary = "a result of the step";
  let description = "A result that is split over `micro` is written once per micro-batch; its parts are stacked.";
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$name, StrAttr:$role, TypeAttr:$global_type,
                       St_ShardingAttr:$sharding, TypeAttr:$local_type, OptionalAttr<St_AddressAttr>:$address);
  let assemblyFormat = [{
    $sym_name $name `role` $role `global` $global_type `slice` $sharding `local` $local_type
    (`at` $address^)? attr-dict
  }];
  let extraClassDeclaration = [{
    /// Returns true if each micro-batch writes a separate part.
    bool isPerMicroBatch() { return getSharding().usesAxis(MeshOp::kMicro); }
  }];
}

def St_BufferOp : St_StorageOp<"buffer"> {
  let summary = "memory between the tasks of one step";
  let description = [{
    `kind`: "stash" (written by one task of a micro-batch, read by later tasks of the same
    micro-batch), "accumulator" (zeroed by the prologue, added to by each micro-batch), "step"
    (written once per step). A stash has `slots` copies; micro-batch m uses slot m mod slots. A
    buffer with `space "host"` is in the memory of the device's host: a write copies the value to
    it, and a read copies it to the device's memory.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$kind, I64Attr:$slots, TypeAttr:$type,
                       OptionalAttr<St_AddressAttr>:$address, OptionalAttr<StrAttr>:$space);
  let assemblyFormat = "$sym_name $kind `slots` $slots (`space` $space^)? `:` $type (`at` $address^)? attr-dict";
  let extraClassDeclaration = [{
    bool isPerMicroBatch() { return getKind() == "stash"; }
    bool isOnHost() { return getSpace().has_value(); }
  }];
}

def St_TaskOp : St_Op<"task", [Symbol, HasParent<"ProgramOp">, NoTerminator, SingleBlock]> {
  let summary = "a phase of one stage for one micro-batch";
  let description = [{
    Phases: "prologue" (once per step, first), "statistics" (per micro-batch, reads no parameter),
    "totals" (once per step, after all statistics; sums over the micro-batches that they read),
    "forward", "backward", "weight" (per micro-batch; the part of the backward pass that computes
    only gradients of weights, if it is a separate task), "update" (once per step, last). The body's
    argument is the micro-batch (0 in tasks that run once per step). A body holds tensor ops,
    collectives, st.read, st.write, st.send, st.recv, later st.kernel.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$phase, I64Attr:$stage);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::BlockArgument getMicroBatch() { return getBody().getArgument(0); }
    bool isPerMicroBatch() {
      return getPhase() != "prologue" && getPhase() != "totals" && getPhase() != "update";
    }
  }];
}

def St_ReadOp : St_AccessOp<"read", [MemoryEffects<[MemRead]>]> {
  let summary = "reads a state, input or buffer of the program";
  let arguments = (ins FlatSymbolRefAttr:$source, Optional<Index>:$micro_batch);
  let results = (outs St_Tensor:$result);
  let assemblyFormat = "$source (`[` $micro_batch^ `]`)? attr-dict `:` type($result)";
}

def St_WriteOp : St_AccessOp<"write", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "stores a value to a state, output or buffer; with a kind: combines it with the stored value";
  let arguments = (ins St_Tensor:$value, FlatSymbolRefAttr:$target, Optional<Index>:$micro_batch,
                       OptionalAttr<St_ReduceKindAttr>:$accumulate);
  let assemblyFormat = [{
    $value `to` $target (`[` $micro_batch^ `]`)? (`accumulate` $accumulate^)? attr-dict `:` type($value)
  }];
}

def St_SendOp : St_Op<"send", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "sends a tensor to the same rank of another group";
  let arguments = (ins St_Tensor:$operand, FlatSymbolRefAttr:$group, I64Attr:$channel);
  let assemblyFormat = "$operand `to` $group `channel` $channel attr-dict `:` type($operand)";
}

def St_RecvOp : St_Op<"recv", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "receives a tensor from the same rank of another group";
  let arguments = (ins FlatSymbolRefAttr:$group, I64Attr:$channel);
  let results = (outs St_Tensor:$result);
  let assemblyFormat = "`from` $group `channel` $channel attr-dict `:` type($result)";
}

def St_ScheduleOp : St_Op<"schedule", [HasParent<"ProgramOp">]> {
  let summary = "the order in which a group runs its tasks";
  let description = "`st.schedule \"1f1b\" [@forward0 0, @forward0 1, @backward0 0]`: task and micro-batch.";
  let arguments = (ins StrAttr:$kind, ArrayAttr:$tasks, DenseI64ArrayAttr:$micro_batches);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def St_KernelOp : St_Op<"kernel", [IsolatedFromAbove, SingleBlock]> {
  let summary = "a tensor program that one device kernel computes";
  let description = [{
    `kind`: "matmul" (dot_generals of one left operand and elementwise ops on their results), "loop"
    (elementwise ops, broadcasts and row reductions over one iteration space), "attention" (a fused
    attention-like kernel: a loop over rows, products that compute them and products that read
    them), "reduce", "copy" (data movement), "gather", "scatter". The body is isolated; scalars and
    constants are cloned into it.
  }];
  let arguments = (ins StrAttr:$kind, Variadic<St_Tensor>:$inputs);
  let results = (outs Variadic<St_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def St_LoopOp : St_AccessOp<"loop", [AttrSizedOperandSegments, NoTerminator, SingleBlock,
                                     MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "repeats a part of a task";
  let description = [{
    The loop runs either `trips` times, or `while` the predicate in a buffer holds. The predicate is
    `condition` at first, and each trip writes it for the next one. Carried values are in the
    buffers `carried`: the loop first stores `inits` there, the body reads and writes them as a task
    does, and the results are their final contents. `captures` are values from before the loop that
    the body reads by `st.capture`.

    ```mlir
    %2 = st.loop trips 3 carried [@sum] init (%0) : (tensor<4xf32>) captures (%1) : (tensor<4xf32>)
        -> tensor<4xf32> {
      %3 = st.read @sum : tensor<4xf32>
      %4 = st.capture 0 : tensor<4xf32>
      %5 = stablehlo.add %3, %4 : tensor<4xf32>
      st.write %5 to @sum : tensor<4xf32>
    }
    ```
  }];
  let arguments = (ins OptionalAttr<I64Attr>:$trips, OptionalAttr<FlatSymbolRefAttr>:$predicate,
                       Optional<St_Tensor>:$condition, ArrayAttr:$carried, Variadic<St_Tensor>:$inits,
                       Variadic<St_Tensor>:$captures);
  let results = (outs Variadic<St_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    (`trips` $trips^)? (`while` $predicate^)? ($condition^ `:` type($condition))? `carried` $carried
    (`init` `(` $inits^ `)` `:` `(` type($inits) `)`)?
    (`captures` `(` $captures^ `)` `:` `(` type($captures) `)`)?
    (`->` type($results)^)? attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
}

def St_CaptureOp : St_Op<"capture", [Pure, HasParent<"LoopOp">]> {
  let summary = "a value from before the loop";
  let arguments = (ins I64Attr:$index);
  let results = (outs St_Tensor:$result);
  let assemblyFormat = "$index attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def St_YieldOp : St_Op<"yield", [Pure, ReturnLike, Terminator, HasParent<"KernelOp">]> {
  let summary = "ends a kernel with its results";
  let arguments = (ins Variadic<St_Tensor>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

#endif // ST_PROGRAM_OPS_TD
