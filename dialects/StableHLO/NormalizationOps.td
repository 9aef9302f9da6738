//===- NormalizationOps.td - Batch normalization -----------*- tablegen -*-===//

#ifndef ST_DIALECTS_STABLEHLO_NORMALIZATIONOPS_TD
#define ST_DIALECTS_STABLEHLO_NORMALIZATIONOPS_TD

include "dialects/StableHLO/StableHLOAttributes.td"

class HLO_BatchNormOp<string mnemonic> : HLO_Op<mnemonic, [Pure, InferTypeOpAdaptor]> {
  dag attributes = (ins F32Attr:$epsilon, ConfinedAttr<I64Attr, [IntNonNegative]>:$feature_index);
  let hasVerifier = 1;
}

def BatchNormGradOp : HLO_BatchNormOp<"batch_norm_grad"> {
  let summary = "Gradients of batch normalization in training";
  let arguments = !con((ins HLO_FpTensor:$operand, HLO_FpTensor:$scale, HLO_FpTensor:$mean,
                            HLO_FpTensor:$variance, HLO_FpTensor:$grad_output), attributes);
  let results = (outs HLO_FpTensor:$grad_operand, HLO_FpTensor:$grad_scale,
                      HLO_FpTensor:$grad_offset);
}

def BatchNormInferenceOp : HLO_BatchNormOp<"batch_norm_inference"> {
  let summary = "Normalization by given mean and variance";
  let arguments = !con((ins HLO_FpTensor:$operand, HLO_FpTensor:$scale, HLO_FpTensor:$offset,
                            HLO_FpTensor:$mean, HLO_FpTensor:$variance), attributes);
  let results = (outs HLO_FpTensor:$result);
}

def BatchNormTrainingOp : HLO_BatchNormOp<"batch_norm_training"> {
  let summary = "Normalization by the mean and variance of the batch; returns them too";
  let arguments = !con((ins HLO_FpTensor:$operand, HLO_FpTensor:$scale, HLO_FpTensor:$offset),
                       attributes);
  let results = (outs HLO_FpTensor:$output, HLO_FpTensor:$batch_mean, HLO_FpTensor:$batch_var);
}

#endif // ST_DIALECTS_STABLEHLO_NORMALIZATIONOPS_TD
