//===- ControlFlowOps.td - Control flow and calls ----------*- tablegen -*-===//

#ifndef ST_DIALECTS_STABLEHLO_CONTROLFLOWOPS_TD
#define ST_DIALECTS_STABLEHLO_CONTROLFLOWOPS_TD

include "dialects/StableHLO/StableHLOAttributes.td"
include "mlir/IR/SymbolInterfaces.td"

def ReturnOp : HLO_Op<"return", [Pure, ReturnLike, Terminator]> {
  let summary = "End of a computation";
  let arguments = (ins Variadic<HLO_TensorOrTuple>:$results);
  let assemblyFormat = "$results attr-dict (`:` type($results)^)?";
  let builders = [OpBuilder<(ins), [{ build($_builder, $_state, ::mlir::ValueRange()); }]>];
}

def WhileOp : HLO_Op<"while", [RecursiveMemoryEffects,
    InferTypeOpAdaptor,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "Repetition while a condition holds";
  let arguments = (ins Variadic<HLO_TensorOrTuple>:$operand);
  let regions = (region SizedRegion<1>:$cond, SizedRegion<1>:$body);
  let results = (outs Variadic<HLO_TensorOrTuple>:$results);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def IfOp : HLO_Op<"if", [RecursiveMemoryEffects,
                         InferTypeOpAdaptor,
                         SingleBlockImplicitTerminator<"ReturnOp">]> {
  let summary = "Choice between two computations";
  let arguments = (ins HLO_ScalarPredTensor:$pred);
  let regions = (region SizedRegion<1>:$true_branch, SizedRegion<1>:$false_branch);
  let results = (outs Variadic<HLO_TensorOrTuple>:$results);
  let hasCanonicalizer = 1;
  let hasVerifier = 1;
}

def CaseOp : HLO_Op<"case", [RecursiveMemoryEffects,
                             InferTypeOpAdaptor,
                             SingleBlockImplicitTerminator<"ReturnOp">]> {
  let summary = "Choice among computations; an index out of range chooses the last one";
  let arguments = (ins HLO_ScalarI32Tensor:$index);
  let regions = (region VariadicRegion<SizedRegion<1>>:$branches);
  let results = (outs Variadic<HLO_TensorOrTuple>:$results);
  let hasCanonicalizer = 1;
  let hasVerifier = 1;
}

def OptimizationBarrierOp : HLO_Op<"optimization_barrier", [
    Pure, InferTypeOpAdaptor]> {
  let summary = "Identity that optimizations must not look through";
  let arguments = (ins Variadic<HLO_Tensor>:$operand);
  let results = (outs Variadic<HLO_Tensor>:$result);
  let assemblyFormat = [{
    attr-dict ($operand^ `:` custom<PairwiseOpType>(type($operand), type($result))):(`(` `)`)?
  }];
}

def TupleOp : HLO_Op<"tuple", [Pure, InferTypeOpAdaptor]> {
  let summary = "Tuple of values";
  let arguments = (ins Variadic<HLO_TensorOrTuple>:$val);
  let results = (outs HLO_Tuple:$result);
  let assemblyFormat = "$val attr-dict `:` custom<TupleOpType>(type($val), type($result))";
}

def GetTupleElementOp : HLO_Op<"get_tuple_element", [
    Pure, InferTypeOpAdaptor]> {
  let summary = "One value of a tuple";
  let arguments = (ins HLO_Tuple:$operand, ConfinedAttr<I32Attr, [IntNonNegative]>:$index);
  let results = (outs HLO_TensorOrTuple:$result);
  let assemblyFormat = "$operand `` `[` $index `]` attr-dict `:` functional-type(operands, results)";
  let hasFolder = 1;
  let hasVerifier = 1;
}

def CustomCallOp : HLO_Op<"custom_call", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "Call of a function outside the program";
  let arguments = (ins
    Variadic<HLO_TensorOrTuple>:$inputs,
    StrAttr:$call_target_name,
    DefaultValuedOptionalAttr<BoolAttr, "false">:$has_side_effect,
    OptionalAttr<AnyAttrOf<[StrAttr, DictionaryAttr]>>:$backend_config,
    OptionalAttr<HLO_CustomCallApiVersionAttr>:$api_version,
    DefaultValuedOptionalAttr<TypedArrayAttrBase<FlatSymbolRefAttr,
      "array of computations">, "{}">:$called_computations,
    OptionalAttr<ArrayAttr>:$operand_layouts,
    OptionalAttr<ArrayAttr>:$result_layouts,
    DefaultValuedOptionalAttr<TypedArrayAttrBase<HLO_OutputOperandAlias,
      "array of aliases">, "{}">:$output_operand_aliases
  );
  let results = (outs Variadic<HLO_TensorOrTuple>);
  let assemblyFormat = [{
    custom<CustomCallTarget>($call_target_name) `(` $inputs `)`
    attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def CompositeOp : HLO_Op<"composite", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Named operation with a function that defines what it computes";
  let arguments = (ins
    Variadic<HLO_TensorOrTuple>:$inputs,
    StrAttr:$name,
    DefaultValuedOptionalAttr<DictionaryAttr, "{}">:$composite_attributes,
    FlatSymbolRefAttr:$decomposition,
    DefaultValuedOptionalAttr<I32Attr, "0">:$version
  );
  let results = (outs Variadic<HLO_TensorOrTuple>);
  let assemblyFormat = "$name $inputs attr-dict `:` functional-type(operands, results)";
}

#endif // ST_DIALECTS_STABLEHLO_CONTROLFLOWOPS_TD
