// Elementary functions against the C library's in f64, and every host
// instruction set against the first.
#include "backends/dtu/simulator/host/HostKernels.h"

#include "backends/dtu/isa/Names.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

namespace st::dtu {
namespace {

std::vector<HostIsa> hostIsas() {
  std::vector<HostIsa> isas = {HostIsa::Baseline};
  if (widestHostIsa() >= HostIsa::Avx2)
    isas.push_back(HostIsa::Avx2);
  if (widestHostIsa() >= HostIsa::Avx512)
    isas.push_back(HostIsa::Avx512);
  return isas;
}

/// Floats of all magnitudes, around typical values, and special values.
std::vector<float> samples() {
  std::mt19937 random(1);
  std::vector<float> values = {0.0f,
                               -0.0f,
                               1.0f,
                               -1.0f,
                               0.5f,
                               -0.5f,
                               2.5f,
                               -2.5f,
                               1e-45f,
                               -1e-45f,
                               88.7f,
                               88.8f,
                               -87.4f,
                               -103.9f,
                               -104.1f,
                               1e30f,
                               -1e30f,
                               std::numeric_limits<float>::infinity(),
                               -std::numeric_limits<float>::infinity(),
                               std::numeric_limits<float>::quiet_NaN(),
                               std::numeric_limits<float>::max(),
                               std::numeric_limits<float>::min()};
  for (int i = 0; i < 200000; ++i) {
    uint32_t bits = random();
    float value;
    std::memcpy(&value, &bits, 4);
    values.push_back(value);
  }
  for (float range : {0.01f, 1.0f, 4.0f, 20.0f, 100.0f})
    for (int i = 0; i < 100000; ++i)
      values.push_back(std::uniform_real_distribution<float>(-range, range)(random));
  return values;
}

std::vector<float> apply(HostIsa isa, VectorOp op, const std::vector<float> &a,
                         const std::vector<float> &b = {}) {
  std::vector<float> result(a.size());
  TileArgs args;
  args.dst = reinterpret_cast<uint8_t *>(result.data());
  args.src[0] = reinterpret_cast<const uint8_t *>(a.data());
  args.src[1] = reinterpret_cast<const uint8_t *>(b.data());
  args.rows = 1;
  args.cols = static_cast<int64_t>(a.size());
  findVectorKernel(hostKernels(isa), op, DType::F32)(args);
  return result;
}

/// Distance in units in the last place of the correctly rounded result.
double ulps(float value, double exact) {
  float rounded = static_cast<float>(exact);
  if (std::isnan(value) || std::isnan(exact))
    return std::isnan(value) == std::isnan(exact) ? 0 : 1e9;
  if (std::isinf(value) || std::isinf(rounded))
    return value == rounded ? 0 : 1e9;
  if (value == 0 && rounded == 0)
    return std::signbit(value) == std::signbit(rounded) ? 0 : 1e9;
  int exponent;
  std::frexp(exact, &exponent);
  double ulp = std::ldexp(1.0, std::max(exponent - 24, -149));
  return std::fabs(static_cast<double>(value) - exact) / ulp;
}

struct Function {
  VectorOp op;
  double (*exact)(double);
  double bound;
};

double logisticOf(double x) { return 1 / (1 + std::exp(-x)); }
double rsqrtOf(double x) { return 1 / std::sqrt(x); }

TEST(VectorMath, UnaryFunctionsKeepTheirBounds) {
  const Function functions[] = {
      {VectorOp::Exp, std::exp, 1.0},        {VectorOp::Expm1, std::expm1, 0.51},
      {VectorOp::Log, std::log, 0.51},       {VectorOp::Log1p, std::log1p, 0.51},
      {VectorOp::Logistic, logisticOf, 2.5}, {VectorOp::Tanh, std::tanh, 2.0},
      {VectorOp::Sqrt, std::sqrt, 0.51},     {VectorOp::Rsqrt, rsqrtOf, 1.5},
      {VectorOp::Cbrt, std::cbrt, 0.51},     {VectorOp::Erf, std::erf, 2.0},
      {VectorOp::Erfc, std::erfc, 0.51},
      {VectorOp::Sin, std::sin, 0.51},       {VectorOp::Cos, std::cos, 0.51},
      {VectorOp::Floor, std::floor, 0},      {VectorOp::Ceil, std::ceil, 0},
      {VectorOp::Round, std::round, 0},      {VectorOp::RoundEven, std::nearbyint, 0}};
  std::vector<float> x = samples();
  for (const Function &function : functions) {
    std::vector<float> y = apply(HostIsa::Auto, function.op, x);
    double worst = 0;
    size_t at = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      double error = ulps(y[i], function.exact(static_cast<double>(x[i])));
      if (error > worst) {
        worst = error;
        at = i;
      }
    }
    EXPECT_LE(worst, function.bound) << name(function.op) << "(" << x[at] << ") = " << y[at]
                                     << ", exactly " << function.exact(static_cast<double>(x[at]));
  }
}

TEST(VectorMath, PowerFollowsIeee) {
  std::vector<float> values = samples(), a, b;
  std::mt19937 random(2);
  for (float base : {0.0f, -0.0f, 1.0f, -1.0f, 2.0f, -2.0f, 0.5f, -0.5f, INFINITY, -INFINITY, NAN})
    for (float exponent :
         {0.0f, -0.0f, 1.0f, 2.0f, 3.0f, -3.0f, 0.5f, -2.0f, 3e7f, INFINITY, -INFINITY, NAN}) {
      a.push_back(base);
      b.push_back(exponent);
    }
  for (int i = 0; i < 100000; ++i) {
    a.push_back(std::fabs(values[random() % values.size()]));
    b.push_back(values[random() % values.size()]);
    a.push_back(std::uniform_real_distribution<float>(0, 10)(random));
    b.push_back(std::uniform_real_distribution<float>(-10, 10)(random));
  }
  std::vector<float> y = apply(HostIsa::Auto, VectorOp::Pow, a, b);
  for (size_t i = 0; i < a.size(); ++i)
    ASSERT_LE(ulps(y[i], std::pow(static_cast<double>(a[i]), static_cast<double>(b[i]))), 0.51)
        << a[i] << " ^ " << b[i] << " = " << y[i];
}

TEST(VectorMath, EveryHostInstructionSetComputesTheSameBits) {
  std::vector<float> x = samples(), y(x.rbegin(), x.rend());
  for (unsigned i = 0; i <= static_cast<unsigned>(VectorOp::Rem); ++i) {
    VectorOp op = static_cast<VectorOp>(i);
    if (op == VectorOp::Not || op == VectorOp::IsFinite)
      continue;
    std::vector<float> expected = apply(HostIsa::Baseline, op, x, y);
    for (HostIsa isa : hostIsas()) {
      std::vector<float> actual = apply(isa, op, x, y);
      for (size_t k = 0; k < x.size(); ++k)
        ASSERT_TRUE(std::memcmp(&actual[k], &expected[k], 4) == 0 ||
                    (std::isnan(actual[k]) && std::isnan(expected[k])))
            << name(op) << "(" << x[k] << ", " << y[k] << ") on set " << static_cast<int>(isa);
    }
  }
}

TEST(VectorMath, ReductionsHaveOneOrder) {
  std::mt19937 random(3);
  for (int64_t cols : {1, 5, 16, 33, 64, 200, 1000}) {
    int64_t rows = 7;
    std::vector<float> x(rows * cols);
    for (float &value : x)
      value = std::uniform_real_distribution<float>(-1, 1)(random);
    for (VectorOp op : {VectorOp::RowSum, VectorOp::ColSum, VectorOp::RowMax, VectorOp::ColMin}) {
      std::vector<float> expected;
      for (HostIsa isa : hostIsas()) {
        std::vector<float> y(std::max(rows, cols));
        TileArgs args;
        args.dst = reinterpret_cast<uint8_t *>(y.data());
        args.src[0] = reinterpret_cast<const uint8_t *>(x.data());
        args.rows = rows;
        args.cols = cols;
        args.dstRow = 4;
        args.srcRow[0] = cols * 4;
        findVectorKernel(hostKernels(isa), op, DType::F32)(args);
        if (expected.empty())
          expected = y;
        EXPECT_EQ(y, expected) << name(op) << " of " << cols;
      }
      if (op == VectorOp::RowSum)
        for (int64_t r = 0; r < rows; ++r) {
          float lanes[16] = {};
          for (int64_t c = 0; c < cols; ++c)
            lanes[c % 16] += x[r * cols + c];
          for (int half = 8; half; half /= 2)
            for (int l = 0; l < half; ++l)
              lanes[l] += lanes[l + half];
          EXPECT_EQ(expected[r], lanes[0]);
        }
      if (op == VectorOp::ColSum)
        for (int64_t c = 0; c < cols; ++c) {
          float sum = 0;
          for (int64_t r = 0; r < rows; ++r)
            sum += x[r * cols + c];
          EXPECT_EQ(expected[c], sum);
        }
    }
  }
}

} // namespace
} // namespace st::dtu
