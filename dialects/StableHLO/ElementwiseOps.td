//===- ElementwiseOps.td - Elementwise ops of stablehlo ----*- tablegen -*-===//

#ifndef ST_DIALECTS_STABLEHLO_ELEMENTWISEOPS_TD
#define ST_DIALECTS_STABLEHLO_ELEMENTWISEOPS_TD

include "dialects/StableHLO/StableHLOAttributes.td"

//===----------------------------------------------------------------------===//
// Unary ops
//===----------------------------------------------------------------------===//

class HLO_UnaryOp<string mnemonic, Type type, list<Trait> traits = []>
    : HLO_Op<mnemonic, !listconcat([Pure, HLO_SameTypes, Elementwise, InferTypeOpAdaptor], traits)> {
  let arguments = (ins type:$operand);
  let results = (outs type:$result);
  let assemblyFormat = [{
    $operand attr-dict `:` custom<SameOperandsAndResultType>(type($operand), type($result))
  }];
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::inferReturnTypes(
        ::mlir::MLIRContext *, ::std::optional<::mlir::Location>, Adaptor adaptor,
        ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      types.push_back(adaptor.getOperands().front().getType());
      return ::mlir::success();
    }
  }];
}

// A transcendental function. A program may require an accuracy.
class HLO_UnaryAccurateOp<string mnemonic, Type type, list<Trait> traits = []>
    : HLO_UnaryOp<mnemonic, type, traits> {
  let arguments = (ins type:$operand, OptionalAttr<HLO_ResultAccuracy>:$result_accuracy);
  let builders = [OpBuilder<(ins "::mlir::Value":$operand), [{
    build($_builder, $_state, operand, ResultAccuracyAttr());
  }]>, OpBuilder<(ins "::mlir::Type":$type, "::mlir::Value":$operand), [{
    build($_builder, $_state, type, operand, ResultAccuracyAttr());
  }]>];
}

def AbsOp : HLO_Op<"abs", [Pure, HLO_SameShapes, Elementwise, InferTypeOpAdaptor]> {
  let summary = "Absolute value, or modulus of a complex number";
  let arguments = (ins HLO_SIntFpOrComplexTensor:$operand);
  let results = (outs HLO_TensorOf<[HLO_SInt, HLO_Float], "signed integer or float values">:$result);
  let assemblyFormat = [{
    $operand attr-dict `:` custom<SameOperandsAndResultType>(type($operand), type($result))
  }];
}

def CbrtOp : HLO_UnaryAccurateOp<"cbrt", HLO_FpOrComplexTensor> {
  let summary = "Cubic root";
}
def CeilOp : HLO_UnaryOp<"ceil", HLO_FpTensor> {
  let summary = "Smallest integer that is not less than the operand";
}
def ClzOp : HLO_UnaryOp<"count_leading_zeros", HLO_IntTensor> {
  let summary = "Number of leading zero bits";
}
def CosineOp : HLO_UnaryAccurateOp<"cosine", HLO_FpOrComplexTensor> {
  let summary = "Cosine";
}
def ExpOp : HLO_UnaryAccurateOp<"exponential", HLO_FpOrComplexTensor> {
  let summary = "Exponential";
}
def Expm1Op : HLO_UnaryAccurateOp<"exponential_minus_one", HLO_FpOrComplexTensor> {
  let summary = "Exponential of the operand minus one, exact near zero";
}
def FloorOp : HLO_UnaryOp<"floor", HLO_FpTensor> {
  let summary = "Greatest integer that is not greater than the operand";
}
def LogOp : HLO_UnaryAccurateOp<"log", HLO_FpOrComplexTensor> {
  let summary = "Natural logarithm";
}
def Log1pOp : HLO_UnaryAccurateOp<"log_plus_one", HLO_FpOrComplexTensor> {
  let summary = "Natural logarithm of one plus the operand, exact near zero";
}
def LogisticOp : HLO_UnaryAccurateOp<"logistic", HLO_FpOrComplexTensor> {
  let summary = "Logistic function 1 / (1 + exp(-x))";
}
def NegOp : HLO_UnaryOp<"negate", HLO_IntFpOrComplexTensor> {
  let summary = "Negation";
  let hasFolder = 1;
}
def NotOp : HLO_UnaryOp<"not", HLO_PredOrIntTensor> {
  let summary = "Logical or bitwise complement";
  let hasFolder = 1;
}
def PopulationCountOp : HLO_UnaryOp<"popcnt", HLO_IntTensor> {
  let summary = "Number of one bits";
}
def RoundOp : HLO_UnaryOp<"round_nearest_afz", HLO_FpTensor> {
  let summary = "Nearest integer, ties away from zero";
}
def RoundNearestEvenOp : HLO_UnaryOp<"round_nearest_even", HLO_FpTensor> {
  let summary = "Nearest integer, ties to even";
}
def RsqrtOp : HLO_UnaryAccurateOp<"rsqrt", HLO_FpOrComplexTensor> {
  let summary = "Reciprocal square root";
}
def SignOp : HLO_UnaryOp<"sign", HLO_SIntFpOrComplexTensor> {
  let summary = "Sign";
}
def SineOp : HLO_UnaryAccurateOp<"sine", HLO_FpOrComplexTensor> {
  let summary = "Sine";
}
def SqrtOp : HLO_UnaryAccurateOp<"sqrt", HLO_FpOrComplexTensor> {
  let summary = "Square root";
}
def TanOp : HLO_UnaryAccurateOp<"tan", HLO_FpOrComplexTensor> {
  let summary = "Tangent";
}
def TanhOp : HLO_UnaryAccurateOp<"tanh", HLO_FpOrComplexTensor> {
  let summary = "Hyperbolic tangent";
}

def IsFiniteOp : HLO_Op<"is_finite", [Pure, HLO_SameShapes, Elementwise, InferTypeOpAdaptor]> {
  let summary = "Test for values that are neither infinite nor NaN";
  let arguments = (ins HLO_FpTensor:$x);
  let results = (outs HLO_PredTensor:$y);
  let assemblyFormat = "$x attr-dict `:` functional-type(operands, results)";
}

def RealOp : HLO_Op<"real", [Pure, HLO_SameShapes, Elementwise, InferTypeOpAdaptor]> {
  let summary = "Real part";
  let arguments = (ins HLO_FpOrComplexTensor:$operand);
  let results = (outs HLO_FpTensor:$result);
  let assemblyFormat = [{
    $operand attr-dict `:` custom<SameOperandsAndResultType>(type($operand), type($result))
  }];
}

def ImagOp : HLO_Op<"imag", [Pure, HLO_SameShapes, Elementwise, InferTypeOpAdaptor]> {
  let summary = "Imaginary part";
  let arguments = (ins HLO_FpOrComplexTensor:$operand);
  let results = (outs HLO_FpTensor:$result);
  let assemblyFormat = [{
    $operand attr-dict `:` custom<SameOperandsAndResultType>(type($operand), type($result))
  }];
}

def ConvertOp : HLO_Op<"convert", [Pure, HLO_SameShapes, Elementwise]> {
  let summary = "Conversion of the element type";
  let arguments = (ins HLO_Tensor:$operand);
  let results = (outs HLO_Tensor:$result);
  let assemblyFormat = [{
    $operand attr-dict `:` custom<SameOperandsAndResultType>(type($operand), type($result))
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$operand, "::mlir::Type":$elementType)>];
  let hasFolder = 1;
}

def ReducePrecisionOp : HLO_UnaryOp<"reduce_precision", HLO_FpTensor> {
  let summary = "Rounding to fewer exponent and mantissa bits, type unchanged";
  let arguments = (ins
    HLO_FpTensor:$operand,
    ConfinedAttr<I32Attr, [IntPositive]>:$exponent_bits,
    ConfinedAttr<I32Attr, [IntNonNegative]>:$mantissa_bits
  );
  let assemblyFormat = [{
    $operand `,` `format` `=` custom<ExponentMantissa>($exponent_bits, $mantissa_bits)
    attr-dict `:` custom<SameOperandsAndResultType>(type($operand), type($result))
  }];
}

//===----------------------------------------------------------------------===//
// Binary ops
//===----------------------------------------------------------------------===//

class HLO_BinaryOp<string mnemonic, Type type, list<Trait> traits = []>
    : HLO_Op<mnemonic, !listconcat([Pure, HLO_SameTypes, Elementwise, InferTypeOpAdaptor], traits)> {
  let arguments = (ins type:$lhs, type:$rhs);
  let results = (outs type:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs attr-dict `:`
    custom<SameOperandsAndResultType>(type($lhs), type($rhs), type($result))
  }];
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::inferReturnTypes(
        ::mlir::MLIRContext *, ::std::optional<::mlir::Location>, Adaptor adaptor,
        ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      types.push_back(adaptor.getOperands().front().getType());
      return ::mlir::success();
    }
  }];
}

def AddOp : HLO_BinaryOp<"add", HLO_Tensor, [Commutative]> {
  let summary = "Sum; logical or for preds";
  let hasFolder = 1;
}
def AndOp : HLO_BinaryOp<"and", HLO_PredOrIntTensor, [Commutative]> {
  let summary = "Logical or bitwise and";
  let hasFolder = 1;
}
def Atan2Op : HLO_BinaryOp<"atan2", HLO_FpOrComplexTensor> {
  let summary = "Angle of the point (rhs, lhs)";
}
def DivOp : HLO_BinaryOp<"divide", HLO_IntFpOrComplexTensor> {
  let summary = "Quotient; integers are rounded toward zero";
  let hasFolder = 1;
}
def MaxOp : HLO_BinaryOp<"maximum", HLO_Tensor, [Commutative]> {
  let summary = "Greater of two values, or NaN if either is NaN; logical or for preds";
  let hasFolder = 1;
}
def MinOp : HLO_BinaryOp<"minimum", HLO_Tensor, [Commutative]> {
  let summary = "Smaller of two values, or NaN if either is NaN; logical and for preds";
  let hasFolder = 1;
}
def MulOp : HLO_BinaryOp<"multiply", HLO_Tensor, [Commutative]> {
  let summary = "Product; logical and for preds";
  let hasFolder = 1;
}
def OrOp : HLO_BinaryOp<"or", HLO_PredOrIntTensor, [Commutative]> {
  let summary = "Logical or bitwise or";
  let hasFolder = 1;
}
def PowOp : HLO_BinaryOp<"power", HLO_IntFpOrComplexTensor> {
  let summary = "Power";
}
def RemOp : HLO_BinaryOp<"remainder", HLO_IntFpOrComplexTensor> {
  let summary = "Remainder with the sign of the dividend";
  let hasFolder = 1;
}
def ShiftLeftOp : HLO_BinaryOp<"shift_left", HLO_IntTensor> {
  let summary = "Left shift; zero when shifted by the width or more";
  let hasFolder = 1;
}
def ShiftRightArithmeticOp : HLO_BinaryOp<"shift_right_arithmetic", HLO_IntTensor> {
  let summary = "Right shift that copies the top bit";
  let hasFolder = 1;
}
def ShiftRightLogicalOp : HLO_BinaryOp<"shift_right_logical", HLO_IntTensor> {
  let summary = "Right shift that brings in zeros";
  let hasFolder = 1;
}
def SubtractOp : HLO_BinaryOp<"subtract", HLO_IntFpOrComplexTensor> {
  let summary = "Difference";
  let hasFolder = 1;
}
def XorOp : HLO_BinaryOp<"xor", HLO_PredOrIntTensor, [Commutative]> {
  let summary = "Logical or bitwise exclusive or";
  let hasFolder = 1;
}

def ComplexOp : HLO_Op<"complex", [Pure, HLO_SameShapes, Elementwise, InferTypeOpAdaptor]> {
  let summary = "Complex value of a real and an imaginary part";
  let arguments = (ins HLO_Fp32Or64Tensor:$lhs, HLO_Fp32Or64Tensor:$rhs);
  let results = (outs HLO_ComplexTensor:$result);
  let assemblyFormat = [{
    operands attr-dict `:` custom<ComplexOpType>(type($lhs), type($rhs), type($result))
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Comparison and choice
//===----------------------------------------------------------------------===//

def CompareOp : HLO_Op<"compare", [Pure, HLO_SameShapes, Elementwise, InferTypeOpAdaptor]> {
  let summary = "Comparison";
  let arguments = (ins
    HLO_Tensor:$lhs,
    HLO_Tensor:$rhs,
    HLO_ComparisonDirectionAttr:$comparison_direction,
    OptionalAttr<HLO_ComparisonTypeAttr>:$compare_type
  );
  let results = (outs HLO_PredTensor:$result);
  let builders = [OpBuilder<(ins
    "::mlir::Value":$lhs, "::mlir::Value":$rhs,
    "::mlir::stablehlo::ComparisonDirection":$direction,
    CArg<"::mlir::stablehlo::ComparisonType", "::mlir::stablehlo::ComparisonType::NOTYPE">:$type)>];
  let assemblyFormat = [{
    `` $comparison_direction `,` $lhs `,` $rhs (`,` `` $compare_type^)?
    attr-dict `:` functional-type(operands, results)
  }];
  let hasFolder = 1;
  let hasVerifier = 1;
}

def SelectOp : HLO_Op<"select", [Pure, InferTypeOpAdaptor]> {
  let summary = "Elementwise choice between two tensors";
  let arguments = (ins HLO_PredTensor:$pred, HLO_Tensor:$on_true, HLO_Tensor:$on_false);
  let results = (outs HLO_Tensor:$result);
  let assemblyFormat = [{
    operands attr-dict `:`
    custom<SelectOpType>(type($pred), type($on_true), type($on_false), type($result))
  }];
  let hasFolder = 1;
  let hasVerifier = 1;
}

def ClampOp : HLO_Op<"clamp", [Pure, InferTypeOpAdaptor]> {
  let summary = "Elementwise clamping to an interval";
  let arguments = (ins HLO_Tensor:$min, HLO_Tensor:$operand, HLO_Tensor:$max);
  let results = (outs HLO_Tensor:$result);
  let assemblyFormat = [{
    $min `,` $operand `,` $max attr-dict `:`
    custom<SameOperandsAndResultType>(type($min), type($operand), type($max), type($result))
  }];
  let hasVerifier = 1;
}

def MapOp : HLO_Op<"map", [RecursiveMemoryEffects, HLO_SameShapes,
                           SingleBlockImplicitTerminator<"ReturnOp">]> {
  let summary = "Elementwise application of a scalar computation";
  let arguments = (ins Variadic<HLO_Tensor>:$inputs, DenseI64ArrayAttr:$dimensions);
  let regions = (region SizedRegion<1>:$computation);
  let results = (outs HLO_Tensor:$result);
  let hasVerifier = 1;
}

#endif // ST_DIALECTS_STABLEHLO_ELEMENTWISEOPS_TD
