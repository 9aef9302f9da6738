#include "dialects/StableHLO/StableHLOOps.h"
#include "lib/Reference/Evaluation/OpHandlers.h"
#include "lib/Reference/Numerics/LinearAlgebra.h"

#include "llvm/ADT/TypeSwitch.h"

namespace mlir::st::ref {

using namespace stablehlo;

static FourierKind toKind(FftType type) {
  switch (type) {
  case FftType::FFT:
    return FourierKind::Forward;
  case FftType::IFFT:
    return FourierKind::Inverse;
  case FftType::RFFT:
    return FourierKind::FromReal;
  case FftType::IRFFT:
    return FourierKind::ToReal;
  }
  llvm_unreachable("all types are listed");
}

static MatrixUse toUse(Transpose transpose) {
  if (transpose == Transpose::TRANSPOSE)
    return MatrixUse::Transposed;
  return transpose == Transpose::ADJOINT ? MatrixUse::Adjoint : MatrixUse::AsIs;
}

Outcome evalLinearAlgebra(TensorCall &call) {
  ArrayRef<Tensor> operands = call.operands;
  return llvm::TypeSwitch<Operation *, Outcome>(&call.op)
      .Case<FftOp>([&](FftOp op) {
        return call.finish(
            fourier(operands[0], toKind(op.getFftType()), op.getFftLength(), call.resultType()));
      })
      .Case<CholeskyOp>(
          [&](CholeskyOp op) { return call.finish(cholesky(operands[0], op.getLower())); })
      .Case<TriangularSolveOp>([&](TriangularSolveOp op) {
        TriangularSystem system{op.getLeftSide(), op.getLower(), op.getUnitDiagonal(),
                                toUse(op.getTransposeA())};
        return call.finish(triangularSolve(operands[0], operands[1], system));
      })
      .Default(Outcome::Unknown);
}

} // namespace mlir::st::ref
