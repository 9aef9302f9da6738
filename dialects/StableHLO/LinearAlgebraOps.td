//===- LinearAlgebraOps.td - Transforms and matrix solvers -*- tablegen -*-===//

#ifndef ST_DIALECTS_STABLEHLO_LINEARALGEBRAOPS_TD
#define ST_DIALECTS_STABLEHLO_LINEARALGEBRAOPS_TD

include "dialects/StableHLO/StableHLOAttributes.td"

def HLO_SolvableTensor : HLO_TensorOf<[F32, F64, HLO_Complex],
                                      "32- or 64-bit float or complex values">;

def FftOp : HLO_Op<"fft", [Pure, InferTypeOpAdaptor]> {
  let summary = "Fourier transform of the last one to three dimensions";
  let description = [{
    RFFT omits the half of the last dimension that follows by symmetry, and
    IRFFT expects an operand without it. The inverse transforms divide by the number of elements.
  }];
  let arguments = (ins HLO_SolvableTensor:$operand, HLO_FftTypeAttr:$fft_type,
                       DenseI64ArrayAttr:$fft_length);
  let results = (outs HLO_SolvableTensor:$result);
  let assemblyFormat = [{
    $operand `,` `type` `=` `` $fft_type `,` `length` `=` $fft_length attr-dict `:`
    functional-type(operands, results)
  }];
}

def CholeskyOp : HLO_Op<"cholesky", [Pure, HLO_SameTypes, InferTypeOpAdaptor]> {
  let summary = "Cholesky decomposition of a batch of matrices";
  let description = "The op reads one triangle of the operand; the other triangle of the result is zero.";
  let arguments = (ins HLO_SolvableTensor:$a,
                       DefaultValuedOptionalAttr<BoolAttr, "false">:$lower);
  let results = (outs HLO_SolvableTensor:$result);
  let assemblyFormat = [{
    $a (`,` `lower` `=` $lower^)? attr-dict `:`
    custom<SameOperandsAndResultType>(type($a), type($result))
  }];
  let hasVerifier = 1;
}

def TriangularSolveOp : HLO_Op<"triangular_solve", [Pure, InferTypeOpAdaptor]> {
  let summary = "Solution of a batch of triangular systems, op(a) x = b or x op(a) = b";
  let arguments = (ins HLO_SolvableTensor:$a, HLO_SolvableTensor:$b, BoolAttr:$left_side,
                       BoolAttr:$lower, BoolAttr:$unit_diagonal, HLO_TransposeAttr:$transpose_a);
  let results = (outs HLO_SolvableTensor:$result);
  let hasVerifier = 1;
}

#endif // ST_DIALECTS_STABLEHLO_LINEARALGEBRAOPS_TD
