#include "backends/cuda/runtime/trial/KeptRows.h"

#include "backends/cuda/runtime/commands/CommandExtents.h"
#include "lib/Support/Float16.h"
#include "lib/Support/StatusMacros.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace st::cuda {
namespace {

using Bytes = std::vector<uint8_t>;
using Classes = std::array<double, kKeyPeriod>; ///< one entry per class of equal columns

/// A copy of a GPU tensor of rows per head and batch.
class Rows {
public:
  Rows(const proto::CudaAttention &attention, const proto::CudaHeads &heads,
       proto::ElementType type, int64_t rows, int64_t width)
      : heads(heads), type(type),
        bytes(static_cast<size_t>(extentOf(attention, heads, rows, width) * widthOf(type))) {}

  absl::Status read(GpuDevice &device, Address address) {
    return device.read(address, absl::MakeSpan(bytes));
  }
  absl::Status write(GpuDevice &device, Address address) const {
    return device.write(address, bytes);
  }
  /// Returns the position of the first element of a row.
  int64_t at(int64_t batch, int64_t head, int64_t row) const {
    return batch * heads.batch() + head * heads.head() + row * heads.row();
  }
  double get(int64_t at) const {
    const void *memory = bytes.data();
    if (type == proto::F16)
      return static_cast<float>(static_cast<const Float16 *>(memory)[at]);
    if (type == proto::BF16)
      return static_cast<float>(static_cast<const BFloat16 *>(memory)[at]);
    return static_cast<const float *>(memory)[at];
  }
  void copy(int64_t from, int64_t to, int64_t count) {
    const auto width = static_cast<size_t>(widthOf(type));
    std::memmove(bytes.data() + static_cast<size_t>(to) * width,
                 bytes.data() + static_cast<size_t>(from) * width,
                 static_cast<size_t>(count) * width);
  }

private:
  const proto::CudaHeads &heads;
  proto::ElementType type;
  Bytes bytes;
};

template <class Visit> void forEachHead(const proto::CudaAttention &attention, Visit visit) {
  for (int64_t batch = 0; batch < attention.batch(); ++batch)
    for (int64_t head = 0; head < attention.heads(); ++head)
      visit(batch, head);
}

void repeatKeys(const proto::CudaAttention &attention, Rows &keys) {
  forEachHead(attention, [&](int64_t batch, int64_t head) {
    for (int64_t column = kKeyPeriod; column < attention.columns(); ++column)
      keys.copy(keys.at(batch, head, column % kKeyPeriod), keys.at(batch, head, column),
                attention.depth());
  });
}

void repeatBias(const proto::CudaAttention &attention, Rows &bias) {
  forEachHead(attention, [&](int64_t batch, int64_t head) {
    for (int64_t row = 0; row < attention.rows(); ++row)
      for (int64_t column = kKeyPeriod; column < attention.columns(); ++column) {
        const int64_t first = bias.at(batch, head, row);
        bias.copy(first + column % kKeyPeriod, first + column, 1);
      }
  });
}

/// Counts the columns of each class that a row sees.
Classes countColumns(const proto::CudaAttention &attention, int64_t row) {
  const int64_t seen =
      attention.causal() ? std::min(row + 1, attention.columns()) : attention.columns();
  Classes counts{};
  for (int64_t i = 0; i < kKeyPeriod; ++i)
    counts[static_cast<size_t>(i)] =
        static_cast<double>((std::max<int64_t>(seen - i, 0) + kKeyPeriod - 1) / kKeyPeriod);
  return counts;
}

struct Kept {
  float max, sum;
};

Kept keep(const Classes &scores, const Classes &counts) {
  double max = -std::numeric_limits<double>::infinity(), sum = 0;
  for (size_t i = 0; i < scores.size(); ++i)
    max = counts[i] > 0 ? std::max(max, scores[i]) : max;
  for (size_t i = 0; i < scores.size(); ++i)
    sum += counts[i] > 0 ? counts[i] * std::exp(scores[i] - max) : 0;
  return {static_cast<float>(max), static_cast<float>(sum)};
}

} // namespace

absl::Status writeKeptRows(const proto::CudaAttention &gradient, const AttentionOperands &operands,
                           GpuDevice &device) {
  if (!operands.max && !operands.sum)
    return absl::OkStatus();
  const int64_t rows = gradient.rows(), columns = gradient.columns(), depth = gradient.depth();
  Rows queries(gradient, gradient.q(), gradient.type(), rows, depth);
  Rows keys(gradient, gradient.k(), gradient.type(), columns, depth);
  Rows bias(gradient, gradient.bias(), proto::F32, gradient.has_bias() ? rows : 1,
            gradient.has_bias() ? columns : 1);
  // Keys and queries may be interleaved, so the keys are written before the queries are read.
  ST_RETURN_IF_ERROR(keys.read(device, operands.k));
  repeatKeys(gradient, keys);
  ST_RETURN_IF_ERROR(keys.write(device, operands.k));
  ST_RETURN_IF_ERROR(queries.read(device, operands.q));
  if (gradient.has_bias()) {
    ST_RETURN_IF_ERROR(bias.read(device, operands.bias));
    repeatBias(gradient, bias);
    ST_RETURN_IF_ERROR(bias.write(device, operands.bias));
  }
  std::vector<float> maxima, sums;
  forEachHead(gradient, [&](int64_t batch, int64_t head) {
    for (int64_t row = 0; row < rows; ++row) {
      Classes scores{};
      const int64_t query = queries.at(batch, head, row);
      for (int64_t i = 0; i < std::min(kKeyPeriod, columns); ++i) {
        double &score = scores[static_cast<size_t>(i)];
        const int64_t key = keys.at(batch, head, i);
        for (int64_t k = 0; k < depth; ++k)
          score += queries.get(query + k) * keys.get(key + k);
        score *= gradient.scale();
        score += gradient.has_bias() ? bias.get(bias.at(batch, head, row) + i) : 0;
      }
      const Kept kept = keep(scores, countColumns(gradient, row));
      maxima.push_back(kept.max);
      sums.push_back(kept.sum);
    }
  });
  auto write = [&](Address address, const std::vector<float> &numbers) {
    return device.write(address,
                        absl::MakeConstSpan(reinterpret_cast<const uint8_t *>(numbers.data()),
                                            numbers.size() * sizeof(float)));
  };
  if (operands.max)
    ST_RETURN_IF_ERROR(write(operands.max, maxima));
  return operands.sum ? write(operands.sum, sums) : absl::OkStatus();
}

} // namespace st::cuda
