//===- StableHLOBase.td - Types and traits of stablehlo ----*- tablegen -*-===//

#ifndef ST_DIALECTS_STABLEHLO_STABLEHLOBASE_TD
#define ST_DIALECTS_STABLEHLO_STABLEHLOBASE_TD

include "dialects/StableHLO/StableHLODialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

def HLO_Pred : TypeAlias<I1, "pred">;

def HLO_SInt : AnyTypeOf<[I<2>, I<4>, I8, I16, I32, I64], "2/4/8/16/32/64-bit signed integer">;
def HLO_UInt : AnyTypeOf<[UI<2>, UI<4>, UI8, UI16, UI32, UI64],
                         "2/4/8/16/32/64-bit unsigned integer">;
def HLO_Int : AnyTypeOf<[HLO_SInt, HLO_UInt], "2/4/8/16/32/64-bit integer">;
def HLO_Float : AnyTypeOf<[F4E2M1FN, F6E2M3FN, F6E3M2FN, F8E3M4, F8E4M3, F8E4M3FN, F8E4M3FNUZ,
                           F8E4M3B11FNUZ, F8E5M2, F8E5M2FNUZ, F8E8M0FNU, F16, BF16, F32, F64],
                          "4/6/8/16/32/64-bit float">;
def HLO_Complex : AnyTypeOf<[Complex<F32>, Complex<F64>],
                            "complex type with 32- or 64-bit float elements">;

class HLO_TensorOf<list<Type> elements, string what> : RankedTensorOf<elements> {
  let summary = "ranked tensor of " # what;
}

def HLO_Tensor : HLO_TensorOf<[HLO_Pred, HLO_Int, HLO_Float, HLO_Complex],
                              "pred, integer, float or complex values">;
def HLO_PredTensor : HLO_TensorOf<[HLO_Pred], "pred values">;
def HLO_IntTensor : HLO_TensorOf<[HLO_Int], "integer values">;
def HLO_PredOrIntTensor : HLO_TensorOf<[HLO_Pred, HLO_Int], "pred or integer values">;
def HLO_FpTensor : HLO_TensorOf<[HLO_Float], "float values">;
def HLO_FpOrComplexTensor : HLO_TensorOf<[HLO_Float, HLO_Complex], "float or complex values">;
def HLO_ComplexTensor : HLO_TensorOf<[HLO_Complex], "complex values">;
def HLO_IntFpOrComplexTensor : HLO_TensorOf<[HLO_Int, HLO_Float, HLO_Complex],
                                            "integer, float or complex values">;
def HLO_SIntFpOrComplexTensor : HLO_TensorOf<[HLO_SInt, HLO_Float, HLO_Complex],
                                             "signed integer, float or complex values">;
def HLO_NonComplexTensor : HLO_TensorOf<[HLO_Pred, HLO_Int, HLO_Float],
                                        "pred, integer or float values">;
def HLO_Fp32Or64Tensor : HLO_TensorOf<[F32, F64], "32- or 64-bit float values">;

class HLO_ScalarOf<Type element, string what>
    : ConfinedType<RankedTensorOf<[element]>, [CPred<"::llvm::cast<::mlir::ShapedType>($_self).getRank() == 0">],
                   "0-dimensional tensor of " # what>;
def HLO_ScalarTensor
    : ConfinedType<HLO_Tensor, [CPred<"::llvm::cast<::mlir::ShapedType>($_self).getRank() == 0">],
                   "0-dimensional tensor of pred, integer, float or complex values">;
def HLO_ScalarIntTensor : HLO_ScalarOf<HLO_Int, "integer values">;
def HLO_ScalarPredTensor : HLO_ScalarOf<HLO_Pred, "pred values">;
def HLO_ScalarI32Tensor : HLO_ScalarOf<I32, "32-bit signed integer values">;

def HLO_Tuple : NestedTupleOf<[HLO_Tensor]>;
def HLO_TensorOrTuple : AnyTypeOf<[HLO_Tensor, HLO_Tuple]>;

//===----------------------------------------------------------------------===//
// Traits and op base classes
//===----------------------------------------------------------------------===//

// Rejects dynamic dimensions in operands and results.
def HLO_StaticShapes : NativeOpTrait<"StaticShapes"> {
  let cppNamespace = "::mlir::stablehlo::traits";
}

// Result types must equal the inferred types, if they can be inferred. Reports a mismatch in one
// message, before the interface's own check.
def HLO_InferredTypes : NativeOpTrait<"InferredTypes"> {
  let cppNamespace = "::mlir::stablehlo::traits";
}

// All operands and results have one type.
def HLO_SameTypes : NativeOpTrait<"SameTypes"> {
  let cppNamespace = "::mlir::stablehlo::traits";
}

// All operands and results have one shape; element types are free.
def HLO_SameShapes : NativeOpTrait<"SameShapes"> {
  let cppNamespace = "::mlir::stablehlo::traits";
}

class HLO_Op<string mnemonic, list<Trait> traits = []>
    : Op<StableHLO_Dialect, mnemonic, !listconcat([HLO_StaticShapes, HLO_InferredTypes], traits)>;

#endif // ST_DIALECTS_STABLEHLO_STABLEHLOBASE_TD
