// The st dialect: meshes, shardings, collectives, programs.

#ifndef ST_DIALECT_TD
#define ST_DIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

def St_Dialect : Dialect {
  let name = "st";
  let cppNamespace = "::mlir::st";
  let summary = "Distribution of a training step over devices and time.";
  let description = [{
    The dialect defines these discardable attributes on other ops:

    - `st.sharding`: a `#st.sharding` (one result) or an array of them (several);
    - `st.stage`: i64, the pipeline stage that owns the op;
    - `st.block`: i64, the layer of a forward op, ascending;
    - `st.stop_gradient`: unit, no gradient flows through the op;
    - on function arguments and results also `st.name`, `st.role`, `st.init`, `st.of`, and on
      arguments `st.no_decay` (unit) and `st.limit` (i64, an exclusive upper bound of a batch's
      values);
    - on arguments and results of a per-device function `st.global_type`, the type before
      `st.sharding` was applied;
    - on a kernel `st.no_alias` (unit): its results do not share memory with its operands;
    - on the module: `st.stages`, `st.devices`, `st.schedule`, `st.target`, `st.micro_batches`.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let extraClassDeclaration = "void registerStAttributes();";
}

def St_ReduceKind : I32EnumAttr<"ReduceKind", "kind of reduction", [
    I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Max", 1, "max">,
    I32EnumAttrCase<"Min", 2, "min">, I32EnumAttrCase<"And", 3, "and">,
    I32EnumAttrCase<"Or", 4, "or">]> {
  let cppNamespace = "::mlir::st";
  let genSpecializedAttr = 0;
}
def St_ReduceKindAttr : EnumAttr<St_Dialect, St_ReduceKind, "reduce_kind"> {
  let assemblyFormat = "$value";
}

def St_Direction : I32EnumAttr<"SpreadDirection", "directions in which shardings propagate through a value", [
    I32EnumAttrCase<"None", 0, "none">, I32EnumAttrCase<"Forward", 1, "forward">,
    I32EnumAttrCase<"Backward", 2, "backward">]> {
  let cppNamespace = "::mlir::st";
  let genSpecializedAttr = 0;
}
def St_DirectionAttr : EnumAttr<St_Dialect, St_Direction, "direction"> {
  let assemblyFormat = "$value";
}

class St_Attr<string name, string attrMnemonic> : AttrDef<St_Dialect, name> {
  let mnemonic = attrMnemonic;
}

def St_ShardingAttr : St_Attr<"Sharding", "sharding"> {
  let summary = "the sharding of a tensor over a mesh";
  let description = [{
    For each dimension, the list of mesh axes that shard it, major to minor; and the axes along
    which the value is still unreduced, in the order of their reduction:

    ```mlir
    #st.sharding<@mesh, [{"data"}, {"tensor"} ], unreduced = sum ["micro"]>
    ```
    A scalar has `[]`. The tensor is replicated along axes that do not occur.

    A number among the axes of a dimension is an unsharded part: `{4, "micro"}` splits each quarter
    of the dimension over `micro`. It results if a dimension that is split over `micro` is merged by
    a reshape with a dimension of size 4 before it.

    A seed of propagation may have more, in Shardy's terms:

    ```mlir
    #st.sharding<@mesh, [{"data", ?}, {"tensor"}p1], replicated = ["expert"]>
    ```
    An open dimension (`?`) may be sharded over further axes, except those listed as replicated. A
    dimension of priority 1 propagates to other values only after all dimensions of priority 0 (no
    number), and so on. Propagation leaves closed shardings without priorities.
  }];
  let parameters = (ins
    "::mlir::FlatSymbolRefAttr":$mesh,
    ArrayRefParameter<"::mlir::ArrayAttr", "axes, and sizes of unsplit parts, of each dimension">:$dims,
    "::mlir::st::ReduceKind":$kind,
    ArrayRefParameter<"::mlir::StringAttr", "unreduced axes">:$unreduced,
    ArrayRefParameter<"int64_t", "open dimensions, ascending">:$open,
    ArrayRefParameter<"int64_t", "priority of each dimension; empty if all are 0">:$priorities,
    ArrayRefParameter<"::mlir::StringAttr", "axes that open dimensions must not use">:$replicated);
  let builders = [
    AttrBuilder<(ins "::mlir::FlatSymbolRefAttr":$mesh, "::llvm::ArrayRef<::mlir::ArrayAttr>":$dims)>,
    AttrBuilder<(ins "::mlir::FlatSymbolRefAttr":$mesh, "::llvm::ArrayRef<::mlir::ArrayAttr>":$dims,
                     "::mlir::st::ReduceKind":$kind, "::llvm::ArrayRef<::mlir::StringAttr>":$unreduced)>
  ];
  let extraClassDeclaration = [{
    /// The fully replicated sharding of a tensor of `rank` dimensions.
    static ShardingAttr getReplicated(FlatSymbolRefAttr mesh, int64_t rank);
    int64_t getRank() const { return getDims().size(); }
    /// Axes of dimension `dim`, major to minor.
    ::llvm::SmallVector<::llvm::StringRef> getAxes(int64_t dim) const;
    bool isUnreduced() const { return !getUnreduced().empty(); }
    bool isReplicated() const;
    bool usesAxis(::llvm::StringRef axis) const;
    bool isOpen(int64_t dim) const { return ::llvm::is_contained(getOpen(), dim); }
    int64_t priorityOf(int64_t dim) const {
      return getPriorities().empty() ? 0 : getPriorities()[dim];
    }
    /// A copy with other axes on its dimensions, but the same open dimensions and priorities.
    ShardingAttr withDims(::llvm::ArrayRef<::mlir::ArrayAttr> dims) const;
    ShardingAttr withUnreduced(ReduceKind kind, ::llvm::ArrayRef<::mlir::StringAttr> axes) const;
    ShardingAttr withoutUnreduced() const;
  }];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def St_AddressAttr : St_Attr<"Address", "address"> {
  let summary = "the address of a value in the device's arena";
  let description = [{
    Byte offset. A value per micro-batch is at `offset + (micro-batch mod slots) * stride`.
  }];
  let parameters = (ins "int64_t":$offset, DefaultValuedParameter<"int64_t", "0">:$stride,
                        DefaultValuedParameter<"int64_t", "1">:$slots);
  let assemblyFormat = "`<` struct(params) `>`";
}

def St_TargetAttr : St_Attr<"Target", "target"> {
  let summary = "the properties of a target that shared passes use";
  let parameters = (ins
    StringRefParameter<"backend: dtu">:$backend,
    StringRefParameter<"description file's name, e.g. dtu-t10">:$device,
    "int64_t":$alignment,
    "int64_t":$scratch_bytes,
    "int64_t":$memory_bytes,
    DefaultValuedParameter<"int64_t", "0">:$host_bytes,
    DefaultValuedParameter<"int64_t", "1">:$matrix_alignment,
    DefaultValuedParameter<"int64_t", "1">:$matrix_row_bytes);
  let assemblyFormat = "`<` struct(params) `>`";
  let description = [{
    `alignment`: alignment of buffers in the arena, bytes. `scratch_bytes`: working memory of a
    core, where a fused kernel keeps the rows that it reduces. `memory_bytes`: memory of a device.
    `host_bytes`: the device's share of its host's memory; 2^60 without a limit, 0 without a link to
    the host. `matrix_alignment`, `matrix_row_bytes`: required and preferred alignment of the rows
    of a product's operands in bytes; 1: no preference.
  }];
}

def St_SpeedAttr : St_Attr<"Speed", "speed"> {
  let summary = "the peak rates of one device of the target";
  let parameters = (ins
    "int64_t":$flops_per_ns,
    "int64_t":$flops16_per_ns,
    "int64_t":$vector_bytes_per_ns,
    "int64_t":$bytes_per_ns,
    "int64_t":$kernel_ns,
    "::mlir::DenseI64ArrayAttr":$link_bytes_per_us,
    "int64_t":$link_ns);
  let assemblyFormat = "`<` struct(params) `>`";
  let description = [{
    Peak rates by which shared passes estimate the cost of ops (`st.speed` of the module); the time of a step does not
    use them. They are: operations of products in 32 and in 16 bits, result bytes of elementwise ops, bytes of device
    memory, and the start of a kernel. For each axis of the mesh they include the slowest link between neighbours of a
    ring and the longest latency.
  }];
}

#endif // ST_DIALECT_TD
