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

def TopKOp : CHLO_Op<"top_k", [InferTypeOpAdaptor]> {
  let summary = "The k greatest values along the last dimension, and their indices";
  let arguments = (ins HLO_TensorOf<[HLO_Int, HLO_Float], "integer or float values">:$operand,
                       ConfinedAttr<I64Attr, [IntNonNegative]>:$k);
  let results = (outs HLO_Tensor:$values, HLO_Tensor:$indices);
  let assemblyFormat = [{
    `(` $operand `,` `k` `=` $k `)` attr-dict `:` type($operand) `->`
    `(` type($values) `,` type($indices) `)`
  }];
}

#endif // ST_DIALECTS_STABLEHLO_CHLOOPS_TD
