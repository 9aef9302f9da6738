// The part of the sdy dialect that JAX prints: what a program says of shardings.
#ifndef SDY_DIALECT_TD
#define SDY_DIALECT_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Sdy_Dialect : Dialect {
  let name = "sdy";
  let cppNamespace = "::mlir::sdy";
  let summary = "Shardings that a program was annotated with.";
  let description = [{
    Read by `import-shardings`, which leaves `st` shardings in their place. The
    discardable attribute `sdy.sharding` stands on arguments and results of functions.
    Parts of an axis (`"a":(1)2`) are not there.
  }];
  let useDefaultAttributePrinterParser = 1;
  let extraClassDeclaration = "void registerSdyAttributes();";
}

class Sdy_Attr<string name, string attrMnemonic> : AttrDef<Sdy_Dialect, name> {
  let mnemonic = attrMnemonic;
  let hasCustomAssemblyFormat = 1;
}

def Sdy_MeshAttr : Sdy_Attr<"Mesh", "mesh"> {
  let summary = "named axes: `<[\"a\"=2, \"b\"=4]>`";
  let description = "Devices are numbered row-major, or as `device_ids` says.";
  let parameters = (ins
    ArrayRefParameter<"::mlir::StringAttr", "names">:$axes,
    ArrayRefParameter<"int64_t", "sizes">:$sizes,
    ArrayRefParameter<"int64_t", "device numbers">:$device_ids);
  let genVerifyDecl = 1;
}

def Sdy_TensorShardingAttr : Sdy_Attr<"TensorSharding", "sharding"> {
  let summary = "the axes of each dimension: `<@mesh, [{\"a\"}, {?}]>`";
  let description = [{
    An open dimension (`?`) may get more axes. Priorities (`p1`) are read and dropped;
    explicitly replicated axes are those that stay free.
  }];
  let parameters = (ins
    "::mlir::FlatSymbolRefAttr":$mesh,
    ArrayRefParameter<"::mlir::ArrayAttr", "axes of each dimension">:$dims,
    ArrayRefParameter<"bool", "whether each dimension is open">:$open,
    ArrayRefParameter<"::mlir::StringAttr", "replicated axes">:$replicated,
    ArrayRefParameter<"::mlir::StringAttr", "unreduced axes">:$unreduced);
}

class Sdy_Op<string mnemonic, list<Trait> traits = []> : Op<Sdy_Dialect, mnemonic, traits>;

def Sdy_MeshOp : Sdy_Op<"mesh", [Symbol]> {
  let summary = "a mesh that shardings name";
  let arguments = (ins SymbolNameAttr:$sym_name, Sdy_MeshAttr:$mesh);
  let assemblyFormat = "$sym_name `=` $mesh attr-dict";
}

def Sdy_ShardingConstraintOp : Sdy_Op<"sharding_constraint", [Pure, SameOperandsAndResultType]> {
  let summary = "a wish for a tensor's sharding";
  let arguments = (ins AnyRankedTensor:$input, Sdy_TensorShardingAttr:$sharding);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input $sharding attr-dict `:` type($result)";
}

#endif // SDY_DIALECT_TD
