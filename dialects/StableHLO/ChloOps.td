//===- ChloOps.td - The chlo dialect -----------------------*- tablegen -*-===//

#ifndef ST_DIALECTS_STABLEHLO_CHLOOPS_TD
#define ST_DIALECTS_STABLEHLO_CHLOOPS_TD

include "dialects/StableHLO/StableHLOBase.td"

def Chlo_Dialect : Dialect {
  let name = "chlo";
  let cppNamespace = "::mlir::chlo";
  let summary = "Functions beyond stablehlo that JAX prints";
  let dependentDialects = ["::mlir::stablehlo::StableHLODialect"];
}

class CHLO_Op<string mnemonic, list<Trait> traits = []>
    : Op<Chlo_Dialect, mnemonic, !listconcat([HLO_StaticShapes, HLO_InferredTypes, Pure], traits)>;

class CHLO_UnaryOp<string mnemonic, Type type = HLO_FpTensor>
    : CHLO_Op<mnemonic, [HLO_SameTypes, Elementwise, InferTypeOpAdaptor]> {
  let arguments = (ins type:$operand);
  let results = (outs type:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::inferReturnTypes(
        ::mlir::MLIRContext *, ::std::optional<::mlir::Location>, Adaptor adaptor,
        ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      types.push_back(adaptor.getOperands().front().getType());
      return ::mlir::success();
    }
  }];
}

def ErfOp : CHLO_UnaryOp<"erf"> {
  let summary = "Error function";
}
def ErfcOp : CHLO_UnaryOp<"erfc"> {
  let summary = "Complementary error function 1 - erf(x)";
}
def ErfInvOp : CHLO_UnaryOp<"erf_inv"> {
  let summary = "Inverse of the error function";
}
def LgammaOp : CHLO_UnaryOp<"lgamma"> {
  let summary = "Logarithm of the absolute value of the gamma function";
}
def SquareOp : CHLO_UnaryOp<"square", HLO_IntFpOrComplexTensor> {
  let summary = "Product of a value with itself";
}

def AcosOp : CHLO_UnaryOp<"acos", HLO_FpOrComplexTensor> {
  let summary = "Arc cosine";
}
def AcoshOp : CHLO_UnaryOp<"acosh", HLO_FpOrComplexTensor> {
  let summary = "Inverse hyperbolic cosine";
}
def AsinOp : CHLO_UnaryOp<"asin", HLO_FpOrComplexTensor> {
  let summary = "Arc sine";
}
def AsinhOp : CHLO_UnaryOp<"asinh", HLO_FpOrComplexTensor> {
  let summary = "Inverse hyperbolic sine";
}
def AtanOp : CHLO_UnaryOp<"atan", HLO_FpOrComplexTensor> {
  let summary = "Arc tangent";
}
def AtanhOp : CHLO_UnaryOp<"atanh", HLO_FpOrComplexTensor> {
  let summary = "Inverse hyperbolic tangent";
}
def BesselI1eOp : CHLO_UnaryOp<"bessel_i1e"> {
  let summary = "exp(-|x|) times the modified Bessel function of order 1";
}
def ConjOp : CHLO_UnaryOp<"conj", HLO_FpOrComplexTensor> {
  let summary = "Complex conjugate";
}
def CoshOp : CHLO_UnaryOp<"cosh", HLO_FpOrComplexTensor> {
  let summary = "Hyperbolic cosine";
}
def DigammaOp : CHLO_UnaryOp<"digamma"> {
  let summary = "Derivative of the logarithm of the gamma function";
}
def SinhOp : CHLO_UnaryOp<"sinh", HLO_FpOrComplexTensor> {
  let summary = "Hyperbolic sine";
}
def TanOp : CHLO_UnaryOp<"tan", HLO_FpOrComplexTensor> {
  let summary = "Tangent";
}

class CHLO_BinaryOp<string mnemonic, Type type = HLO_FpTensor>
    : CHLO_Op<mnemonic, [HLO_SameTypes, Elementwise, InferTypeOpAdaptor]> {
  let arguments = (ins type:$lhs, type:$rhs);
  let results = (outs type:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)";
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::inferReturnTypes(
        ::mlir::MLIRContext *, ::std::optional<::mlir::Location>, Adaptor adaptor,
        ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      types.push_back(adaptor.getOperands().front().getType());
      return ::mlir::success();
    }
  }];
}

def MulhiOp : CHLO_BinaryOp<"mulhi", HLO_IntTensor> {
  let summary = "Upper half of the product of two integers";
}
def NextAfterOp : CHLO_BinaryOp<"next_after"> {
  let summary = "Neighbour of lhs in the direction of rhs";
}
def PolygammaOp : CHLO_BinaryOp<"polygamma"> {
  let summary = "Derivative of order lhs of digamma at rhs";
}
def ZetaOp : CHLO_BinaryOp<"zeta"> {
  let summary = "Hurwitz zeta function: the sum of (k + rhs) to the power of -lhs";
}

def TopKOp : CHLO_Op<"top_k", [InferTypeOpAdaptor]> {
  let summary = "The k greatest values along the last dimension, and their indices";
  let arguments = (ins HLO_NonComplexTensor:$operand,
                       ConfinedAttr<I64Attr, [IntNonNegative]>:$k,
                       OptionalAttr<BoolAttr>:$is_stable);
  let results = (outs HLO_Tensor:$values, HLO_Tensor:$indices);
  let assemblyFormat = [{
    `(` $operand `,` `k` `=` $k (`,` `is_stable` `=` $is_stable^)? `)` attr-dict `:` type($operand) `->`
    `(` type($values) `,` type($indices) `)`
  }];
}

#endif // ST_DIALECTS_STABLEHLO_CHLOOPS_TD
