// Functions of a real variable that <cmath> lacks.
#ifndef ST_REFERENCE_SPECIALFUNCTIONS_H
#define ST_REFERENCE_SPECIALFUNCTIONS_H

namespace mlir::st::ref {

/// The inverse of erf: infinite at -1 and 1, NaN outside.
double erfInverse(double x);

/// The derivative of the logarithm of the gamma function.
double digamma(double x);

} // namespace mlir::st::ref

#endif // ST_REFERENCE_SPECIALFUNCTIONS_H
