//===- StableHLOEnums.td - Enumerations of stablehlo -------*- tablegen -*-===//

#ifndef ST_DIALECTS_STABLEHLO_STABLEHLOENUMS_TD
#define ST_DIALECTS_STABLEHLO_STABLEHLOENUMS_TD

include "dialects/StableHLO/StableHLODialect.td"
include "mlir/IR/EnumAttr.td"

class HLO_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::mlir::stablehlo";
  let genSpecializedAttr = 0;
}

def HLO_ComparisonDirection : HLO_Enum<"ComparisonDirection", "Direction of a comparison", [
  I32EnumAttrCase<"EQ", 0>, I32EnumAttrCase<"NE", 1>, I32EnumAttrCase<"GE", 2>,
  I32EnumAttrCase<"GT", 3>, I32EnumAttrCase<"LE", 4>, I32EnumAttrCase<"LT", 5>]>;
def HLO_ComparisonDirectionAttr
    : EnumAttr<StableHLO_Dialect, HLO_ComparisonDirection, "comparison_direction">;

def HLO_ComparisonType : HLO_Enum<"ComparisonType", "Order of the values in a comparison", [
  I32EnumAttrCase<"NOTYPE", 0>, I32EnumAttrCase<"FLOAT", 1>, I32EnumAttrCase<"TOTALORDER", 2>,
  I32EnumAttrCase<"SIGNED", 3>, I32EnumAttrCase<"UNSIGNED", 4>]>;
def HLO_ComparisonTypeAttr : EnumAttr<StableHLO_Dialect, HLO_ComparisonType, "comparison_type">;

def HLO_Precision : HLO_Enum<"Precision", "Precision of a contraction's operand", [
  I32EnumAttrCase<"DEFAULT", 0>, I32EnumAttrCase<"HIGH", 1>, I32EnumAttrCase<"HIGHEST", 2>]>;
def HLO_PrecisionAttr : EnumAttr<StableHLO_Dialect, HLO_Precision, "precision">;

def HLO_RngAlgorithm : HLO_Enum<"RngAlgorithm", "Generator of random bits", [
  I32EnumAttrCase<"DEFAULT", 0>, I32EnumAttrCase<"THREE_FRY", 1>, I32EnumAttrCase<"PHILOX", 2>]>;
def HLO_RngAlgorithmAttr : EnumAttr<StableHLO_Dialect, HLO_RngAlgorithm, "rng_algorithm">;

def HLO_FftType : HLO_Enum<"FftType", "Kind of Fourier transform", [
  I32EnumAttrCase<"FFT", 0>, I32EnumAttrCase<"IFFT", 1>, I32EnumAttrCase<"RFFT", 2>,
  I32EnumAttrCase<"IRFFT", 3>]>;
def HLO_FftTypeAttr : EnumAttr<StableHLO_Dialect, HLO_FftType, "fft_type">;

def HLO_Transpose : HLO_Enum<"Transpose", "Use of a matrix: unchanged, transposed or adjoint", [
  I32EnumAttrCase<"TRANSPOSE_INVALID", 0>, I32EnumAttrCase<"NO_TRANSPOSE", 1>,
  I32EnumAttrCase<"TRANSPOSE", 2>, I32EnumAttrCase<"ADJOINT", 3>]>;
def HLO_TransposeAttr : EnumAttr<StableHLO_Dialect, HLO_Transpose, "transpose">;

def HLO_CustomCallApiVersion
    : HLO_Enum<"CustomCallApiVersion", "Calling convention of a custom call", [
  I32EnumAttrCase<"API_VERSION_UNSPECIFIED", 0>, I32EnumAttrCase<"API_VERSION_ORIGINAL", 1>,
  I32EnumAttrCase<"API_VERSION_STATUS_RETURNING", 2>,
  I32EnumAttrCase<"API_VERSION_STATUS_RETURNING_UNIFIED", 3>,
  I32EnumAttrCase<"API_VERSION_TYPED_FFI", 4>]>;
// Written as a plain i32 in the text.
def HLO_CustomCallApiVersionAttr
    : ConfinedAttr<I32Attr, [IntNonNegative, IntMaxValue<4>]>;

def HLO_ResultAccuracyMode : HLO_Enum<"ResultAccuracyMode", "Form in which a required accuracy is given", [
  I32EnumAttrCase<"DEFAULT", 0>, I32EnumAttrCase<"HIGHEST", 1>,
  I32EnumAttrCase<"TOLERANCE", 2>]>;
def HLO_ResultAccuracyModeAttr
    : EnumAttr<StableHLO_Dialect, HLO_ResultAccuracyMode, "result_accuracy_mode"> {
  let assemblyFormat = "`<` $value `>`";
}

#endif // ST_DIALECTS_STABLEHLO_STABLEHLOENUMS_TD
