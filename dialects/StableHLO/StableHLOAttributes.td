//===- StableHLOAttributes.td - Attributes of stablehlo ----*- tablegen -*-===//

#ifndef ST_DIALECTS_STABLEHLO_STABLEHLOATTRIBUTES_TD
#define ST_DIALECTS_STABLEHLO_STABLEHLOATTRIBUTES_TD

include "dialects/StableHLO/StableHLOBase.td"
include "dialects/StableHLO/StableHLOEnums.td"

class HLO_Attr<string name, string attrMnemonic>
    : AttrDef<StableHLO_Dialect, name> {
  let mnemonic = attrMnemonic;
}

class HLO_DimArray<string what> : ArrayRefParameter<"int64_t", what>;

def HLO_DotDimensionNumbers : HLO_Attr<"DotDimensionNumbers", "dot"> {
  let summary = "Batching and contracting dimensions of dot_general";
  let parameters = (ins
    HLO_DimArray<"batching dimensions of lhs">:$lhsBatchingDimensions,
    HLO_DimArray<"batching dimensions of rhs">:$rhsBatchingDimensions,
    HLO_DimArray<"contracting dimensions of lhs">:$lhsContractingDimensions,
    HLO_DimArray<"contracting dimensions of rhs">:$rhsContractingDimensions
  );
  let hasCustomAssemblyFormat = 1;
}

def HLO_DotAlgorithm : HLO_Attr<"DotAlgorithm", "dot_algorithm"> {
  let summary = "Types and steps in which a product is computed";
  let parameters = (ins
    "Type":$lhsPrecisionType,
    "Type":$rhsPrecisionType,
    "Type":$accumulationType,
    "int64_t":$lhsComponentCount,
    "int64_t":$rhsComponentCount,
    "int64_t":$numPrimitiveOperations,
    "bool":$allowImpreciseAccumulation
  );
  let assemblyFormat = [{
    `<` `lhs_precision_type` `=` $lhsPrecisionType
    `,` `rhs_precision_type` `=` $rhsPrecisionType
    `,` `accumulation_type` `=` $accumulationType
    `,` `lhs_component_count` `=` $lhsComponentCount
    `,` `rhs_component_count` `=` $rhsComponentCount
    `,` `num_primitive_operations` `=` $numPrimitiveOperations
    `,` `allow_imprecise_accumulation` `=` $allowImpreciseAccumulation `>`
  }];
}

def HLO_GatherDimensionNumbers : HLO_Attr<"GatherDimensionNumbers", "gather"> {
  let summary = "Mapping from indices and slices of gather to dimensions";
  let parameters = (ins
    HLO_DimArray<"result dimensions that range over a slice">:$offsetDims,
    HLO_DimArray<"operand dimensions dropped from a slice">:$collapsedSliceDims,
    HLO_DimArray<"operand dimensions batched with the indices">:$operandBatchingDims,
    HLO_DimArray<"index dimensions batched with the operand">:$startIndicesBatchingDims,
    HLO_DimArray<"operand dimension of each index component">:$startIndexMap,
    "int64_t":$indexVectorDim
  );
  let hasCustomAssemblyFormat = 1;
}

def HLO_ScatterDimensionNumbers : HLO_Attr<"ScatterDimensionNumbers", "scatter"> {
  let summary = "Mapping from indices and updates of scatter to dimensions";
  let parameters = (ins
    HLO_DimArray<"update dimensions that range over a window">:$updateWindowDims,
    HLO_DimArray<"input dimensions missing from a window">:$insertedWindowDims,
    HLO_DimArray<"input dimensions batched with the indices">:$inputBatchingDims,
    HLO_DimArray<"index dimensions batched with the input">:$scatterIndicesBatchingDims,
    HLO_DimArray<"input dimension of each index component">:$scatterDimsToOperandDims,
    "int64_t":$indexVectorDim
  );
  let hasCustomAssemblyFormat = 1;
}

def HLO_ConvDimensionNumbers : HLO_Attr<"ConvDimensionNumbers", "conv"> {
  let summary = "Meaning of each dimension of a convolution";
  let description = [{
    Written as three lists, `[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]`: input,
    kernel and output. Letters are batch, feature, input and output feature;
    numbers count the spatial dimensions.
  }];
  let parameters = (ins
    "int64_t":$inputBatchDimension,
    "int64_t":$inputFeatureDimension,
    HLO_DimArray<"spatial dimensions of the input">:$inputSpatialDimensions,
    "int64_t":$kernelInputFeatureDimension,
    "int64_t":$kernelOutputFeatureDimension,
    HLO_DimArray<"spatial dimensions of the kernel">:$kernelSpatialDimensions,
    "int64_t":$outputBatchDimension,
    "int64_t":$outputFeatureDimension,
    HLO_DimArray<"spatial dimensions of the output">:$outputSpatialDimensions
  );
  let hasCustomAssemblyFormat = 1;
}

def HLO_OutputOperandAlias : HLO_Attr<"OutputOperandAlias", "output_operand_alias"> {
  let summary = "A result of a custom call that shares an operand's buffer";
  let parameters = (ins
    HLO_DimArray<"path in the result tuple">:$outputTupleIndices,
    "int64_t":$operandIndex,
    HLO_DimArray<"path in the operand tuple">:$operandTupleIndices
  );
  let hasCustomAssemblyFormat = 1;
}

def HLO_ChannelHandle : HLO_Attr<"ChannelHandle", "channel_handle"> {
  let summary = "Identifies a communication channel";
  let parameters = (ins "int64_t":$handle, "int64_t":$type);
  let assemblyFormat = "`<` `handle` `=` $handle `,` `type` `=` $type `>`";
}

def HLO_ResultAccuracy : HLO_Attr<"ResultAccuracy", "result_accuracy"> {
  let summary = "Required accuracy of the result of a transcendental op";
  let parameters = (ins
    APFloatParameter<"absolute tolerance">:$atol,
    APFloatParameter<"relative tolerance">:$rtol,
    "int64_t":$ulps,
    "::mlir::stablehlo::ResultAccuracyModeAttr":$mode
  );
  let hasCustomAssemblyFormat = 1;
}

// A list of precisions, one per operand of a contraction.
def HLO_PrecisionConfigAttr : TypedArrayAttrBase<HLO_PrecisionAttr, "precision config attribute">;

#endif // ST_DIALECTS_STABLEHLO_STABLEHLOATTRIBUTES_TD
