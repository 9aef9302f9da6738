//===- ComplexRules.cpp - Gradients of complex numbers and transforms -----===//
//
// A cotangent of a complex value z = x + iy of a real loss is dL/dx - i dL/dy, as in JAX.
//
//===----------------------------------------------------------------------===//

#include "dialects/StableHLO/ChloOps.h"
#include "passes/Autodiff/Rules/GradientRules.h"
#include "passes/Autodiff/Rules/RuleUtils.h"

using namespace mlir;
using namespace mlir::stablehlo;
using namespace mlir::st;

static Value makeComplex(Emitter &emit, Type type, Value real, Value imag) {
  return ComplexOp::create(emit.builder, emit.loc, type, real, imag);
}

static void realRule(RealOp op, Value ct, Gradients &g) {
  Value x = op.getOperand();
  g.add(x, [&] {
    return x.getType() == ct.getType() ? ct
                                       : makeComplex(g.emit, x.getType(), ct, g.emit.zerosLike(ct));
  });
}

static void imagRule(ImagOp op, Value ct, Gradients &g) {
  Value x = op.getOperand();
  g.add(x, [&] {
    // The imaginary part of a real number is zero.
    return x.getType() == ct.getType()
               ? g.emit.zerosLike(ct)
               : makeComplex(g.emit, x.getType(), g.emit.zerosLike(ct), g.emit.neg(ct));
  });
}

static void complexRule(ComplexOp op, Value ct, Gradients &g) {
  OpBuilder &b = g.emit.builder;
  Type type = op.getLhs().getType();
  g.add(op.getLhs(), [&]() -> Value { return RealOp::create(b, g.emit.loc, type, ct); });
  g.add(op.getRhs(), [&]() -> Value {
    Value imag = ImagOp::create(b, g.emit.loc, type, ct);
    return g.emit.neg(imag);
  });
}

static void conjRule(chlo::ConjOp op, Value ct, Gradients &g) {
  bool isComplex = isa<ComplexType>(Emitter::typeOf(ct).getElementType());
  g.add(op.getOperand(), [&] { return isComplex ? conjugate(g.emit, ct) : ct; });
}

//===----------------------------------------------------------------------===//
// fft
//===----------------------------------------------------------------------===//

static Value transform(Emitter &emit, Value x, Type type, FftType kind, ArrayRef<int64_t> length) {
  return FftOp::create(emit.builder, emit.loc, type, x, kind, length);
}

/// Number of full-spectrum elements that each element of a half spectrum of `like`'s shape
/// represents: one at zero and at half of an even length, else two.
static Value multiplicity(Emitter &emit, Value like, int64_t length) {
  ArrayRef<int64_t> shape = Emitter::shapeOf(like);
  int64_t last = static_cast<int64_t>(shape.size()) - 1;
  Value place = emit.iota(shape, emit.builder.getI32Type(), last);
  auto isAt = [&](int64_t where) {
    return emit.compare(ComparisonDirection::EQ, place,
                        emit.splatLike(place, static_cast<double>(where)));
  };
  Value once = isAt(0);
  if (length % 2 == 0)
    once = emit.bitOr(once, isAt(length / 2));
  return emit.select(once, emit.splatLike(like, 1.0), emit.splatLike(like, 2.0));
}

/// FFT and IFFT are symmetric matrices. Those of real values weight the elements of the half
/// spectrum that represent two.
static void fftRule(FftOp op, Value ct, Gradients &g) {
  Value x = op.getOperand();
  ArrayRef<int64_t> length = op.getFftLength();
  double count = 1;
  for (int64_t size : length)
    count *= static_cast<double>(size);
  g.add(x, [&]() -> Value {
    Emitter &emit = g.emit;
    if (isEmpty(x) || isEmpty(ct))
      return emit.zerosLike(x);
    switch (op.getFftType()) {
    case FftType::FFT:
    case FftType::IFFT:
      return transform(emit, ct, x.getType(), op.getFftType(), length);
    case FftType::RFFT: {
      Value halved = emit.div(conjugate(emit, ct), multiplicity(emit, ct, length.back()));
      return emit.scale(transform(emit, halved, x.getType(), FftType::IRFFT, length), count);
    }
    case FftType::IRFFT: {
      Value spectrum = transform(emit, ct, x.getType(), FftType::RFFT, length);
      Value weighted = emit.mul(spectrum, multiplicity(emit, spectrum, length.back()));
      return conjugate(emit, emit.scale(weighted, 1 / count));
    }
    }
    return nullptr;
  });
}

void st::populateComplexRules(GradientRules &rules) {
  rules.add<RealOp>(realRule);
  rules.add<ImagOp>(imagRule);
  rules.add<ComplexOp>(complexRule);
  rules.add<chlo::ConjOp>(conjRule);
  rules.add<FftOp>(fftRule);
  rules.allowComplex<RealOp, ImagOp, chlo::ConjOp, FftOp>();
}
