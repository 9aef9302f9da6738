// Matmul and Vector against plain loops: layouts, types, corner cases.
#include "SimulatorFixture.h"

#include "backends/dtu/isa/Names.h"
#include "backends/dtu/simulator/host/HostKernels.h"

#include <cmath>
#include <limits>
#include <random>

namespace st::dtu {
namespace {

std::vector<float> randomFloats(size_t count, uint32_t seed = 1) {
  std::mt19937 random(seed);
  std::vector<float> values(count);
  for (float &value : values)
    value = std::uniform_real_distribution<float>(-1, 1)(random);
  return values;
}

TEST(TileInstruction, MatmulInEveryLayoutAndHostInstructionSet) {
  constexpr int64_t m = 37, n = 45, k = 29, aAt = 0, bAt = 4096, cAt = 8192, total = 12288;
  for (HostIsa isa : {HostIsa::Baseline, HostIsa::Avx2, HostIsa::Avx512})
    for (int layout = 0; layout < 8; ++layout) {
      if (isa > widestHostIsa())
        continue;
      bool transposeA = layout & 1, transposeB = layout & 2, accumulate = layout & 4;
      int64_t lda = transposeA ? m + 3 : k + 1, ldb = transposeB ? k : n + 5, ldc = n + 2;
      std::vector<float> memory = randomFloats(total), expected = memory;
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) {
          double sum = accumulate ? static_cast<double>(memory[cAt + i * ldc + j]) : 0;
          for (int64_t l = 0; l < k; ++l)
            sum += static_cast<double>(memory[aAt + (transposeA ? l * lda + i : i * lda + l)]) *
                   static_cast<double>(memory[bAt + (transposeB ? j * ldb + l : l * ldb + j)]);
          expected[cAt + i * ldc + j] = static_cast<float>(sum);
        }
      SimulatorOptions options;
      options.hostIsa = isa;
      std::string text = absl::StrCat(
          "matmul c=L1[", cAt * 4, "] a=L1[0] b=L1[", bAt * 4, "] m=", m, " n=", n, " k=", k,
          " ldc=", ldc, " lda=", lda, " ldb=", ldb, transposeA ? " transpose_a=true" : "",
          transposeB ? " transpose_b=true" : "", accumulate ? " accumulate=true" : "");
      ASSERT_TRUE(runOn(coreProgram(text, total * 4), memory, options).ok());
      for (int64_t i = 0; i < total; ++i)
        ASSERT_NEAR(memory[i], expected[i], 1e-5) << text << " at " << i;
    }
}

TEST(TileInstruction, MatmulAccumulatesByRegisterAndClearsWithoutK) {
  // Two k tiles: the first overwrites C, the second adds to it.
  std::vector<float> memory(64, 7.0f);
  for (int i = 0; i < 8; ++i)
    memory[i] = static_cast<float>(i + 1);
  std::string text = "loop reg=r4 limit=2\n matmul c=L1[128] a=L1[16*r4] b=L1[0] m=1 n=1 k=4 ldc=1 "
                     "lda=4 ldb=1 accumulate_if=r4\n end\n"
                     "matmul c=L1[192] a=L1[0] b=L1[0] m=2 n=2 k=0 ldc=3 lda=4 ldb=2";
  ASSERT_TRUE(runOn(coreProgram(text, 256), memory).ok());
  EXPECT_EQ(memory[32], 1 * 1 + 2 * 2 + 3 * 3 + 4 * 4 + 5 * 1 + 6 * 2 + 7 * 3 + 8 * 4);
  EXPECT_EQ(std::vector<float>(memory.begin() + 48, memory.begin() + 54),
            std::vector<float>({0, 0, 7, 0, 0, 7}));
}

TEST(TileInstruction, MatmulOfHalfTypesAccumulatesInF32) {
  // 1 + 2^-8 products: a bf16 accumulator would lose them.
  std::vector<uint16_t> memory(1024, 0);
  constexpr int64_t k = 256;
  for (int64_t i = 0; i < k; ++i) {
    memory[i] = 0x3f80;                    // bf16 1.0
    memory[256 + i] = i ? 0x3b80 : 0x3f80; // bf16 2^-8, the first 1.0
  }
  std::string text =
      "matmul c=L1[1024] a=L1[0] b=L1[512] m=1 n=1 k=256 ldc=1 lda=256 ldb=1 type=bf16";
  ASSERT_TRUE(runOn(coreProgram(text, 2048), memory).ok());
  float c;
  std::memcpy(&c, &memory[512], 4);
  EXPECT_EQ(c, 1.0f + 255.0f / 256.0f);
}

TEST(TileInstruction, VectorOperandsInEveryLayout) {
  // dst = a - b with dense, broadcast, strided and transposed operands and results.
  constexpr int64_t rows = 5, cols = 19;
  const int64_t layouts[][2] = {{cols, 1},     {0, 1},    {1, 0},       {0, 0},
                                {cols + 4, 1}, {1, rows}, {3 * cols, 3}};
  constexpr int64_t aAt = 0, bAt = 512, dAt = 1024, total = 1536;
  for (const auto &a : layouts)
    for (const auto &b : layouts)
      for (const auto &d : {layouts[0], layouts[4], layouts[5], layouts[6]}) {
        std::vector<float> memory = randomFloats(total), expected = memory;
        for (int64_t r = 0; r < rows; ++r)
          for (int64_t c = 0; c < cols; ++c)
            expected[dAt + r * d[0] + c * d[1]] =
                memory[aAt + r * a[0] + c * a[1]] - memory[bAt + r * b[0] + c * b[1]];
        std::string text =
            absl::StrCat("vector op=sub dst=f32:L1[", dAt * 4, "]{", d[0], ",", d[1], "} a=f32:L1[",
                         aAt * 4, "]{", a[0], ",", a[1], "} b=f32:L1[", bAt * 4, "]{", b[0], ",",
                         b[1], "} rows=5 cols=19");
        ASSERT_TRUE(runOn(coreProgram(text, total * 4), memory).ok());
        ASSERT_EQ(memory, expected) << text;
      }
}

TEST(TileInstruction, VectorWorksInPlaceAndOnColumns) {
  std::vector<float> memory = randomFloats(256), expected = memory;
  for (int i = 0; i < 100; ++i)
    expected[i] = memory[i] + memory[i];
  std::string text = "vector op=add dst=f32:L1[0]{1,1} a=f32:L1[0]{1,1} b=f32:L1[0]{1,1} rows=100 "
                     "cols=1";
  ASSERT_TRUE(runOn(coreProgram(text, 1024), memory).ok());
  EXPECT_EQ(memory, expected);
}

TEST(TileInstruction, TernaryOpsWithMixedBroadcasts) {
  constexpr int64_t rows = 3, cols = 40;
  for (int mask = 0; mask < 8; ++mask) {
    std::vector<float> memory = randomFloats(1024), expected = memory;
    auto at = [&](int operand, int64_t r, int64_t c) {
      return memory[operand * 128 + (mask >> operand & 1 ? r : r * cols + c)];
    };
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < cols; ++c)
        expected[512 + r * cols + c] = at(0, r, c) * at(1, r, c) + at(2, r, c);
    std::string text = "vector op=mul_add dst=f32:L1[2048]{40,1}";
    for (int k = 0; k < 3; ++k)
      absl::StrAppend(&text, " ", std::string(1, static_cast<char>('a' + k)), "=f32:L1[", k * 512,
                      "]{", mask >> k & 1 ? "1,0" : "40,1", "}");
    ASSERT_TRUE(runOn(coreProgram(text + " rows=3 cols=40", 4096), memory).ok());
    ASSERT_EQ(memory, expected) << text;
  }
}

TEST(TileInstruction, SelectAndCompareAndConvert) {
  std::vector<float> memory = randomFloats(256), before = memory;
  std::string text =
      "vector op=lt dst=i1:L1[800]{0,1} a=f32:L1[0]{0,1} b=f32:L1[256]{0,1} rows=1 cols=64\n"
      "vector op=select dst=f32:L1[512]{0,1} a=i1:L1[800]{0,1} b=f32:L1[0]{0,1} "
      "c=f32:L1[256]{0,1} rows=1 cols=64\n"
      "vector op=copy dst=bf16:L1[880]{0,1} a=f32:L1[0]{0,1} rows=1 cols=64";
  ASSERT_TRUE(runOn(coreProgram(text, 1024), memory).ok());
  for (int i = 0; i < 64; ++i) {
    EXPECT_EQ(memory[128 + i], std::min(before[i], before[64 + i]));
    uint32_t bits, half = reinterpret_cast<const uint16_t *>(memory.data())[440 + i];
    std::memcpy(&bits, &before[i], 4);
    uint32_t low = bits & 0xffff, expected = bits >> 16;
    expected += low > 0x8000 || (low == 0x8000 && (expected & 1));
    EXPECT_EQ(half, expected);
  }
}

TEST(TileInstruction, ReductionsWithStridesTypesAndAccumulation) {
  constexpr int64_t rows = 6, cols = 50;
  std::vector<float> memory = randomFloats(1024), before = memory;
  std::string text =
      "vector op=row_sum dst=f32:L1[2048]{2,1} a=f32:L1[0]{60,1} rows=6 cols=50 accumulate=true\n"
      "vector op=col_max dst=f32:L1[2400]{0,1} a=f32:L1[0]{60,1} rows=6 cols=50\n"
      "vector op=row_min dst=f32:L1[2800]{1,1} a=f32:L1[0]{0,1} rows=2 cols=0\n"
      "vector op=col_sum dst=bf16:L1[2900]{0,1} a=f32:L1[0]{60,1} rows=6 cols=50";
  ASSERT_TRUE(runOn(coreProgram(text, 4096), memory).ok());
  for (int64_t r = 0; r < rows; ++r) {
    double sum = before[512 + 2 * r];
    for (int64_t c = 0; c < cols; ++c)
      sum += before[r * 60 + c];
    EXPECT_NEAR(memory[512 + 2 * r], sum, 1e-5);
    EXPECT_EQ(memory[512 + 2 * r + 1], before[512 + 2 * r + 1]);
  }
  for (int64_t c = 0; c < cols; ++c) {
    float largest = before[c];
    double sum = 0;
    for (int64_t r = 0; r < rows; ++r) {
      largest = std::max(largest, before[r * 60 + c]);
      sum += before[r * 60 + c];
    }
    EXPECT_EQ(memory[600 + c], largest);
    uint32_t bits = static_cast<uint32_t>(reinterpret_cast<uint16_t *>(memory.data())[1450 + c])
                    << 16;
    float half;
    std::memcpy(&half, &bits, 4);
    EXPECT_NEAR(half, sum, std::fabs(sum) / 128 + 1e-6);
  }
  EXPECT_EQ(memory[700], INFINITY);
  EXPECT_EQ(memory[701], INFINITY);
}

TEST(TileInstruction, IotaAndFill) {
  std::vector<int32_t> memory(128, 9);
  std::string text =
      "vector op=iota dst=i32:L1[0]{4,1} rows=3 cols=4 start=10 row_step=100 col_step=-1\n"
      "vector op=fill dst=i32:L1[64]{8,2} rows=2 cols=3 value=0x2a\n"
      "vector op=iota dst=f32:L1[256]{0,1} rows=1 cols=3 start=5 col_step=1";
  ASSERT_TRUE(runOn(coreProgram(text, 512), memory).ok());
  for (int r = 0; r < 3; ++r)
    for (int c = 0; c < 4; ++c)
      EXPECT_EQ(memory[r * 4 + c], 10 + 100 * r - c);
  EXPECT_EQ(std::vector<int32_t>(memory.begin() + 16, memory.begin() + 30),
            std::vector<int32_t>({42, 9, 42, 9, 42, 9, 9, 9, 42, 9, 42, 9, 42, 9}));
  EXPECT_EQ(reinterpret_cast<float *>(memory.data())[66], 7.0f);
}

/// dst = op(a, b) of single elements of one type.
template <typename T> T binary(VectorOp op, DType type, T a, T b) {
  T result = T();
  TileArgs args;
  args.dst = reinterpret_cast<uint8_t *>(&result);
  args.src[0] = reinterpret_cast<const uint8_t *>(&a);
  args.src[1] = reinterpret_cast<const uint8_t *>(&b);
  args.rows = args.cols = 1;
  findVectorKernel(hostKernels(HostIsa::Auto), op, type)(args);
  return result;
}

TEST(TileInstruction, IntegerCornerCases) {
  constexpr int32_t lowest = std::numeric_limits<int32_t>::min();
  auto i32 = [](VectorOp op, int32_t a, int32_t b) {
    return binary<int32_t>(op, DType::I32, a, b);
  };
  auto u8 = [](VectorOp op, int a, int b) {
    return static_cast<int>(
        binary<uint8_t>(op, DType::U8, static_cast<uint8_t>(a), static_cast<uint8_t>(b)));
  };
  EXPECT_EQ(i32(VectorOp::Div, 7, 0), -1);
  EXPECT_EQ(i32(VectorOp::Div, lowest, -1), lowest);
  EXPECT_EQ(i32(VectorOp::Div, -7, 2), -3);
  EXPECT_EQ(i32(VectorOp::Rem, -7, 2), -1);
  EXPECT_EQ(i32(VectorOp::Rem, 7, -2), 1);
  EXPECT_EQ(i32(VectorOp::Rem, 7, 0), 7);
  EXPECT_EQ(i32(VectorOp::Rem, lowest, -1), 0);
  EXPECT_EQ(u8(VectorOp::Div, 7, 0), 255);
  EXPECT_EQ(i32(VectorOp::Shl, 1, 31), lowest);
  EXPECT_EQ(i32(VectorOp::Shl, 1, 32), 0);
  EXPECT_EQ(i32(VectorOp::Shl, 1, -1), 0);
  EXPECT_EQ(i32(VectorOp::ShrLogical, -1, 31), 1);
  EXPECT_EQ(i32(VectorOp::ShrLogical, -1, 32), 0);
  EXPECT_EQ(i32(VectorOp::ShrArith, -8, 1), -4);
  EXPECT_EQ(i32(VectorOp::ShrArith, -8, 40), -1);
  EXPECT_EQ(u8(VectorOp::RotateLeft, 0x81, 1), 3);
  EXPECT_EQ(u8(VectorOp::Mul, 255, 255), 1);
  EXPECT_EQ(u8(VectorOp::MulHigh, 255, 255), 254);
  EXPECT_EQ(binary<uint32_t>(VectorOp::MulHigh, DType::U32, 0xffffffffu, 0xffffffffu), 0xfffffffeu);
  EXPECT_EQ(binary<uint16_t>(VectorOp::MulHigh, DType::U16, 0x1234, 0x8000), 0x91a);
  EXPECT_EQ(i32(VectorOp::Add, std::numeric_limits<int32_t>::max(), 1), lowest);
  EXPECT_EQ(i32(VectorOp::Pow, 3, 4), 81);
  EXPECT_EQ(i32(VectorOp::Pow, 2, -1), 0);
  EXPECT_EQ(i32(VectorOp::Pow, -1, -3), -1);
  EXPECT_EQ(binary<uint32_t>(VectorOp::RotateLeft, DType::U32, 0x80000001u, 4u), 0x18u);
  EXPECT_EQ(binary<int64_t>(VectorOp::ShrArith, DType::I64, -8, 99), -1);
  EXPECT_EQ(binary<uint8_t>(VectorOp::Add, DType::I1, 1, 1), 1);
  EXPECT_EQ(binary<uint8_t>(VectorOp::Xor, DType::I1, 1, 1), 0);
}

TEST(TileInstruction, FloatCornerCases) {
  auto f32 = [](VectorOp op, float a, float b) { return binary<float>(op, DType::F32, a, b); };
  EXPECT_TRUE(std::isnan(f32(VectorOp::Max, NAN, 1)));
  EXPECT_TRUE(std::isnan(f32(VectorOp::Max, 1, NAN)));
  EXPECT_TRUE(std::isnan(f32(VectorOp::Min, NAN, 1)));
  EXPECT_TRUE(std::isnan(f32(VectorOp::Min, 1, NAN)));
  EXPECT_EQ(f32(VectorOp::Div, 1, 0), INFINITY);
  EXPECT_EQ(f32(VectorOp::Rem, -7.5f, 2), -1.5f);
  EXPECT_EQ(f32(VectorOp::Round, 2.5f, 0), 3);
  EXPECT_EQ(f32(VectorOp::Round, -2.5f, 0), -3);
  EXPECT_EQ(f32(VectorOp::RoundEven, 2.5f, 0), 2);
  EXPECT_TRUE(std::isnan(f32(VectorOp::Sign, NAN, 0)));
  EXPECT_TRUE(std::signbit(f32(VectorOp::Sign, -0.0f, 0)));
}

template <typename D, typename S> D convertOne(DType to, DType from, S value) {
  D result = D();
  findConvertKernel(hostKernels(HostIsa::Auto), to, from)(&result, &value, 1);
  return result;
}

TEST(TileInstruction, Conversions) {
  auto toI32 = [](float x) { return convertOne<int32_t>(DType::I32, DType::F32, x); };
  EXPECT_EQ(toI32(-3.9f), -3);
  EXPECT_EQ(toI32(1e20f), std::numeric_limits<int32_t>::max());
  EXPECT_EQ(toI32(-1e20f), std::numeric_limits<int32_t>::min());
  EXPECT_EQ(toI32(NAN), 0);
  EXPECT_EQ((convertOne<uint8_t>(DType::U8, DType::F32, -5.0f)), 0);
  EXPECT_EQ((convertOne<uint8_t>(DType::U8, DType::F32, 300.0f)), 255);
  EXPECT_EQ((convertOne<uint8_t>(DType::I1, DType::F32, 0.25f)), 1);
  EXPECT_EQ((convertOne<uint8_t>(DType::I1, DType::F32, -0.0f)), 0);
  EXPECT_EQ((convertOne<int8_t>(DType::I8, DType::I32, 300)), 44);
  EXPECT_EQ((convertOne<int64_t>(DType::I64, DType::F64, 1e30)),
            std::numeric_limits<int64_t>::max());
  EXPECT_EQ((convertOne<uint64_t>(DType::U64, DType::F32, 1e30f)),
            std::numeric_limits<uint64_t>::max());
}

TEST(TileInstruction, HalfTypesSurviveARoundTrip) {
  for (DType type : {DType::BF16, DType::F16})
    for (uint32_t bits = 0; bits < 65536; ++bits) {
      float wide = convertOne<float>(DType::F32, type, static_cast<uint16_t>(bits));
      uint16_t back = convertOne<uint16_t>(type, DType::F32, wide);
      if (std::isnan(wide))
        EXPECT_TRUE(std::isnan(convertOne<float>(DType::F32, type, back)));
      else
        ASSERT_EQ(back, bits);
      float generic;
      uint16_t half = static_cast<uint16_t>(bits);
      genericConvertKernel(DType::F32, type)(&generic, &half, 1);
      ASSERT_TRUE(generic == wide || std::isnan(wide));
    }
  // Ties round to even; too large values become infinite; small values stay denormal.
  EXPECT_EQ((convertOne<uint16_t>(DType::F16, DType::F32, 1.0f + 0x1p-11f)), 0x3c00);
  EXPECT_EQ((convertOne<uint16_t>(DType::F16, DType::F32, 1.0f + 0x3p-11f)), 0x3c02);
  EXPECT_EQ((convertOne<uint16_t>(DType::F16, DType::F32, 65520.0f)), 0x7c00);
  EXPECT_EQ((convertOne<uint16_t>(DType::F16, DType::F32, 65519.0f)), 0x7bff);
  EXPECT_EQ((convertOne<uint16_t>(DType::F16, DType::F32, 0x1p-24f)), 1);
}

TEST(TileInstruction, EveryOpTheValidatorTakesHasAKernel) {
  // Types by which kernels are found; bf16 and f16 compute as f32.
  auto simulator = makeSimulator(rankConfigs(1, 4096));
  for (unsigned o = 0; o < kNumVectorOps; ++o)
    for (unsigned t = 0; t < kNumDTypes; ++t) {
      VectorOp op = static_cast<VectorOp>(o);
      DType type = static_cast<DType>(t);
      std::string typeName(name(type));
      bool toBool = isCompare(op) || op == VectorOp::IsFinite;
      std::string text =
          absl::StrCat("vector op=", name(op), " dst=", toBool ? "i1" : typeName, ":L1[512]{4,1}");
      for (unsigned k = 0; k < operandCount(op); ++k)
        absl::StrAppend(&text, " ", std::string(1, static_cast<char>('a' + k)), "=",
                        op == VectorOp::Select && k == 0 ? "i1" : typeName, ":L1[", k * 64,
                        "]{4,1}");
      absl::StatusOr<ProgramId> id = simulator->load(coreProgram(text + " rows=2 cols=4", 1024));
      if (id.ok()) {
        EXPECT_TRUE(simulator->execute({{{*id, 0}}}).ok()) << text;
      }
    }
}

} // namespace
} // namespace st::dtu
