//===- AssemblyFormat.h - Custom directives of stablehlo's syntax *- C++ -*-===//
//
// The functions that `custom<...>` in the .td files names. Each pair parses and
// prints one fragment of an op's text.
//
//===----------------------------------------------------------------------===//

#ifndef ST_DIALECTS_STABLEHLO_ASSEMBLYFORMAT_H
#define ST_DIALECTS_STABLEHLO_ASSEMBLYFORMAT_H

#include "dialects/StableHLO/StableHLOAttributes.h"
#include "mlir/IR/OpImplementation.h"

namespace mlir::stablehlo {

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// `T` if all types are equal, else `(T...) -> T`. The last type is the result's.
ParseResult parseSameTypes(OpAsmParser &parser, ArrayRef<Type *> types);
void printSameTypes(OpAsmPrinter &printer, ArrayRef<Type> types);

template <typename... Ts>
ParseResult parseSameOperandsAndResultType(OpAsmParser &parser, Ts &...types) {
  return parseSameTypes(parser, {&types...});
}
template <typename... Ts>
void printSameOperandsAndResultType(OpAsmPrinter &printer, Operation *, Ts... types) {
  printSameTypes(printer, {types...});
}

/// `tensor<complex<f32>>` for `(tensor<f32>, tensor<f32>) -> tensor<complex<f32>>`.
ParseResult parseComplexOpType(OpAsmParser &parser, Type &lhs, Type &rhs, Type &result);
void printComplexOpType(OpAsmPrinter &printer, Operation *op, Type lhs, Type rhs, Type result);

/// `P, T` for `(P, T, T) -> T`.
ParseResult parseSelectOpType(OpAsmParser &parser, Type &pred, Type &onTrue, Type &onFalse,
                              Type &result);
void printSelectOpType(OpAsmPrinter &printer, Operation *op, Type pred, Type onTrue, Type onFalse,
                       Type result);

/// `tuple<A, B>` for `(A, B) -> tuple<A, B>`.
ParseResult parseTupleOpType(OpAsmParser &parser, SmallVectorImpl<Type> &operands, Type &result);
void printTupleOpType(OpAsmPrinter &printer, Operation *op, TypeRange operands, Type result);

/// `A, B` for `(A, B) -> (A, B)`.
ParseResult parsePairwiseOpType(OpAsmParser &parser, SmallVectorImpl<Type> &operands,
                                SmallVectorImpl<Type> &results);
void printPairwiseOpType(OpAsmPrinter &printer, Operation *op, TypeRange operands,
                         TypeRange results);

//===----------------------------------------------------------------------===//
// Operands and attributes
//===----------------------------------------------------------------------===//

/// `%i, %j,`: operands that are each followed by a comma.
ParseResult
parseVariadicOperandWithAttribute(OpAsmParser &parser,
                                  SmallVectorImpl<OpAsmParser::UnresolvedOperand> &operands);
void printVariadicOperandWithAttribute(OpAsmPrinter &printer, Operation *op, OperandRange operands);

/// `[start:limit:stride, ...]`; a stride of one is omitted.
ParseResult parseSliceRanges(OpAsmParser &parser, DenseI64ArrayAttr &starts,
                             DenseI64ArrayAttr &limits, DenseI64ArrayAttr &strides);
void printSliceRanges(OpAsmPrinter &printer, Operation *op, ArrayRef<int64_t> starts,
                      ArrayRef<int64_t> limits, ArrayRef<int64_t> strides);

/// `e8m10`.
ParseResult parseExponentMantissa(OpAsmParser &parser, IntegerAttr &exponent,
                                  IntegerAttr &mantissa);
void printExponentMantissa(OpAsmPrinter &printer, Operation *op, IntegerAttr exponent,
                           IntegerAttr mantissa);

/// `[batching_dims = [..] x [..], ]contracting_dims = [..] x [..]`.
ParseResult parseDotDimensionNumbers(OpAsmParser &parser, DotDimensionNumbersAttr &numbers);
void printDotDimensionNumbers(OpAsmPrinter &printer, Operation *op,
                              DotDimensionNumbersAttr numbers);

/// `[, precision = [A, B]][, algorithm = <..>]`.
ParseResult parsePrecisionConfigAndAlgorithm(OpAsmParser &parser, ArrayAttr &precision,
                                             DotAlgorithmAttr &algorithm);
void printPrecisionConfigAndAlgorithm(OpAsmPrinter &printer, Operation *op, ArrayAttr precision,
                                      DotAlgorithmAttr algorithm);

/// `[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]`.
ParseResult parseConvolutionDimensions(AsmParser &parser, ConvDimensionNumbersAttr &numbers);
void printConvolutionDimensions(AsmPrinter &printer, ConvDimensionNumbersAttr numbers);
void printConvolutionDimensions(OpAsmPrinter &printer, Operation *op,
                                ConvDimensionNumbersAttr numbers);

/// `stride = [..], pad = [[..], ..], lhs_dilate = [..], rhs_dilate = [..], reverse = [..]`
/// in any order, each of them optional.
ParseResult parseWindowAttributes(OpAsmParser &parser, DenseI64ArrayAttr &strides,
                                  DenseIntElementsAttr &padding, DenseI64ArrayAttr &lhsDilation,
                                  DenseI64ArrayAttr &rhsDilation, DenseBoolArrayAttr &reversal);
void printWindowAttributes(OpAsmPrinter &printer, Operation *op, DenseI64ArrayAttr strides,
                           DenseIntElementsAttr padding, DenseI64ArrayAttr lhsDilation,
                           DenseI64ArrayAttr rhsDilation, DenseBoolArrayAttr reversal);

/// `@name`, quoted if it is not an identifier.
ParseResult parseCustomCallTarget(OpAsmParser &parser, StringAttr &target);
void printCustomCallTarget(OpAsmPrinter &printer, Operation *op, StringAttr target);

} // namespace mlir::stablehlo

#endif // ST_DIALECTS_STABLEHLO_ASSEMBLYFORMAT_H
