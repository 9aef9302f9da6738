// Selects the vector instruction of an elementwise op.
#pragma once

#include "backends/dtu/isa/Isa.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

#include <optional>

namespace mlir::dtu {

/// The instruction set's element type for a tensor; std::nullopt if it has none.
std::optional<::st::dtu::DType> getDType(Type elementType);

/// The vector instruction of an elementwise stablehlo or chlo op with the same operands in the same
/// order; std::nullopt if there is none.
std::optional<::st::dtu::VectorOp> getVectorOp(Operation *op);

enum class Reduction { Sum, Max, Min, And, Or };

/// The reduction that a stablehlo.reduce performs; std::nullopt if its body is none of these.
std::optional<Reduction> getReduction(Operation *reduce, bool isPredicate);

/// The instruction that reduces the columns of each row, or the rows of each column.
::st::dtu::VectorOp getReductionOp(Reduction reduction, bool alongColumns);
/// The elementwise instruction that combines two partial results.
::st::dtu::VectorOp getCombineOp(Reduction reduction);
/// The bits of the reduction's identity.
uint64_t getIdentity(Reduction reduction, ::st::dtu::DType type);

/// The bits of a splat constant; std::nullopt if it is not a splat.
std::optional<uint64_t> getSplatBits(Attribute value);

} // namespace mlir::dtu
