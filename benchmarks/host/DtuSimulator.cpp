// Host speed of the DTU simulator's parts: tile products, vector ops, copies, the
// cost of an instruction, and events of simulated time.
//
//   build/bin/st-dtu-benchmarks [--benchmark_filter=...]
#include "backends/dtu/isa/Text.h"
#include "backends/dtu/simulator/Simulator.h"
#include "backends/dtu/simulator/data/CopyPlan.h"
#include "backends/dtu/simulator/data/HostMatmul.h"
#include "lib/Timing/DtuDescription.h"

#include "absl/strings/str_cat.h"

#include <benchmark/benchmark.h>

namespace st::dtu {
namespace {

std::vector<float> tile(int64_t count) {
  std::vector<float> values(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i)
    values[i] = static_cast<float>(i % 17) * 0.01f;
  return values;
}

void tileProduct(benchmark::State &state, bool transposeA, bool transposeB, DType type,
                 HostIsa isa) {
  int64_t m = state.range(0), n = state.range(1), k = state.range(2);
  if (isa == HostIsa::Auto)
    isa = fastestHostIsa();
  if (isa > widestHostIsa()) {
    state.SkipWithError("this host has no such instructions");
    return;
  }
  HostMatmul matmul(isa, hostKernels(isa));
  std::vector<float> a = tile(m * k), b = tile(k * n), c = tile(m * n);
  HostMatmul::Operand left{reinterpret_cast<uint8_t *>(a.data()), transposeA ? m : k, transposeA};
  HostMatmul::Operand right{reinterpret_cast<uint8_t *>(b.data()), transposeB ? k : n, transposeB};
  for (auto _ : state)
    matmul.run(c.data(), n, left, right, type, m, n, k, true);
  state.counters["FLOP/s"] = benchmark::Counter(2.0 * static_cast<double>(m * n * k),
                                                benchmark::Counter::kIsIterationInvariantRate);
}
/// Tiles as programs have them, and a whole product.
void tileSizes(benchmark::internal::Benchmark *products) {
  products->Args({128, 64, 256})->Args({48, 128, 256})->Args({384, 1024, 4096});
}
BENCHMARK_CAPTURE(tileProduct, f32, false, false, DType::F32, HostIsa::Auto)->Apply(tileSizes);
BENCHMARK_CAPTURE(tileProduct, f32TransposeA, true, false, DType::F32, HostIsa::Auto)
    ->Args({128, 64, 256});
BENCHMARK_CAPTURE(tileProduct, f32TransposeB, false, true, DType::F32, HostIsa::Auto)
    ->Args({128, 64, 256});
BENCHMARK_CAPTURE(tileProduct, f16, false, false, DType::F16, HostIsa::Auto)->Apply(tileSizes);
BENCHMARK_CAPTURE(tileProduct, bf16Avx512, false, false, DType::BF16, HostIsa::Avx512)
    ->Apply(tileSizes);
BENCHMARK_CAPTURE(tileProduct, bf16Avx512Bf16, false, false, DType::BF16, HostIsa::Avx512Bf16)
    ->Apply(tileSizes);
BENCHMARK_CAPTURE(tileProduct, bf16Amx, false, false, DType::BF16, HostIsa::Amx)->Apply(tileSizes);
BENCHMARK_CAPTURE(tileProduct, bf16AmxTransposeA, true, false, DType::BF16, HostIsa::Amx)
    ->Apply(tileSizes);
BENCHMARK_CAPTURE(tileProduct, bf16AmxTransposeB, false, true, DType::BF16, HostIsa::Amx)
    ->Apply(tileSizes);

void vectorOp(benchmark::State &state, VectorOp op, bool rowBroadcast) {
  constexpr int64_t rows = 32, cols = 256;
  std::vector<float> a = tile(rows * cols), b = tile(rows * cols), c = tile(rows * cols);
  TileKernel kernel = findVectorKernel(hostKernels(HostIsa::Auto), op, DType::F32);
  TileArgs args;
  args.dst = reinterpret_cast<uint8_t *>(c.data());
  args.src[0] = args.src[2] = reinterpret_cast<uint8_t *>(a.data());
  args.src[1] = reinterpret_cast<uint8_t *>(b.data());
  args.rows = rows;
  args.cols = cols;
  args.dstRow = args.srcRow[0] = args.srcRow[2] = cols * 4;
  args.srcRow[1] = rowBroadcast ? 4 : cols * 4;
  args.scalar[1] = rowBroadcast;
  for (auto _ : state)
    kernel(args);
  state.counters["elements/s"] =
      benchmark::Counter(rows * cols, benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK_CAPTURE(vectorOp, add, VectorOp::Add, false);
BENCHMARK_CAPTURE(vectorOp, subRowBroadcast, VectorOp::Sub, true);
BENCHMARK_CAPTURE(vectorOp, mulAdd, VectorOp::MulAdd, false);
BENCHMARK_CAPTURE(vectorOp, max, VectorOp::Max, false);
BENCHMARK_CAPTURE(vectorOp, div, VectorOp::Div, false);
BENCHMARK_CAPTURE(vectorOp, sqrt, VectorOp::Sqrt, false);
BENCHMARK_CAPTURE(vectorOp, compare, VectorOp::CmpLt, false);
BENCHMARK_CAPTURE(vectorOp, exp, VectorOp::Exp, false);
BENCHMARK_CAPTURE(vectorOp, tanh, VectorOp::Tanh, false);
BENCHMARK_CAPTURE(vectorOp, erf, VectorOp::Erf, false);
BENCHMARK_CAPTURE(vectorOp, log, VectorOp::Log, false);
BENCHMARK_CAPTURE(vectorOp, rowSum, VectorOp::RowSum, false);
BENCHMARK_CAPTURE(vectorOp, rowMax, VectorOp::RowMax, false);
BENCHMARK_CAPTURE(vectorOp, colSum, VectorOp::ColSum, false);

void integerOp(benchmark::State &state, VectorOp op) {
  constexpr int64_t count = 8192;
  std::vector<uint32_t> a(count, 123456789), b(count, 13), c(count);
  TileKernel kernel = findVectorKernel(hostKernels(HostIsa::Auto), op, DType::U32);
  TileArgs args;
  args.dst = reinterpret_cast<uint8_t *>(c.data());
  args.src[0] = reinterpret_cast<uint8_t *>(a.data());
  args.src[1] = reinterpret_cast<uint8_t *>(b.data());
  args.rows = 1;
  args.cols = count;
  for (auto _ : state)
    kernel(args);
  state.counters["elements/s"] =
      benchmark::Counter(count, benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK_CAPTURE(integerOp, add, VectorOp::Add);
BENCHMARK_CAPTURE(integerOp, rotateLeft, VectorOp::RotateLeft);
BENCHMARK_CAPTURE(integerOp, shiftRight, VectorOp::ShrLogical);

/// Copies of a 128 x 256 tile out of rows of 4096 bytes.
void stridedCopy(benchmark::State &state, int64_t dstRow, int64_t dstCol) {
  constexpr int64_t rows = 128, cols = 256;
  std::vector<float> src = tile(rows * 1024), dst = tile(rows * cols);
  int64_t sizes[] = {rows, cols}, from[] = {4096, 4}, to[] = {dstRow, dstCol};
  CopyPlan plan = planCopy(2, sizes, to, from, 4, 4);
  TransposeKernel transpose = findTransposeKernel(hostKernels(HostIsa::Auto), 4);
  for (auto _ : state)
    runCopy(plan, reinterpret_cast<uint8_t *>(dst.data()),
            reinterpret_cast<const uint8_t *>(src.data()), transpose);
  state.SetBytesProcessed(state.iterations() * rows * cols * 4);
}
BENCHMARK_CAPTURE(stridedCopy, rows, 1024, 4);
BENCHMARK_CAPTURE(stridedCopy, transposed, 4, 512);

/// A program of small instructions on eight cores and dte queues of `ranks` clusters.
std::string smallInstructions() {
  return R"(program "small" semaphores=32 barriers=0 l1=4096 l2=0 l3=65536 table=0 {
  stream dte first=0 count=8 {
    loop reg=r4 limit=10000
      copy dst=L1[64*r1;1*r1]{4} src=L3[256*r1]{4} sizes=[16]
      signal sem=1*r1
      wait sem=8+1*r1
    end
  }
  stream core first=0 count=8 {
    loop reg=r4 limit=10000
      wait sem=1*r1
      vector op=add dst=f32:L1[0]{16,1} a=f32:L1[0]{16,1} b=f32:L1[64]{16,1} rows=1 cols=16
      signal sem=8+1*r1
    end
  }
})";
}

std::unique_ptr<Simulator> smallSimulator(int64_t ranks, std::vector<RankSchedule> &schedules) {
  std::vector<RankConfig> configs;
  for (int64_t i = 0; i < ranks; ++i) {
    RankConfig config;
    config.deviceId = i / 4 * 5 + i % 4;
    config.arenaBytes = 65536;
    configs.push_back(config);
  }
  auto simulator = Simulator::create(*builtinDtuDescription("dtu-t10"), configs);
  ProgramId id = *(*simulator)->load(*parseProgram(smallInstructions()));
  schedules.assign(static_cast<size_t>(ranks), {{id, 0}});
  return std::move(*simulator);
}

// 16 instances of 10000 rounds of 4 instructions.
constexpr double kInstructions = 16 * 10000 * 4;

void instructionOnData(benchmark::State &state) {
  std::vector<RankSchedule> schedules;
  std::unique_ptr<Simulator> simulator = smallSimulator(1, schedules);
  for (auto _ : state)
    if (!simulator->execute(schedules).ok())
      state.SkipWithError("failed");
  state.counters["instructions/s"] =
      benchmark::Counter(kInstructions, benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(instructionOnData)->Unit(benchmark::kMillisecond);

void instructionInTime(benchmark::State &state) {
  std::vector<RankSchedule> schedules;
  int64_t ranks = state.range(0);
  std::unique_ptr<Simulator> simulator = smallSimulator(ranks, schedules);
  for (auto _ : state)
    if (!simulator->time(schedules).ok())
      state.SkipWithError("failed");
  state.counters["instructions/s"] = benchmark::Counter(
      kInstructions * static_cast<double>(ranks), benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(instructionInTime)->Arg(1)->Arg(8)->Unit(benchmark::kMillisecond);

} // namespace
} // namespace st::dtu

BENCHMARK_MAIN();
