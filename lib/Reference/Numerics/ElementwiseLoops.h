// The loops under the elementwise kernels. Private to them.
#ifndef ST_REFERENCE_ELEMENTWISELOOPS_H
#define ST_REFERENCE_ELEMENTWISELOOPS_H

#include "lib/Reference/Tensor.h"

#include <initializer_list>

namespace mlir::st::ref {

/// The shape of an elementwise result: that of the first operand that is not a scalar.
inline ArrayRef<int64_t> commonShape(std::initializer_list<const Tensor *> operands) {
  for (const Tensor *operand : operands)
    if (operand->getRank() > 0)
      return operand->getShape();
  return {};
}

/// The step in an operand for each element of the result.
inline int64_t stepOf(const Tensor &operand) { return operand.getRank() > 0 ? 1 : 0; }

/// Applies `fn`, from the compute type of T to that of R, to every element.
template <class R, class T, class Fn>
Tensor mapUnary(ElementType resultType, const Tensor &x, Fn fn) {
  Tensor result(resultType, x.getShape());
  const T *in = x.data<T>();
  R *out = result.mutableData<R>();
  for (int64_t i = 0, n = result.getNumElements(); i < n; ++i)
    out[i] = static_cast<R>(fn(static_cast<Compute<T>>(in[i])));
  return result;
}

template <class R, class T, class Fn>
Tensor mapBinary(ElementType resultType, const Tensor &x, const Tensor &y, Fn fn) {
  Tensor result(resultType, commonShape({&x, &y}));
  const T *a = x.data<T>(), *b = y.data<T>();
  R *out = result.mutableData<R>();
  auto loop = [&](auto stepA, auto stepB) {
    for (int64_t i = 0, n = result.getNumElements(); i < n; ++i)
      out[i] = static_cast<R>(
          fn(static_cast<Compute<T>>(a[i * stepA]), static_cast<Compute<T>>(b[i * stepB])));
  };
  // Constant steps let the common case vectorise.
  using One = std::integral_constant<int64_t, 1>;
  if (stepOf(x) == 1 && stepOf(y) == 1)
    loop(One(), One());
  else
    loop(stepOf(x), stepOf(y));
  return result;
}

} // namespace mlir::st::ref

#endif // ST_REFERENCE_ELEMENTWISELOOPS_H
