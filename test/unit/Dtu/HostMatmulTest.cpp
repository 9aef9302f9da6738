// Matrix products on every host instruction set: compared with a loop in f64, and bit for bit with
// the order of sums in docs/dtu-isa.md.
#include "backends/dtu/simulator/data/HostMatmul.h"

#include "backends/dtu/simulator/Simulator.h"
#include "lib/Timing/DtuDescription.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstring>
#include <limits>
#include <random>
#include <thread>

namespace st::dtu {
namespace {

float fromBf16(uint16_t half) {
  uint32_t bits = static_cast<uint32_t>(half) << 16;
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}

/// A matrix as stored: gaps between its rows are NaN, which no product may read.
struct Matrix {
  int64_t rows, cols, stride;
  DType type;
  std::vector<uint8_t> bytes;

  Matrix(int64_t rows, int64_t cols, int64_t gap, DType type)
      : rows(rows), cols(cols), stride(cols + gap), type(type),
        bytes(static_cast<size_t>(rows * stride * (type == DType::F32 ? 4 : 2)), 0xff) {}

  void set(int64_t r, int64_t c, float value) {
    int64_t at = r * stride + c;
    uint32_t bits;
    std::memcpy(&bits, &value, 4);
    uint16_t half = static_cast<uint16_t>(bits >> 16); // values are given with 8 bits
    _Float16 asF16 = static_cast<_Float16>(value);
    if (type == DType::F16)
      std::memcpy(&half, &asF16, 2);
    if (type == DType::F32)
      std::memcpy(&bytes[at * 4], &value, 4);
    else
      std::memcpy(&bytes[at * 2], &half, 2);
  }
  float get(int64_t r, int64_t c) const {
    int64_t at = r * stride + c;
    float value;
    uint16_t half;
    if (type == DType::F32) {
      std::memcpy(&value, &bytes[at * 4], 4);
      return value;
    }
    std::memcpy(&half, &bytes[at * 2], 2);
    _Float16 asF16;
    std::memcpy(&asF16, &half, 2);
    return type == DType::BF16 ? fromBf16(half) : static_cast<float>(asF16);
  }
};

struct Product {
  int64_t m, n, k;
  bool transposeA, transposeB, accumulate;
  Matrix a, b;
  std::vector<float> c;
  int64_t ldc;

  Product(int64_t m, int64_t n, int64_t k, int layout, DType type, std::mt19937 &random,
          int scale = 0)
      : m(m), n(n), k(k), transposeA(layout & 1), transposeB(layout & 2), accumulate(layout & 4),
        a(transposeA ? k : m, transposeA ? m : k, layout, type),
        b(transposeB ? n : k, transposeB ? k : n, 7 - layout, type), ldc(n + 3) {
    // Eight bits of mantissa, so that every type holds the value.
    auto value = [&] {
      float mantissa = static_cast<float>(static_cast<int>(random() % 511) - 255) / 256;
      return std::ldexp(mantissa, static_cast<int>(random() % 8) - 4);
    };
    for (Matrix *matrix : {&a, &b})
      for (int64_t r = 0; r < matrix->rows; ++r)
        for (int64_t col = 0; col < matrix->cols; ++col)
          matrix->set(r, col, std::ldexp(value(), scale));
    for (int64_t i = 0; i < m * ldc; ++i)
      c.push_back(std::ldexp(value() + value() / 1024, 2 * scale));
  }

  float left(int64_t i, int64_t l) const { return transposeA ? a.get(l, i) : a.get(i, l); }
  float right(int64_t l, int64_t j) const { return transposeB ? b.get(j, l) : b.get(l, j); }
  float start(int64_t i, int64_t j) const { return accumulate ? c[i * ldc + j] : 0.0f; }

  std::vector<float> run(HostIsa isa) const {
    HostMatmul matmul(isa, hostKernels(isa));
    std::vector<float> result = c;
    matmul.run(result.data(), ldc, {a.bytes.data(), a.stride, transposeA},
               {b.bytes.data(), b.stride, transposeB}, a.type, m, n, k, accumulate);
    return result;
  }
};

std::vector<HostIsa> hostIsas() {
  std::vector<HostIsa> isas;
  for (HostIsa isa : kHostIsas)
    if (isa <= widestHostIsa())
      isas.push_back(isa);
  return isas;
}

/// Products of bf16 are exact in f32; each of the sums rounds by at most 2^-24 of a
/// partial sum, and a term passes through k + 2 of them.
void expectWithinBound(const Product &product, HostIsa isa) {
  std::vector<float> result = product.run(isa);
  for (int64_t i = 0; i < product.m; ++i) {
    for (int64_t j = 0; j < product.n; ++j) {
      double sum = static_cast<double>(product.start(i, j)), size = std::fabs(sum);
      for (int64_t l = 0; l < product.k; ++l) {
        double term =
            static_cast<double>(product.left(i, l)) * static_cast<double>(product.right(l, j));
        sum += term;
        size += std::fabs(term);
      }
      double bound = 1.01 * static_cast<double>(product.k + 2) * 0x1p-24 * size;
      ASSERT_NEAR(static_cast<double>(result[i * product.ldc + j]), sum, bound)
          << hostIsaName(isa) << " at " << i << ", " << j << " of " << product.m << " x "
          << product.n << " x " << product.k;
    }
    for (int64_t j = product.n; j < product.ldc; ++j)
      ASSERT_EQ(result[i * product.ldc + j], product.c[i * product.ldc + j]) << "beyond the row";
  }
}

TEST(HostMatmul, EveryShapeLayoutAndTypeIsWithinTheBound) {
  std::mt19937 random(7);
  for (HostIsa isa : hostIsas())
    for (DType type : {DType::F32, DType::BF16, DType::F16})
      for (int round = 0; round < 64; ++round) {
        auto size = [&] { return static_cast<int64_t>(random() % 70 + 1); };
        int64_t m = size(), n = size(), k = size();
        expectWithinBound(Product(m, n, k, round % 8, type, random), isa);
        if (HasFatalFailure())
          return;
      }
}

TEST(HostMatmul, ProductsLargerThanTheBlocksOfPackedOperands) {
  std::mt19937 random(8);
  for (HostIsa isa : hostIsas()) {
    if (!hostKernels(isa).bf16Matmul)
      continue;
    constexpr int64_t m = kBf16BlockM, n = kBf16BlockN, k = kBf16BlockK;
    expectWithinBound(Product(m + 17, 33, k + 35, 4, DType::BF16, random), isa);
    expectWithinBound(Product(18, n + 49, k + 1, 3, DType::BF16, random), isa);
    expectWithinBound(Product(m + 1, n + 1, 3, 0, DType::BF16, random), isa);
  }
}

/// Subnormal numbers are zero to the bf16 instructions.
float flush(float x) { return std::fabs(x) < std::numeric_limits<float>::min() ? 0.0f : x; }
float flushedFma(float x, float y, float sum) {
  return flush(std::fma(flush(x), flush(y), flush(sum)));
}

float inOrderOf(HostIsa isa, const Product &product, int64_t i, int64_t j) {
  auto left = [&](int64_t l) { return l < product.k ? product.left(i, l) : 0.0f; };
  auto right = [&](int64_t l) { return l < product.k ? product.right(l, j) : 0.0f; };
  float sum = product.start(i, j);
  bool bf16 = product.a.type == DType::BF16;
  if (bf16 && isa == HostIsa::Amx) {
    for (int64_t l0 = 0; l0 < product.k; l0 += 32) {
      float even = 0, odd = 0;
      for (int64_t l = l0; l < l0 + 32; l += 2) {
        even = flushedFma(left(l), right(l), even);
        odd = flushedFma(left(l + 1), right(l + 1), odd);
      }
      sum = flush(flush(sum) + flush(even + odd));
    }
  } else if (bf16 && isa == HostIsa::Avx512Bf16) {
    for (int64_t l = 0; l < product.k; l += 2)
      sum = flushedFma(left(l), right(l), flushedFma(left(l + 1), right(l + 1), sum));
  } else {
    for (int64_t l = 0; l < product.k; ++l)
      sum = std::fma(left(l), right(l), sum);
  }
  return sum;
}

void expectStatedOrder(const Product &product, HostIsa isa) {
  std::vector<float> result = product.run(isa);
  for (int64_t i = 0; i < product.m; ++i)
    for (int64_t j = 0; j < product.n; ++j)
      ASSERT_EQ(result[i * product.ldc + j], inOrderOf(isa, product, i, j))
          << hostIsaName(isa) << " at " << i << ", " << j << " of " << product.m << " x "
          << product.n << " x " << product.k;
}

TEST(HostMatmul, SumsAreInTheOrderTheDocumentStates) {
  std::mt19937 random(9);
  for (HostIsa isa : hostIsas())
    for (DType type : {DType::F32, DType::BF16, DType::F16})
      for (int layout = 0; layout < 8; ++layout) {
        // 17 to 64 columns, without a rest of 16 or fewer, which libxsmm sums in parts.
        int64_t m = random() % 40 + 1, n = random() % 48 + 17, k = random() % 200 + 1;
        expectStatedOrder(Product(m, n, k, layout, type, random), isa);
        if (HasFatalFailure())
          return;
      }
  for (HostIsa isa : hostIsas())
    expectStatedOrder(Product(5, 35, 2 * kBf16BlockK + 7, 4, DType::BF16, random), isa);
}

TEST(HostMatmul, ProductsOfF32InBlocks) {
  std::mt19937 random(11);
  for (HostIsa isa : hostIsas())
    for (int layout : {0, 1, 2, 7}) {
      expectStatedOrder(Product(3, 300, 660, layout, DType::F32, random), isa);
      expectWithinBound(Product(210, 70, 713, layout, DType::F32, random), isa);
    }
}

TEST(HostMatmul, SubnormalNumbersAreKeptOrZeroAsTheDocumentStates) {
  std::mt19937 random(10);
  for (HostIsa isa : hostIsas())
    for (int layout = 0; layout < 8; ++layout) {
      expectStatedOrder(Product(17, 19, 41, layout, DType::BF16, random, -64), isa);
      Product tiny(1, 1, 1, 0, DType::BF16, random);
      tiny.a.set(0, 0, 0x1p-130f);
      tiny.b.set(0, 0, 1);
      EXPECT_EQ(tiny.run(isa)[0], isa >= HostIsa::Avx512Bf16 ? 0.0f : 0x1p-130f);
    }
}

TEST(HostMatmul, ThreadsComputeTheSameBits) {
  std::mt19937 random(11);
  for (HostIsa isa : hostIsas()) {
    Product product(70, 90, 600, 4, DType::BF16, random);
    std::vector<float> expected = product.run(isa), results[4];
    std::vector<std::thread> threads;
    for (std::vector<float> &result : results)
      threads.emplace_back([&] {
        for (int round = 0; round < 20; ++round)
          result = product.run(isa);
      });
    for (std::thread &thread : threads)
      thread.join();
    for (const std::vector<float> &result : results)
      EXPECT_EQ(result, expected) << hostIsaName(isa);
  }
}

TEST(HostIsa, TheWidestIsTheLastBeforeOneThatIsMissing) {
  EXPECT_EQ(widestHostIsa({true, true, true, true}), HostIsa::Amx);
  EXPECT_EQ(widestHostIsa({true, true, true, false}), HostIsa::Avx512Bf16);
  EXPECT_EQ(widestHostIsa({true, true, false, true}), HostIsa::Avx512);
  EXPECT_EQ(widestHostIsa({true, false, true, true}), HostIsa::Avx2);
  EXPECT_EQ(widestHostIsa({false, true, true, true}), HostIsa::Baseline);
}

TEST(HostIsa, AutoTakesTilesOrTheF32Path) {
  EXPECT_EQ(fastestHostIsa({true, true, true, true}), HostIsa::Amx);
  EXPECT_EQ(fastestHostIsa({true, true, true, false}), HostIsa::Avx512);
  EXPECT_EQ(fastestHostIsa({true, true, true, false, true}), HostIsa::Avx512Bf16);
  EXPECT_EQ(fastestHostIsa({true, true, false, false, true}), HostIsa::Avx512);
  EXPECT_EQ(fastestHostIsa({true, false, false, false}), HostIsa::Avx2);
  auto simulator = Simulator::create(*builtinDtuDescription("dtu-t10"), {RankConfig()}, {});
  ASSERT_TRUE(simulator.ok()) << simulator.status();
  EXPECT_EQ((*simulator)->hostIsa(), fastestHostIsa());
}

TEST(HostIsa, EachChoiceByNameHasItsProducts) {
  const std::pair<const char *, Bf16MatmulKernel> choices[] = {{"baseline", nullptr},
                                                               {"avx2", nullptr},
                                                               {"avx512", nullptr},
                                                               {"avx512-bf16", avx512Bf16Matmul},
                                                               {"amx", amxBf16Matmul}};
  for (const auto &[name, kernel] : choices) {
    absl::StatusOr<HostIsa> isa = parseHostIsa(name);
    ASSERT_TRUE(isa.ok()) << isa.status();
    EXPECT_EQ(hostIsaName(*isa), name);
    EXPECT_EQ(hostKernels(*isa).bf16Matmul, kernel) << name;
  }
  EXPECT_EQ(parseHostIsa("z80").status().message(),
            "unknown host instruction set 'z80'; there are auto, baseline, avx2, avx512, "
            "avx512-bf16 and amx");
}

/// Exits with 0 if a simulator works without the tile registers and reports so when told to use
/// them.
[[noreturn]] void runWithoutTiles() {
  // The system refuses tile registers to a process whose signal stack cannot hold them.
  static char memory[4096];
  stack_t stack = {};
  stack.ss_sp = memory;
  stack.ss_size = sizeof(memory);
  if (sigaltstack(&stack, nullptr) != 0)
    std::exit(2);
  SimulatorOptions options;
  options.hostIsa = HostIsa::Amx;
  auto simulator = Simulator::create(*builtinDtuDescription("dtu-t10"), {RankConfig()}, options);
  if (simulator.ok())
    std::exit(3);
  if (simulator.status().message() !=
      "this host has no amx; its widest instruction set is avx512-bf16")
    std::exit(4);
  std::mt19937 random(12);
  Product product(20, 20, 40, 4, DType::BF16, random);
  std::exit(product.run(fastestHostIsa()) == product.run(HostIsa::Avx512) ? 0 : 5);
}

TEST(HostIsaDeathTest, WithoutTheSystemsLeaveProductsDoWithoutTiles) {
  if (!__builtin_cpu_supports("amx-bf16"))
    GTEST_SKIP() << "this host has no tile registers to refuse";
  // In a separate process, which has not requested them yet.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(runWithoutTiles(), testing::ExitedWithCode(0), "");
}

} // namespace
} // namespace st::dtu
