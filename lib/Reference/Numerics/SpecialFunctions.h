// Functions of a real variable that <cmath> lacks.
#ifndef ST_REFERENCE_SPECIALFUNCTIONS_H
#define ST_REFERENCE_SPECIALFUNCTIONS_H

namespace mlir::st::ref {

/// The inverse of erf: infinite at -1 and 1, NaN outside.
double erfInverse(double x);

/// The derivative of the logarithm of the gamma function.
double digamma(double x);

/// The derivative of digamma of order n, an integer of at least 0; NaN for any other n.
double polygamma(double n, double x);

/// The Hurwitz zeta function, the sum over k of (k + q)^-s: infinite at s = 1,
/// NaN below.
double zeta(double s, double q);

/// exp(-|x|) times the modified Bessel function of the first kind of order 1.
double besselI1e(double x);

} // namespace mlir::st::ref

#endif // ST_REFERENCE_SPECIALFUNCTIONS_H
