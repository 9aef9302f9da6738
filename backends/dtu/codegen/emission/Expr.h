// Integer expressions over registers during code generation: the content of an hw::Affine, with
// arithmetic.
#pragma once

#include "backends/dtu/isa/Isa.h"

#include "llvm/ADT/SmallVector.h"

#include <cstdint>

namespace mlir::dtu {

/// The instruction set.
namespace hw = ::st::dtu;

/// constant + sum of coefficient * register, each register at most once, ascending.
class Expr {
public:
  Expr(int64_t constant = 0) : constant(constant) {}

  static Expr reg(uint8_t number, int64_t coefficient = 1) {
    Expr value;
    if (number != hw::kZero && coefficient != 0)
      value.terms.push_back({number, coefficient});
    return value;
  }
  /// Number of this stream instance.
  static Expr instance() { return reg(hw::kInstance); }

  bool isConstant() const { return terms.empty(); }
  int64_t getConstant() const { return constant; }
  size_t getNumTerms() const { return terms.size(); }
  /// The register if the expression is constant + 1 * register, else kZero.
  uint8_t getSingleRegister() const {
    return terms.size() == 1 && terms[0].coefficient == 1 ? terms[0].reg : uint8_t(hw::kZero);
  }

  hw::Affine toAffine() const {
    hw::Affine affine;
    affine.constant = constant;
    affine.terms.assign(terms.begin(), terms.end());
    return affine;
  }

  Expr &operator+=(const Expr &other);
  Expr &operator*=(int64_t factor);
  friend Expr operator+(Expr a, const Expr &b) { return a += b; }
  friend Expr operator*(Expr a, int64_t factor) { return a *= factor; }
  friend Expr operator-(Expr a, const Expr &b) { return a += b * -1; }

private:
  int64_t constant;
  llvm::SmallVector<hw::Affine::Term, 4> terms;
};

} // namespace mlir::dtu
