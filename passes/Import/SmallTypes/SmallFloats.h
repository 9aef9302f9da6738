// Floats of at most 8 bits, as f32 numbers.
#pragma once

#include "dialects/StableHLO/Utils/Emitter.h"

namespace mlir::st {

/// Rounds to the nearest number of a type; ties go to the even one. A number beyond the largest
/// becomes infinity, NaN or the largest number, depending on the type.
Value roundToFloat(Emitter &emit, Value x, FloatType type);

/// The numbers of a type with these bits, ui8 each.
Value decodeFloat(Emitter &emit, Value bits, FloatType type);

/// The bits, ui8 each, of numbers of a type.
Value encodeFloat(Emitter &emit, Value x, FloatType type);

} // namespace mlir::st
