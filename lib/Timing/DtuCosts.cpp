#include "lib/Timing/DtuCosts.h"

#include <algorithm>
#include <cmath>

namespace st {
namespace {

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

Picoseconds nanoseconds(double value) { return std::llround(value * 1000); }

/// Picoseconds a byte at a rate of 1e9 bytes a second.
double perByte(const proto::Figure &gigabytesPerSecond) {
  return 1000.0 / gigabytesPerSecond.value();
}

} // namespace

DtuCosts::DtuCosts(const proto::DtuDescription &description) {
  cycle = 1000.0 / description.clock_ghz().value();
  dteLatency = nanoseconds(description.dte_latency_ns().value());
  sync = nanoseconds(description.sync_ns().value());
  taskLaunch = nanoseconds(description.task_launch_ns().value());
  l1PerByte = perByte(description.l1_gbytes_per_second());
  l2PerByte = perByte(description.l2_gbytes_per_second());
  l3PerByte = perByte(description.l3_gbytes_per_second());
  dtePerByte = perByte(description.dte_gbytes_per_second());
  if (description.has_host_gbytes_per_second()) {
    hostLatency = nanoseconds(description.host_latency_ns().value());
    hostPerByte = perByte(description.host_gbytes_per_second());
  }
  matrixStart = description.matrix_start_cycles().value();
  vectorStart = description.vector_start_cycles().value();
  transcendentalCycles = description.transcendental_cycles().value();
  vectorBytes =
      Divisor(std::max<int64_t>(1, std::llround(description.vector_bytes_per_cycle().value())));
  vectorElements[0] = 1;
  for (size_t bytes = 1; bytes < vectorElements.size(); ++bytes)
    vectorElements[bytes] = std::max<int64_t>(1, vectorBytes.value() / static_cast<int64_t>(bytes));
  burst = static_cast<int64_t>(description.l3_burst_bytes().value());
  bankedBytes = Divisor(4 * static_cast<int64_t>(description.l1_banks().value()));

  // The array has the largest power of two of rows that is at most 16 and at most the square root
  // of the multipliers; columns follow. 16-bit types process several steps of k per cycle.
  double macs32 = description.fp32_macs_per_core_cycle().value();
  double macs16 = description.bf16_macs_per_core_cycle().value();
  arrayRows = 1;
  while (arrayRows < 16 && 4 * arrayRows * arrayRows <= macs32)
    arrayRows *= 2;
  arrayCols = std::max<int64_t>(1, std::llround(macs32 / static_cast<double>(arrayRows)));
  stepsPerCycle16 = std::max<int64_t>(1, std::llround(macs16 / macs32));
}

Picoseconds DtuCosts::matmul(int64_t m, int64_t n, int64_t k, bool is16Bit) const {
  if (m <= 0 || n <= 0)
    return 0;
  int64_t steps = is16Bit ? stepsPerCycle16 : stepsPerCycle32;
  double cycles = static_cast<double>(ceilDiv(m, arrayRows) * ceilDiv(n, arrayCols)) *
                  static_cast<double>(ceilDiv(k, steps));
  return roundUp((matrixStart + cycles) * cycle);
}

int64_t DtuCosts::elementsInVector(int64_t elementBytes) const {
  const auto known = static_cast<size_t>(elementBytes);
  return known < vectorElements.size() ? vectorElements[known]
                                       : std::max<int64_t>(1, vectorBytes.value() / elementBytes);
}

/// For vectors along lines of `length` elements.
double DtuCosts::vectorCycles(int64_t lines, int64_t length, int64_t elementBytes, double perVector,
                              int64_t step) const {
  const int64_t vectors = lines * vectorBytes.partsOf(length * elementBytes);
  const int64_t elements = std::min(length, elementsInVector(elementBytes));
  const int64_t inOneBank =
      std::max<int64_t>(1, bankedBytes.partsOf(elements * std::min(step, bankedBytes.value())));
  return static_cast<double>(vectors) * std::max(perVector, static_cast<double>(inOneBank));
}

Picoseconds DtuCosts::vector(int64_t rows, int64_t cols, int64_t elementBytes, bool transcendental,
                             const BankSteps &steps) const {
  if (rows <= 0 || cols <= 0)
    return 0;
  const double perVector = transcendental ? transcendentalCycles : 1;
  const double cycles =
      std::min(vectorCycles(rows, cols, elementBytes, perVector, steps.alongCols),
               vectorCycles(cols, rows, elementBytes, perVector, steps.alongRows));
  return roundUp((vectorStart + cycles) * cycle);
}

int64_t DtuCosts::burstBytes(int64_t elementBytes, absl::Span<const AccessDim> dims) const {
  // Far beyond any memory, so that no product overflows.
  constexpr int64_t kMax = int64_t(1) << 50;
  auto product = [&](int64_t a, int64_t b) {
    int64_t result;
    return __builtin_mul_overflow(a, b, &result) ? kMax : std::min(result, kMax);
  };
  auto roundToBursts = [&](int64_t bytes) { return (bytes + burst - 1) & -burst; };
  int64_t span = elementBytes, occupied = roundToBursts(elementBytes);
  for (const AccessDim &dim : dims) {
    if (dim.size <= 0)
      return 0;
    span = std::min(span + product(dim.size - 1, std::abs(dim.stride)), kMax);
    occupied = std::min(product(dim.size, occupied), roundToBursts(span));
  }
  return occupied;
}

} // namespace st
