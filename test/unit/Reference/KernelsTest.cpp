#include "lib/Reference/Numerics/Contraction.h"
#include "lib/Reference/Numerics/DataMovement.h"
#include "lib/Reference/Numerics/Indexing.h"
#include "lib/Reference/Numerics/Reductions.h"
#include "lib/Reference/Numerics/SpecialFunctions.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace mlir::st::ref {
namespace {

template <class T> Tensor make(ElementType type, ArrayRef<int64_t> shape, ArrayRef<T> values) {
  Tensor tensor(type, shape);
  std::copy(values.begin(), values.end(), tensor.mutableData<T>());
  return tensor;
}

Tensor ints(ArrayRef<int32_t> values) {
  return make<int32_t>(ElementType::I32, {static_cast<int64_t>(values.size())}, values);
}

std::vector<int32_t> toVector(const Tensor &tensor) {
  return {tensor.data<int32_t>(), tensor.data<int32_t>() + tensor.getNumElements()};
}

using Ints = std::vector<int32_t>;
constexpr int32_t kMin = std::numeric_limits<int32_t>::min();

TEST(Kernels, IntegerPowers) {
  Tensor result = binary(BinaryKind::Pow, ints({2, -2, 3, 0, 0, 1, -1, -1, 5, 3}),
                         ints({10, 3, 0, 0, -1, -7, -7, -8, -2, 40}));
  // 3^40 wraps.
  EXPECT_EQ(toVector(result), (Ints{1024, -8, 1, 1, 0, 1, -1, 1, 0, 689956897}));
}

TEST(Kernels, IntegerDivision) {
  Tensor a = ints({7, -7, kMin, kMin, 5}), b = ints({2, 2, -1, 0, 0});
  EXPECT_EQ(toVector(binary(BinaryKind::Div, a, b)), (Ints{3, -3, kMin, -1, -1}));
  EXPECT_EQ(toVector(binary(BinaryKind::Rem, a, b)), (Ints{1, -1, 0, kMin, 5}));
}

TEST(Kernels, OpsOnWrongTypesGiveNothing) {
  Tensor pred = Tensor::scalar(ElementType::BOOL, true);
  EXPECT_FALSE(binary(BinaryKind::Sub, pred, pred));
  EXPECT_FALSE(unary(UnaryKind::Exp, ints({1})));
  EXPECT_FALSE(isFinite(ints({1})));
}

TEST(Kernels, ErfInverse) {
  for (double y : {0.0, 1e-300, 1e-9, 0.1, 0.4, 0.47, 0.48, 1.0, 2.0, 3.0, 4.0}) {
    EXPECT_NEAR(erfInverse(std::erf(y)), y, 4e-16 * y + std::exp(y * y) * 1.2e-16) << y;
    EXPECT_EQ(erfInverse(-std::erf(y)), -erfInverse(std::erf(y)));
  }
  EXPECT_EQ(erfInverse(1), std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(erfInverse(1.5)));
}

TEST(Kernels, Digamma) {
  constexpr double kEuler = 0.57721566490153286061;
  EXPECT_NEAR(digamma(1), -kEuler, 1e-15);
  EXPECT_NEAR(digamma(0.5), -kEuler - 2 * std::log(2), 1e-15);
  EXPECT_NEAR(digamma(-0.5), digamma(0.5) + 2, 1e-14);
  EXPECT_TRUE(std::isnan(digamma(-3)));
}

// Sizes around the blocks of the matrix product.
TEST(Kernels, DotGeneralBlocks) {
  for (int64_t m : {1, 4, 5})
    for (int64_t n : {1, 255, 256, 257}) {
      constexpr int64_t kDepth = 3;
      Tensor a = convert(iota(ElementType::I32, {m * kDepth}, 0), ElementType::F32);
      Tensor b = convert(iota(ElementType::I32, {kDepth * n}, 0), ElementType::F32);
      Tensor c = dotGeneral(a.reshaped({m, kDepth}), b.reshaped({kDepth, n}), {{}, {}, {1}, {0}},
                            ElementType::F32);
      ASSERT_EQ(c.getShape(), ArrayRef<int64_t>({m, n}));
      for (int64_t i = 0; i < m * n; ++i) {
        float expected = 0;
        for (int64_t k = 0; k < kDepth; ++k)
          expected += static_cast<float>((i / n * kDepth + k) * (k * n + i % n));
        ASSERT_EQ(c.data<float>()[i], expected) << m << " " << n << " " << i;
      }
    }
}

// The sum of many f32 is exact to the last digit in any order.
TEST(Kernels, ReductionsAccumulateInDouble) {
  constexpr int64_t kCount = 100001;
  Tensor tenth = splat(Tensor::scalar(ElementType::F32, 0.1f), {kCount});
  Tensor zero = Tensor::scalar(ElementType::F32, 0.0f);
  SmallVector<Tensor> results;
  ASSERT_TRUE(reduce(tenth, zero, {0}, BinaryComputation(BinaryKind::Add), results));
  EXPECT_EQ(*results[0].data<float>(), static_cast<float>(kCount * static_cast<double>(0.1f)));
}

/// Appends the digits of two numbers. Not commutative, so that any reordering shows.
class Concatenate : public ScalarComputation {
public:
  bool apply(ArrayRef<Tensor> args, SmallVectorImpl<Tensor> &results) const override {
    Tensor ten = Tensor::scalar(ElementType::F64, 10.0);
    // Shifts the left digits by as many as the right operand has.
    Tensor digits = unary(UnaryKind::Floor, binary(BinaryKind::Add, log10(args[1]), one()));
    Tensor shift = binary(BinaryKind::Pow, splat(ten, args[0].getShape()), digits);
    results.push_back(binary(BinaryKind::Add, binary(BinaryKind::Mul, args[0], shift), args[1]));
    return true;
  }

private:
  static Tensor one() { return Tensor::scalar(ElementType::F64, 1.0); }
  static Tensor log10(const Tensor &x) {
    Tensor scale = Tensor::scalar(ElementType::F64, 1 / std::log(10.0) + 1e-12);
    return binary(BinaryKind::Mul, unary(UnaryKind::Log, x), scale);
  }
};

TEST(Kernels, ReductionsKeepTheOrder) {
  Tensor digits = make<double>(ElementType::F64, {7}, {1., 2., 3., 4., 5., 6., 7.});
  SmallVector<Tensor> results;
  ASSERT_TRUE(reduce(digits, Tensor::scalar(ElementType::F64, 9.0), {0}, Concatenate(), results));
  EXPECT_EQ(*results[0].data<double>(), 91234567.0);
}

/// Orders everything before everything, which is not an order.
class Always : public ScalarComputation {
public:
  bool apply(ArrayRef<Tensor> args, SmallVectorImpl<Tensor> &results) const override {
    results.push_back(splat(Tensor::scalar(ElementType::BOOL, true), args[0].getShape()));
    return true;
  }
};

TEST(Kernels, SortSurvivesAnyComparator) {
  Ints values(100);
  for (int i = 0; i < 100; ++i)
    values[i] = i * 37 % 100;
  SmallVector<Tensor> results;
  ASSERT_TRUE(sort(ints(values), 0, Always(), results));
  Ints sorted = toVector(results[0]);
  std::sort(sorted.begin(), sorted.end());
  std::sort(values.begin(), values.end());
  EXPECT_EQ(sorted, values);
}

} // namespace
} // namespace mlir::st::ref
