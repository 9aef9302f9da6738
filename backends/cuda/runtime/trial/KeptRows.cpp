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

float readElement(const std::vector<uint8_t> &bytes, proto::ElementType type, int64_t at) {
  const void *memory = bytes.data();
  if (type == proto::F16)
    return static_cast<float>(static_cast<const Float16 *>(memory)[at]);
  if (type == proto::BF16)
    return static_cast<float>(static_cast<const BFloat16 *>(memory)[at]);
  return static_cast<const float *>(memory)[at];
}

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
    return batch * heads.batch() + head / groupOf(heads) * heads.head() + row * heads.row();
  }
  double get(int64_t at) const { return readElement(bytes, type, at); }
  void set(int64_t at, double value) {
    void *memory = bytes.data();
    const auto number = static_cast<float>(value);
    if (type == proto::F16)
      static_cast<Float16 *>(memory)[at] = static_cast<Float16>(number);
    else if (type == proto::BF16)
      static_cast<BFloat16 *>(memory)[at] = static_cast<BFloat16>(number);
    else
      static_cast<float *>(memory)[at] = number;
  }
  Bytes take() { return std::move(bytes); }
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

/// Repeats the first `kKeyPeriod` keys or values.
void repeatKeys(const proto::CudaAttention &attention, Rows &keys, int64_t width) {
  forEachHead(attention, [&](int64_t batch, int64_t head) {
    for (int64_t column = kKeyPeriod; column < attention.columns(); ++column)
      keys.copy(keys.at(batch, head, column % kKeyPeriod), keys.at(batch, head, column), width);
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

/// Counts the columns of each class to which a row attends.
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

/// Inputs of the forward pass that a gradient reads, with repeated columns.
struct Inputs {
  Rows queries, keys, bias;

  explicit Inputs(const proto::CudaAttention &gradient)
      : queries(gradient, gradient.q(), gradient.type(), gradient.rows(), gradient.depth()),
        keys(gradient, gradient.k(), gradient.type(), gradient.columns(), gradient.depth()),
        bias(gradient, gradient.bias(), proto::F32, gradient.has_bias() ? gradient.rows() : 1,
             gradient.has_bias() ? gradient.columns() : 1) {}

  absl::Status read(const proto::CudaAttention &gradient, const AttentionOperands &operands,
                    GpuDevice &device) {
    // Keys and queries may be interleaved, so the keys are written before the queries are read.
    ST_RETURN_IF_ERROR(keys.read(device, operands.k));
    repeatKeys(gradient, keys, gradient.depth());
    ST_RETURN_IF_ERROR(keys.write(device, operands.k));
    ST_RETURN_IF_ERROR(queries.read(device, operands.q));
    if (!gradient.has_bias())
      return absl::OkStatus();
    ST_RETURN_IF_ERROR(bias.read(device, operands.bias));
    repeatBias(gradient, bias);
    return bias.write(device, operands.bias);
  }

  Classes scoresOf(const proto::CudaAttention &gradient, int64_t batch, int64_t head,
                   int64_t row) const {
    Classes scores{};
    const int64_t query = queries.at(batch, head, row);
    for (int64_t i = 0; i < std::min(kKeyPeriod, gradient.columns()); ++i) {
      double &score = scores[static_cast<size_t>(i)];
      const int64_t key = keys.at(batch, head, i);
      for (int64_t k = 0; k < gradient.depth(); ++k)
        score += queries.get(query + k) * keys.get(key + k);
      score *= gradient.scale();
      score += gradient.has_bias() ? bias.get(bias.at(batch, head, row) + i) : 0;
    }
    return scores;
  }
};

/// Gradients of one head. In a row, all columns of a class have the same probability and the same
/// gradient of the score.
class HeadGradient {
public:
  HeadGradient(const proto::CudaAttention &gradient, const Inputs &inputs, const Rows &values,
               const Rows &incoming)
      : gradient(gradient), inputs(inputs), values(values), incoming(incoming),
        classes(std::min(kKeyPeriod, gradient.columns())),
        ofKeys(static_cast<size_t>(kKeyPeriod * gradient.depth())),
        ofValues(static_cast<size_t>(kKeyPeriod * gradient.width())) {}

  void compute(int64_t batch, int64_t head, Rows &dQ, Rows &dK, Rows &dV) {
    std::fill(ofKeys.begin(), ofKeys.end(), 0);
    std::fill(ofValues.begin(), ofValues.end(), 0);
    // Under a causal mask only row j and later rows attend to column j.
    int64_t column = gradient.columns();
    for (int64_t row = gradient.rows(); row-- > 0;) {
      for (; gradient.causal() && column > row + 1; --column)
        store(batch, head, column - 1, dK, dV);
      addRow(batch, head, row, dQ);
    }
    for (; column > 0; --column)
      store(batch, head, column - 1, dK, dV);
  }

private:
  const proto::CudaAttention &gradient;
  const Inputs &inputs;
  const Rows &values, &incoming;
  const int64_t classes;
  std::vector<double> ofKeys, ofValues; ///< sums over rows, by class and element

  void addRow(int64_t batch, int64_t head, int64_t row, Rows &dQ) {
    const Classes counts = countColumns(gradient, row);
    Classes ofScore{}, p = inputs.scoresOf(gradient, batch, head, row);
    const Kept kept = keep(p, counts);
    const int64_t dO = incoming.at(batch, head, row), query = inputs.queries.at(batch, head, row),
                  dq = dQ.at(batch, head, row);
    double mean = 0;
    for (int64_t c = 0; c < classes; ++c) {
      const auto i = static_cast<size_t>(c);
      p[i] = counts[i] > 0 ? std::exp(p[i] - kept.max) / kept.sum : 0;
      for (int64_t w = 0; w < gradient.width(); ++w)
        ofScore[i] += incoming.get(dO + w) * values.get(values.at(batch, head, c) + w);
      mean += counts[i] * p[i] * ofScore[i];
    }
    for (int64_t c = 0; c < classes; ++c) {
      const auto i = static_cast<size_t>(c);
      ofScore[i] = p[i] * (ofScore[i] - mean) * gradient.scale();
      for (int64_t k = 0; k < gradient.depth(); ++k)
        ofKeys[static_cast<size_t>(c * gradient.depth() + k)] +=
            ofScore[i] * inputs.queries.get(query + k);
      for (int64_t w = 0; w < gradient.width(); ++w)
        ofValues[static_cast<size_t>(c * gradient.width() + w)] += p[i] * incoming.get(dO + w);
    }
    for (int64_t k = 0; k < gradient.depth(); ++k) {
      double sum = 0;
      for (int64_t c = 0; c < classes; ++c)
        sum += counts[static_cast<size_t>(c)] * ofScore[static_cast<size_t>(c)] *
               inputs.keys.get(inputs.keys.at(batch, head, c) + k);
      dQ.set(dq + k, sum);
    }
  }

  void store(int64_t batch, int64_t head, int64_t column, Rows &dK, Rows &dV) const {
    const int64_t c = column % kKeyPeriod, dk = dK.at(batch, head, column),
                  dv = dV.at(batch, head, column);
    for (int64_t k = 0; k < gradient.depth(); ++k)
      dK.set(dk + k, ofKeys[static_cast<size_t>(c * gradient.depth() + k)]);
    for (int64_t w = 0; w < gradient.width(); ++w)
      dV.set(dv + w, ofValues[static_cast<size_t>(c * gradient.width() + w)]);
  }
};

} // namespace

absl::Status writeKeptRows(const proto::CudaAttention &gradient, const AttentionOperands &operands,
                           GpuDevice &device) {
  if (!operands.max && !operands.sum)
    return absl::OkStatus();
  Inputs inputs(gradient);
  ST_RETURN_IF_ERROR(inputs.read(gradient, operands, device));
  std::vector<float> maxima, sums;
  forEachHead(gradient, [&](int64_t batch, int64_t head) {
    for (int64_t row = 0; row < gradient.rows(); ++row) {
      const Kept kept =
          keep(inputs.scoresOf(gradient, batch, head, row), countColumns(gradient, row));
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

absl::StatusOr<std::vector<std::vector<uint8_t>>>
computeGradients(const proto::CudaAttention &gradient, const AttentionOperands &operands,
                 GpuDevice &device) {
  Inputs inputs(gradient);
  const proto::ElementType type = gradient.type();
  const int64_t rows = gradient.rows(), columns = gradient.columns(), width = gradient.width();
  Rows values(gradient, gradient.v(), type, columns, width);
  Rows incoming(gradient, gradient.d_o(), type, rows, width);
  // The tensors may be interleaved, so each changed one is written before the next is read.
  ST_RETURN_IF_ERROR(values.read(device, operands.v));
  repeatKeys(gradient, values, width);
  ST_RETURN_IF_ERROR(values.write(device, operands.v));
  ST_RETURN_IF_ERROR(inputs.read(gradient, operands, device));
  ST_RETURN_IF_ERROR(incoming.read(device, operands.dO));
  Rows dQ(gradient, gradient.d_q(), type, rows, gradient.depth());
  Rows dK(gradient, gradient.d_k(), type, columns, gradient.depth());
  Rows dV(gradient, gradient.d_v(), type, columns, width);
  HeadGradient ofHead(gradient, inputs, values, incoming);
  forEachHead(gradient,
              [&](int64_t batch, int64_t head) { ofHead.compute(batch, head, dQ, dK, dV); });
  return std::vector<Bytes>{dQ.take(), dK.take(), dV.take()};
}

} // namespace st::cuda
