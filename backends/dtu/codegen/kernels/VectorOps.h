// Which vector instruction computes an elementwise op.
#pragma once

#include "backends/dtu/isa/Isa.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

#include <optional>

namespace mlir::dtu {

/// The instruction set's type of a tensor's elements; nothing if it has none.
std::optional<::st::dtu::DType> getDType(Type elementType);

/// The vector instruction of an elementwise stablehlo or chlo op whose operands are its operands in
/// order; nothing if there is none.
std::optional<::st::dtu::VectorOp> getVectorOp(Operation *op);

enum class Reduction { Sum, Max, Min, And, Or };

/// What a stablehlo.reduce combines with; nothing if its body is not one of these.
std::optional<Reduction> getReduction(Operation *reduce, bool isPredicate);

/// The instruction for a reduction over columns (`rows` false: each column's rows are reduced).
::st::dtu::VectorOp getReductionOp(Reduction reduction, bool alongColumns);
/// The elementwise instruction that combines two partial results.
::st::dtu::VectorOp getCombineOp(Reduction reduction);
/// The bits of the value that changes nothing.
uint64_t getIdentity(Reduction reduction, ::st::dtu::DType type);

/// The bits of a constant's only value; nothing unless it is a splat.
std::optional<uint64_t> getSplatBits(Attribute value);

} // namespace mlir::dtu
