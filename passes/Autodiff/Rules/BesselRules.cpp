//===- BesselRules.cpp - Gradients of Bessel functions --------------------===//
//
// The derivative of the function of order 1 is one of order 0, for which there is no op: its
// Chebyshev series come from Moshier's Cephes library (i0.c), as those of XLA do.
//
//===----------------------------------------------------------------------===//

#include "dialects/StableHLO/ChloOps.h"
#include "passes/Autodiff/Rules/GradientRules.h"
#include <cmath>

using namespace mlir;
using namespace mlir::stablehlo;
using namespace mlir::st;

// e^-x I0(x) for x in [0, 8] in terms of x / 2 - 2, and times sqrt(x) beyond in terms of 32 / x -
// 2, the highest order first. Single precision needs only the last few.
constexpr double kSmall[] = {
    -4.41534164647933937950e-18, 3.33079451882223809783e-17,  -2.43127984654795469359e-16,
    1.71539128555513303061e-15,  -1.16853328779934516808e-14, 7.67618549860493561688e-14,
    -4.85644678311192946090e-13, 2.95505266312963983461e-12,  -1.72682629144155570723e-11,
    9.67580903537323691224e-11,  -5.18979560163526290666e-10, 2.65982372468238665035e-9,
    -1.30002500998624804212e-8,  6.04699502254191894932e-8,   -2.67079385394061173391e-7,
    1.11738753912010371815e-6,   -4.41673835845875056359e-6,  1.64484480707288970893e-5,
    -5.75419501008210370398e-5,  1.88502885095841655729e-4,   -5.76375574538582365885e-4,
    1.63947561694133579842e-3,   -4.32430999505057594430e-3,  1.05464603945949983183e-2,
    -2.37374148058994688156e-2,  4.93052842396707084878e-2,   -9.49010970480476444210e-2,
    1.71620901522208775349e-1,   -3.04682672343198398683e-1,  6.76795274409476084995e-1};
constexpr double kLarge[] = {
    -7.23318048787475395456e-18, -4.83050448594418207126e-18, 4.46562142029675999901e-17,
    3.46122286769746109310e-17,  -2.82762398051658348494e-16, -3.42548561967721913462e-16,
    1.77256013305652638360e-15,  3.81168066935262242075e-15,  -9.55484669882830764870e-15,
    -4.15056934728722208663e-14, 1.54008621752140982691e-14,  3.85277838274214270114e-13,
    7.18012445138366623367e-13,  -1.79417853150680611778e-12, -1.32158118404477131188e-11,
    -3.14991652796324136454e-11, 1.18891471078464383424e-11,  4.94060238822496958910e-10,
    3.39623202570838634515e-9,   2.26666899049817806459e-8,   2.04891858946906374183e-7,
    2.89137052083475648297e-6,   6.88975834691682398426e-5,   3.36911647825569408990e-3,
    8.04490411014108831608e-1};
constexpr size_t kSmallSingle = 18, kLargeSingle = 7;

/// A Chebyshev series whose first term counts half, by Clenshaw's recurrence.
static Value chebyshev(Emitter &emit, Value x, ArrayRef<double> coefficients) {
  Value zero = emit.zerosLike(x), b0 = zero, b1 = zero, b2 = zero;
  for (double coefficient : coefficients) {
    b2 = b1;
    b1 = b0;
    b0 = emit.offset(emit.sub(emit.mul(x, b1), b2), coefficient);
  }
  return emit.scale(emit.sub(b0, b2), 0.5);
}

/// e^-|x| I0(x) of singles or doubles.
static Value besselI0e(Emitter &emit, Value x) {
  bool isDouble = Emitter::typeOf(x).getElementType().isF64();
  auto terms = [&](ArrayRef<double> all, size_t single) {
    return isDouble ? all : all.take_back(single);
  };
  Value size = emit.abs(x);
  Value small =
      chebyshev(emit, emit.offset(emit.scale(size, 0.5), -2), terms(kSmall, kSmallSingle));
  Value inverse = emit.div(emit.splatLike(size, 32), size);
  Value series = chebyshev(emit, emit.offset(inverse, -2), terms(kLarge, kLargeSingle));
  Value isSmall = emit.compare(ComparisonDirection::LE, size, emit.splatLike(size, 8));
  return emit.select(isSmall, small, emit.div(series, emit.sqrt(size)));
}

/// d i1e(x) = i0e(x) - (sign(x) + 1 / x) i1e(x) (A. & S. 9.6.26), a half next to zero.
static void besselI1eRule(chlo::BesselI1eOp op, Value ct, Gradients &g) {
  Emitter &emit = g.emit;
  Type type = Emitter::typeOf(ct).getElementType();
  Type wide = type.getIntOrFloatBitWidth() < 32 ? emit.builder.getF32Type() : type;
  unsigned precision = cast<FloatType>(wide).getFPMantissaWidth();
  Value x = emit.convert(op.getOperand(), wide), y = emit.convert(op.getResult(), wide);
  Value epsilon = emit.splatLike(x, std::ldexp(1.0, 1 - static_cast<int>(precision)));
  Value isTiny = emit.compare(ComparisonDirection::LE, emit.abs(x), epsilon);
  Value safe = emit.select(isTiny, epsilon, x);
  Value factor = emit.add(emit.sign(safe), emit.div(emit.splatLike(x, 1.0), safe));
  Value slope = emit.sub(besselI0e(emit, safe), emit.mul(y, factor));
  slope = emit.select(isTiny, emit.splatLike(x, 0.5), slope);
  g.add(op.getOperand(), emit.mul(ct, emit.convert(slope, type)));
}

void st::populateBesselRules(GradientRules &rules) { rules.add<chlo::BesselI1eOp>(besselI1eRule); }
