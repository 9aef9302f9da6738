#include "backends/cuda/runtime/trial/KeptRows.h"

#include "lib/Support/Float16.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <cstring>
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

/// Gradients by all columns, with values, incoming gradients and results of their own places.
struct GradientCase : Case {
  static constexpr int64_t kWidth = 3;
  const int64_t rows, columns;

  GradientCase(bool isCausal, bool hasBias, int64_t rows, int64_t columns)
      : Case(isCausal, hasBias), rows(rows), columns(columns) {
    gradient.set_width(kWidth);
    gradient.set_rows(rows);
    gradient.set_columns(columns);
    operands.max = operands.sum = 0;
    place(*gradient.mutable_v(), columns, kWidth, &operands.v);
    place(*gradient.mutable_d_o(), rows, kWidth, &operands.dO);
    place(*gradient.mutable_d_q(), rows, kDepth, nullptr);
    place(*gradient.mutable_d_k(), columns, kDepth, nullptr);
    place(*gradient.mutable_d_v(), columns, kWidth, nullptr);
  }

  void place(proto::CudaHeads &heads, int64_t count, int64_t width, Address *operand) {
    setStrides(heads, kHeads * count * width, count * width, width);
    if (!operand)
      return;
    std::vector<BFloat16> numbers;
    for (int64_t i = 0; i < kBatch * kHeads * count * width; ++i)
      numbers.push_back(static_cast<BFloat16>(
          static_cast<float>(std::cos(static_cast<double>(3 * i + width + count)))));
    *operand = device->allocate(static_cast<int64_t>(numbers.size()) * 2).value();
    EXPECT_TRUE(device->write(*operand, bytesOf(numbers)).ok());
  }

  double at(const std::vector<BFloat16> &numbers, const proto::CudaHeads &heads, int64_t batch,
            int64_t head, int64_t row, int64_t column) const {
    return static_cast<double>(static_cast<float>(numbers[static_cast<size_t>(
        batch * heads.batch() + head * heads.head() + row * heads.row() + column)]));
  }

  void expectGradients(const std::vector<std::vector<uint8_t>> &found) {
    std::vector<BFloat16> both = readAll<BFloat16>(*device, operands.q, kCount);
    const std::vector<BFloat16> keys(both.begin() + kHeads * kDepth, both.end());
    const auto values = readAll<BFloat16>(*device, operands.v, kBatch * kHeads * columns * kWidth);
    const auto incoming = readAll<BFloat16>(*device, operands.dO, kBatch * kHeads * rows * kWidth);
    std::vector<float> bias(kBatch * kColumns);
    if (operands.bias)
      bias = readAll<float>(*device, operands.bias, kBatch * kColumns);
    std::vector<std::vector<BFloat16>> results(3);
    for (size_t i = 0; i < results.size(); ++i) {
      results[i].resize(found[i].size() / 2);
      std::memcpy(results[i].data(), found[i].data(), found[i].size());
    }
    for (int64_t batch = 0; batch < kBatch; ++batch)
      for (int64_t head = 0; head < kHeads; ++head) {
        auto wide = [](int64_t count, int64_t width) {
          return std::vector<double>(static_cast<size_t>(count * width));
        };
        std::vector<double> dQ = wide(rows, kDepth), dK = wide(columns, kDepth),
                            dV = wide(columns, kWidth);
        for (int64_t row = 0; row < rows; ++row) {
          const int64_t seen = gradient.causal() ? std::min(row + 1, columns) : columns;
          std::vector<double> p, ofP;
          double total = 0, mean = 0;
          for (int64_t column = 0; column < seen; ++column) {
            double score = 0, product = 0;
            for (int64_t k = 0; k < kDepth; ++k)
              score += at(both, gradient.q(), batch, head, row, k) *
                       at(keys, gradient.k(), batch, head, column, k);
            for (int64_t w = 0; w < kWidth; ++w)
              product += at(incoming, gradient.d_o(), batch, head, row, w) *
                         at(values, gradient.v(), batch, head, column, w);
            p.push_back(std::exp(
                0.5 * score +
                static_cast<double>(bias[static_cast<size_t>(batch * kColumns + column)])));
            ofP.push_back(product);
            total += p.back();
          }
          for (size_t i = 0; i < p.size(); ++i)
            mean += (p[i] /= total) * ofP[i];
          for (int64_t column = 0; column < seen; ++column) {
            const auto i = static_cast<size_t>(column);
            const double ofScore = 0.5 * p[i] * (ofP[i] - mean);
            for (int64_t k = 0; k < kDepth; ++k) {
              dQ[static_cast<size_t>(row * kDepth + k)] +=
                  ofScore * at(keys, gradient.k(), batch, head, column, k);
              dK[static_cast<size_t>(column * kDepth + k)] +=
                  ofScore * at(both, gradient.q(), batch, head, row, k);
            }
            for (int64_t w = 0; w < kWidth; ++w)
              dV[static_cast<size_t>(column * kWidth + w)] +=
                  p[i] * at(incoming, gradient.d_o(), batch, head, row, w);
          }
        }
        expectNear(results[0], gradient.d_q(), batch, head, dQ, kDepth);
        expectNear(results[1], gradient.d_k(), batch, head, dK, kDepth);
        expectNear(results[2], gradient.d_v(), batch, head, dV, kWidth);
      }
  }

  void expectNear(const std::vector<BFloat16> &found, const proto::CudaHeads &heads, int64_t batch,
                  int64_t head, const std::vector<double> &expected, int64_t width) const {
    for (size_t i = 0; i < expected.size(); ++i) {
      const auto row = static_cast<int64_t>(i) / width, column = static_cast<int64_t>(i) % width;
      EXPECT_NEAR(at(found, heads, batch, head, row, column), expected[i],
                  0x1p-8 * std::abs(expected[i]) + 1e-6);
    }
  }
};

TEST(KeptRows, GradientsAreThoseOfAllColumns) {
  for (auto [isCausal, hasBias] : {std::pair(false, false), {true, false}, {false, true}})
    for (auto [rows, columns] : {std::pair<int64_t, int64_t>(5, 11), {11, 11}, {11, 3}, {1, 5}}) {
      SCOPED_TRACE(testing::Message() << isCausal << hasBias << " " << rows << " x " << columns);
      GradientCase test(isCausal, hasBias, rows, columns);
      const auto found = computeGradients(test.gradient, test.operands, *test.device);
      ASSERT_TRUE(found.ok());
      test.expectGradients(*found);
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
