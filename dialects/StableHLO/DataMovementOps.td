//===- DataMovementOps.td - Ops that make and move data ----*- tablegen -*-===//

#ifndef ST_DIALECTS_STABLEHLO_DATAMOVEMENTOPS_TD
#define ST_DIALECTS_STABLEHLO_DATAMOVEMENTOPS_TD

include "dialects/StableHLO/StableHLOAttributes.td"

//===----------------------------------------------------------------------===//
// Sources
//===----------------------------------------------------------------------===//

def ConstantOp : HLO_Op<"constant", [Pure, ConstantLike,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "Constant tensor";
  let arguments = (ins ElementsAttr:$value);
  let results = (outs HLO_Tensor:$output);
  let builders = [OpBuilder<(ins "::mlir::Attribute":$value)>];
  let hasCustomAssemblyFormat = 1;
  let hasFolder = 1;
  let hasVerifier = 1;
}

def IotaOp : HLO_Op<"iota", [Pure]> {
  let summary = "Index along one dimension";
  let arguments = (ins ConfinedAttr<I64Attr, [IntNonNegative]>:$iota_dimension);
  let results = (outs HLO_TensorOf<[HLO_Int, HLO_Float, HLO_Complex],
                                   "integer, float or complex values">:$output);
  let assemblyFormat = "`dim` `=` $iota_dimension attr-dict `:` type($output)";
  let hasVerifier = 1;
}

def RngBitGeneratorOp : HLO_Op<"rng_bit_generator", [Pure]> {
  let summary = "Random bits and the generator's next state";
  let arguments = (ins HLO_RngAlgorithmAttr:$rng_algorithm, HLO_IntTensor:$initial_state);
  let results = (outs HLO_IntTensor:$output_state,
                      HLO_TensorOf<[HLO_Int, HLO_Float], "integer or float values">:$output);
  let assemblyFormat = [{
    $initial_state `,` `algorithm` `=` `` $rng_algorithm attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

def BitcastConvertOp : HLO_Op<"bitcast_convert", [Pure]> {
  let summary = "Reinterpretation of the bits as another element type";
  let description = [{
    When the widths differ, the narrower tensor has one more minor dimension
    that counts the narrow elements of a wide one.
  }];
  let arguments = (ins HLO_Tensor:$operand);
  let results = (outs HLO_Tensor:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def BroadcastInDimOp : HLO_Op<"broadcast_in_dim", [Pure]> {
  let summary = "Repetition along new and size-one dimensions";
  let arguments = (ins HLO_Tensor:$operand, DenseI64ArrayAttr:$broadcast_dimensions);
  let results = (outs HLO_Tensor:$result);
  let assemblyFormat = [{
    $operand `,` `dims` `=` $broadcast_dimensions attr-dict
    `:` functional-type(operands, results)
  }];
  let hasFolder = 1;
  let hasCanonicalizer = 1;
  let hasVerifier = 1;
}

def ReshapeOp : HLO_Op<"reshape", [Pure]> {
  let summary = "Tensor with the same elements in the same order and other dimensions";
  let arguments = (ins HLO_Tensor:$operand);
  let results = (outs HLO_Tensor:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasFolder = 1;
  let hasCanonicalizer = 1;
  let hasVerifier = 1;
}

def ReverseOp : HLO_Op<"reverse", [Pure, HLO_SameTypes, InferTypeOpAdaptor]> {
  let summary = "Reversal of the order along dimensions";
  let arguments = (ins HLO_Tensor:$operand, DenseI64ArrayAttr:$dimensions);
  let results = (outs HLO_Tensor:$result);
  let assemblyFormat = [{
    $operand `,` `dims` `=` $dimensions attr-dict `:`
    custom<SameOperandsAndResultType>(type($operand), type($result))
  }];
  let hasFolder = 1;
  let hasVerifier = 1;
}

def TransposeOp : HLO_Op<"transpose", [Pure, InferTypeOpAdaptor]> {
  let summary = "Permutation of dimensions";
  let description = "Dimension `i` of the result is dimension `permutation[i]` of the operand.";
  let arguments = (ins HLO_Tensor:$operand, DenseI64ArrayAttr:$permutation);
  let results = (outs HLO_Tensor:$result);
  let assemblyFormat = [{
    $operand `,` `dims` `=` $permutation attr-dict `:` functional-type(operands, results)
  }];
  let hasFolder = 1;
  let hasCanonicalizer = 1;
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Pieces of tensors
//===----------------------------------------------------------------------===//

def ConcatenateOp : HLO_Op<"concatenate", [Pure, InferTypeOpAdaptor]> {
  let summary = "Concatenation along one dimension";
  let arguments = (ins Variadic<HLO_Tensor>:$inputs,
                       ConfinedAttr<I64Attr, [IntNonNegative]>:$dimension);
  let results = (outs HLO_Tensor:$result);
  let assemblyFormat = [{
    custom<VariadicOperandWithAttribute>($inputs) `dim` `=` $dimension attr-dict `:` functional-type(operands, results)
  }];
  let hasFolder = 1;
  let hasVerifier = 1;
}

def SliceOp : HLO_Op<"slice", [Pure, InferTypeOpAdaptor]> {
  let summary = "Part of a tensor at constant offsets";
  let arguments = (ins
    HLO_Tensor:$operand,
    DenseI64ArrayAttr:$start_indices,
    DenseI64ArrayAttr:$limit_indices,
    DenseI64ArrayAttr:$strides
  );
  let results = (outs HLO_Tensor:$result);
  let assemblyFormat = [{
    $operand custom<SliceRanges>($start_indices, $limit_indices, $strides)
    attr-dict `:` functional-type(operands, results)
  }];
  let hasCanonicalizer = 1;
  let hasFolder = 1;
  let hasVerifier = 1;
}

def DynamicSliceOp : HLO_Op<"dynamic_slice", [Pure, InferTypeOpAdaptor]> {
  let summary = "Part of a tensor at computed offsets, which are clamped into bounds";
  let arguments = (ins
    HLO_Tensor:$operand,
    Variadic<HLO_ScalarIntTensor>:$start_indices,
    DenseI64ArrayAttr:$slice_sizes
  );
  let results = (outs HLO_Tensor:$result);
  let assemblyFormat = [{
    $operand `,` custom<VariadicOperandWithAttribute>($start_indices)
    `sizes` `=` $slice_sizes attr-dict `:` functional-type(operands, results)
  }];
  let hasCanonicalizer = 1;
  let hasVerifier = 1;
}

def DynamicUpdateSliceOp : HLO_Op<"dynamic_update_slice", [Pure, InferTypeOpAdaptor]> {
  let summary = "Tensor with one part replaced at computed offsets, which are clamped into bounds";
  let arguments = (ins
    HLO_Tensor:$operand,
    HLO_Tensor:$update,
    Variadic<HLO_ScalarIntTensor>:$start_indices
  );
  let results = (outs HLO_Tensor:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasFolder = 1;
  let hasVerifier = 1;
}

def PadOp : HLO_Op<"pad", [Pure, InferTypeOpAdaptor]> {
  let summary = "Padding at the edges and between elements; negative padding crops";
  let arguments = (ins
    HLO_Tensor:$operand,
    HLO_ScalarTensor:$padding_value,
    DenseI64ArrayAttr:$edge_padding_low,
    DenseI64ArrayAttr:$edge_padding_high,
    DenseI64ArrayAttr:$interior_padding
  );
  let results = (outs HLO_Tensor:$result);
  let assemblyFormat = [{
    $operand `,` $padding_value `,` `low` `=` $edge_padding_low `,` `high` `=` $edge_padding_high
    `,` `interior` `=` $interior_padding attr-dict `:` functional-type(operands, results)
  }];
  let hasFolder = 1;
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Indexed access
//===----------------------------------------------------------------------===//

def GatherOp : HLO_Op<"gather", [Pure, InferTypeOpAdaptor]> {
  let summary = "Slices of a tensor at computed indices, which are clamped into bounds";
  let arguments = (ins
    HLO_Tensor:$operand,
    HLO_IntTensor:$start_indices,
    HLO_GatherDimensionNumbers:$dimension_numbers,
    DenseI64ArrayAttr:$slice_sizes,
    DefaultValuedOptionalAttr<BoolAttr, "false">:$indices_are_sorted
  );
  let results = (outs HLO_Tensor:$result);
  let hasVerifier = 1;
}

def ScatterOp : HLO_Op<"scatter", [RecursiveMemoryEffects, SameVariadicOperandSize,
                                   InferTypeOpAdaptor,
                                   SingleBlockImplicitTerminator<"ReturnOp">]> {
  let summary = "Tensors whose slices at computed indices are combined with updates";
  let description = [{
    An update whose window leaves the bounds is skipped. The body's first
    arguments are the current values, the others the updates.
  }];
  let arguments = (ins
    Variadic<HLO_Tensor>:$inputs,
    HLO_IntTensor:$scatter_indices,
    Variadic<HLO_Tensor>:$updates,
    HLO_ScatterDimensionNumbers:$scatter_dimension_numbers,
    DefaultValuedOptionalAttr<BoolAttr, "false">:$indices_are_sorted,
    DefaultValuedOptionalAttr<BoolAttr, "false">:$unique_indices
  );
  let regions = (region SizedRegion<1>:$update_computation);
  let results = (outs Variadic<HLO_Tensor>:$results);
  let builders = [OpBuilder<(ins
    "::mlir::ValueRange":$inputs, "::mlir::Value":$scatterIndices, "::mlir::ValueRange":$updates,
    "::mlir::stablehlo::ScatterDimensionNumbersAttr":$dimensionNumbers,
    CArg<"bool", "false">:$indicesAreSorted, CArg<"bool", "false">:$uniqueIndices)>];
  let hasVerifier = 1;
}

#endif // ST_DIALECTS_STABLEHLO_DATAMOVEMENTOPS_TD
