#include "backends/cuda/runtime/trial/KeptRows.h"

#include "lib/Support/Float16.h"

#include "gtest/gtest.h"

#include <cmath>
#include <vector>

namespace st::cuda {
namespace {

constexpr int64_t kBatch = 2, kHeads = 3, kRows = 5, kColumns = 11, kDepth = 4;

template <class T> absl::Span<uint8_t> bytesOf(std::vector<T> &numbers) {
  return {reinterpret_cast<uint8_t *>(numbers.data()), numbers.size() * sizeof(T)};
}

template <class T> std::vector<T> readAll(GpuDevice &device, Address address, int64_t count) {
  std::vector<T> numbers(static_cast<size_t>(count));
  EXPECT_TRUE(device.read(address, bytesOf(numbers)).ok());
  return numbers;
}

void setStrides(proto::CudaHeads &heads, int64_t batch, int64_t head, int64_t row) {
  heads.set_batch(batch);
  heads.set_head(head);
  heads.set_row(row);
}

/// Queries and keys side by side, as the result of one product; heads are contiguous.
struct Case {
  std::unique_ptr<GpuDevice> device = createHostDevice(proto::CudaCode()).value();
  proto::CudaAttention gradient;
  AttentionOperands operands;
  static constexpr int64_t kWide = 2 * kHeads * kDepth, kCount = kBatch * kColumns * kWide;

  Case(bool isCausal, bool hasBias) {
    gradient.set_batch(kBatch);
    gradient.set_heads(kHeads);
    gradient.set_rows(kRows);
    gradient.set_columns(kColumns);
    gradient.set_depth(kDepth);
    gradient.set_type(proto::BF16);
    gradient.set_scale(0.5);
    gradient.set_causal(isCausal);
    setStrides(*gradient.mutable_q(), kColumns * kWide, kDepth, kWide);
    setStrides(*gradient.mutable_k(), kColumns * kWide, kDepth, kWide);
    operands.q = device->allocate(kCount * 2).value();
    operands.k = operands.q + kHeads * kDepth * 2;
    std::vector<BFloat16> both;
    for (int64_t i = 0; i < kCount; ++i)
      both.push_back(static_cast<BFloat16>(static_cast<float>(std::sin(static_cast<double>(i)))));
    EXPECT_TRUE(device->write(operands.q, bytesOf(both)).ok());
    operands.max = device->allocate(kBatch * kHeads * kRows * 4).value();
    operands.sum = device->allocate(kBatch * kHeads * kRows * 4).value();
    if (!hasBias)
      return;
    setStrides(*gradient.mutable_bias(), kColumns, 0, 0); // The same for all heads and rows.
    operands.bias = device->allocate(kBatch * kColumns * 4).value();
    std::vector<float> bias;
    for (int64_t i = 0; i < kBatch * kColumns; ++i)
      bias.push_back(static_cast<float>(i % 7) / 3);
    EXPECT_TRUE(device->write(operands.bias, bytesOf(bias)).ok());
  }

  /// The expected values, computed from memory over all columns.
  void expectRows() {
    const std::vector<BFloat16> both = readAll<BFloat16>(*device, operands.q, kCount);
    std::vector<float> bias(kBatch * kColumns);
    if (operands.bias)
      bias = readAll<float>(*device, operands.bias, kBatch * kColumns);
    const auto maxima = readAll<float>(*device, operands.max, kBatch * kHeads * kRows);
    const auto sums = readAll<float>(*device, operands.sum, kBatch * kHeads * kRows);
    for (int64_t batch = 0; batch < kBatch; ++batch)
      for (int64_t head = 0; head < kHeads; ++head)
        for (int64_t row = 0; row < kRows; ++row) {
          std::vector<double> scores;
          for (int64_t column = 0; column < (gradient.causal() ? row + 1 : kColumns); ++column) {
            double score = 0;
            for (int64_t k = 0; k < kDepth; ++k) {
              auto at = [&](int64_t of, int64_t part) {
                return static_cast<double>(static_cast<float>(both[static_cast<size_t>(
                    ((batch * kColumns + of) * 2 + part) * kHeads * kDepth + head * kDepth + k)]));
              };
              score += at(row, 0) * at(column, 1);
            }
            scores.push_back(
                0.5 * score +
                static_cast<double>(bias[static_cast<size_t>(batch * kColumns + column)]));
          }
          const double max = *std::max_element(scores.begin(), scores.end());
          double sum = 0;
          for (double score : scores)
            sum += std::exp(score - max);
          const auto at = static_cast<size_t>((batch * kHeads + head) * kRows + row);
          EXPECT_NEAR(maxima[at], max, 1e-5);
          EXPECT_NEAR(sums[at], sum, 1e-5 * sum);
        }
  }
};

TEST(KeptRows, AreThoseOfAllColumns) {
  for (auto [isCausal, hasBias] : {std::pair(false, false), {true, false}, {false, true}}) {
    Case test(isCausal, hasBias);
    ASSERT_TRUE(writeKeptRows(test.gradient, test.operands, *test.device).ok());
    test.expectRows();
  }
}

TEST(KeptRows, LeaveQueriesAndFirstKeys) {
  Case test(false, false);
  const auto before = readAll<BFloat16>(*test.device, test.operands.q, Case::kCount);
  ASSERT_TRUE(writeKeptRows(test.gradient, test.operands, *test.device).ok());
  const auto after = readAll<BFloat16>(*test.device, test.operands.q, Case::kCount);
  for (int64_t i = 0; i < Case::kCount; ++i) {
    const int64_t row = i / Case::kWide % kColumns, isKey = i % Case::kWide / (kHeads * kDepth);
    const int64_t same = isKey ? i - (row - row % kKeyPeriod) * Case::kWide : i;
    EXPECT_EQ(static_cast<float>(after[static_cast<size_t>(i)]),
              static_cast<float>(before[static_cast<size_t>(same)]))
        << i;
  }
}

TEST(KeptRows, AreNotAskedFor) {
  Case test(false, false);
  test.operands.max = test.operands.sum = 0;
  const auto before = readAll<uint16_t>(*test.device, test.operands.q, Case::kCount);
  ASSERT_TRUE(writeKeptRows(test.gradient, test.operands, *test.device).ok());
  EXPECT_EQ(readAll<uint16_t>(*test.device, test.operands.q, Case::kCount), before);
}

} // namespace
} // namespace st::cuda
