//===- ReductionOps.td - Contractions, reductions, sorts ---*- tablegen -*-===//

#ifndef ST_DIALECTS_STABLEHLO_REDUCTIONOPS_TD
#define ST_DIALECTS_STABLEHLO_REDUCTIONOPS_TD

include "dialects/StableHLO/StableHLOAttributes.td"

//===----------------------------------------------------------------------===//
// Contractions
//===----------------------------------------------------------------------===//

def DotGeneralOp : HLO_Op<"dot_general", [Pure]> {
  let summary = "Product of tensors over contracting dimensions";
  let description = [{
    The result's dimensions are the batching dimensions, then the free ones of
    lhs, then the free ones of rhs. Its element type is the caller's choice.
  }];
  let arguments = (ins
    HLO_Tensor:$lhs,
    HLO_Tensor:$rhs,
    HLO_DotDimensionNumbers:$dot_dimension_numbers,
    OptionalAttr<HLO_PrecisionConfigAttr>:$precision_config,
    OptionalAttr<HLO_DotAlgorithm>:$algorithm
  );
  let results = (outs HLO_Tensor:$result);
  let builders = [
    OpBuilder<(ins "::mlir::Type":$type, "::mlir::Value":$lhs, "::mlir::Value":$rhs,
                   "::mlir::stablehlo::DotDimensionNumbersAttr":$dimensionNumbers), [{
      build($_builder, $_state, type, lhs, rhs, dimensionNumbers, ArrayAttr(), DotAlgorithmAttr());
    }]>,
    // The result type is inferred, with lhs's element type.
    OpBuilder<(ins "::mlir::Value":$lhs, "::mlir::Value":$rhs,
                   "::mlir::stablehlo::DotDimensionNumbersAttr":$dimensionNumbers)>
  ];
  let assemblyFormat = [{
    $lhs `,` $rhs `,` custom<DotDimensionNumbers>($dot_dimension_numbers)
    `` custom<PrecisionConfigAndAlgorithm>($precision_config, $algorithm)
    attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def ConvolutionOp : HLO_Op<"convolution", [Pure]> {
  let summary = "Convolution of an input with a kernel";
  let arguments = (ins
    HLO_Tensor:$lhs,
    HLO_Tensor:$rhs,
    OptionalAttr<DenseI64ArrayAttr>:$window_strides,
    OptionalAttr<I64ElementsAttr>:$padding,
    OptionalAttr<DenseI64ArrayAttr>:$lhs_dilation,
    OptionalAttr<DenseI64ArrayAttr>:$rhs_dilation,
    OptionalAttr<DenseBoolArrayAttr>:$window_reversal,
    HLO_ConvDimensionNumbers:$dimension_numbers,
    ConfinedAttr<I64Attr, [IntPositive]>:$feature_group_count,
    ConfinedAttr<I64Attr, [IntPositive]>:$batch_group_count,
    OptionalAttr<HLO_PrecisionConfigAttr>:$precision_config
  );
  let results = (outs HLO_Tensor:$result);
  let assemblyFormat = [{
    `(` operands `)` `dim_numbers` `=` custom<ConvolutionDimensions>($dimension_numbers) `,`
    `window` `=` `{` custom<WindowAttributes>($window_strides, $padding, $lhs_dilation,
                                              $rhs_dilation, $window_reversal) `}`
    attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

def ReduceOp : HLO_Op<"reduce", [RecursiveMemoryEffects, SameVariadicOperandSize,
                                 InferTypeOpAdaptor,
                                 SingleBlockImplicitTerminator<"ReturnOp">]> {
  let summary = "Reduction of dimensions by a computation";
  let description = [{
    The body's first arguments are accumulated values, the others new ones. The
    order of the reduction is the implementation's choice.
  }];
  let arguments = (ins Variadic<HLO_Tensor>:$inputs, Variadic<HLO_ScalarTensor>:$init_values,
                       DenseI64ArrayAttr:$dimensions);
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Variadic<HLO_Tensor>:$results);
  let builders = [
    // Infers the result types; the caller fills the body.
    OpBuilder<(ins "::mlir::ValueRange":$inputs, "::mlir::ValueRange":$initValues,
                   "::llvm::ArrayRef<int64_t>":$dimensions)>,
    // Infers the result types and fills the body: the callback gets the
    // arguments and returns what the body returns.
    OpBuilder<(ins "::mlir::ValueRange":$inputs, "::mlir::ValueRange":$initValues,
                   "::llvm::ArrayRef<int64_t>":$dimensions,
                   "::mlir::stablehlo::BodyBuilder":$bodyBuilder)>
  ];
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def ReduceWindowOp : HLO_Op<"reduce_window", [RecursiveMemoryEffects, SameVariadicOperandSize,
                                              InferTypeOpAdaptor,
                                              SingleBlockImplicitTerminator<"ReturnOp">]> {
  let summary = "Reduction of every window by a computation";
  let arguments = (ins
    Variadic<HLO_Tensor>:$inputs,
    Variadic<HLO_ScalarTensor>:$init_values,
    DenseI64ArrayAttr:$window_dimensions,
    OptionalAttr<DenseI64ArrayAttr>:$window_strides,
    OptionalAttr<DenseI64ArrayAttr>:$base_dilations,
    OptionalAttr<DenseI64ArrayAttr>:$window_dilations,
    OptionalAttr<I64ElementsAttr>:$padding
  );
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Variadic<HLO_Tensor>:$results);
  let hasVerifier = 1;
}

def SelectAndScatterOp : HLO_Op<"select_and_scatter", [RecursiveMemoryEffects]> {
  let summary = "Scatter of each value to the element that its window selects";
  let arguments = (ins
    HLO_Tensor:$operand,
    HLO_Tensor:$source,
    HLO_ScalarTensor:$init_value,
    OptionalAttr<DenseI64ArrayAttr>:$window_dimensions,
    OptionalAttr<DenseI64ArrayAttr>:$window_strides,
    OptionalAttr<I64ElementsAttr>:$padding
  );
  let regions = (region SizedRegion<1>:$select, SizedRegion<1>:$scatter);
  let results = (outs HLO_Tensor:$result);
  let hasVerifier = 1;
}

def SortOp : HLO_Op<"sort", [RecursiveMemoryEffects,
                             InferTypeOpAdaptor,
                             SingleBlockImplicitTerminator<"ReturnOp">]> {
  let summary = "Sort of tensors along one dimension by a comparator";
  let description = [{
    The comparator gets two values of each input, in pairs, and returns true if the first precede
    the second. A negative dimension counts from the end.
  }];
  let arguments = (ins
    Variadic<HLO_Tensor>:$inputs,
    DefaultValuedOptionalAttr<I64Attr, "-1">:$dimension,
    DefaultValuedOptionalAttr<BoolAttr, "false">:$is_stable
  );
  let regions = (region SizedRegion<1>:$comparator);
  let results = (outs Variadic<HLO_Tensor>:$results);
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$inputs, CArg<"int64_t", "-1">:$dimension,
                                 CArg<"bool", "false">:$isStable)>];
  let hasVerifier = 1;
}

#endif // ST_DIALECTS_STABLEHLO_REDUCTIONOPS_TD
