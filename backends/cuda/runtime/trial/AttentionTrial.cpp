#include "backends/cuda/runtime/trial/AttentionTrial.h"

#include "backends/cuda/runtime/commands/CommandExtents.h"
#include "backends/cuda/runtime/trial/KeptRows.h"
#include "lib/Support/Float16.h"
#include "lib/Support/StatusMacros.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include <cmath>
#include <vector>

namespace st::cuda {
namespace {

/// A NaN as f16, bf16 and f32.
constexpr uint8_t kUnwritten = 0xff;

struct Result {
  const char *name;
  Address address;
  proto::CudaHeads heads;
  int64_t rows, width;
  proto::ElementType type;
};

std::vector<Result> resultsOf(const proto::CudaAttention &attention,
                              const AttentionOperands &operands) {
  const int64_t rows = attention.rows(), columns = attention.columns();
  const int64_t depth = attention.depth(), width = attention.width();
  proto::CudaHeads statistics; // one number per row of each head
  statistics.set_row(1);
  statistics.set_head(rows);
  statistics.set_batch(attention.heads() * rows);
  std::vector<Result> results;
  auto add = [&](const char *name, Address address, const proto::CudaHeads &heads, int64_t rows,
                 int64_t width, proto::ElementType type) {
    if (address)
      results.push_back({name, address, heads, rows, width, type});
  };
  const proto::ElementType half = attention.type();
  add("o", operands.o, attention.o(), rows, width, half);
  if (attention.has_o()) { // The gradient reads these.
    add("maxima", operands.max, statistics, rows, 1, proto::F32);
    add("sums", operands.sum, statistics, rows, 1, proto::F32);
  }
  add("dq", operands.dQ, attention.d_q(), rows, depth, half);
  add("dk", operands.dK, attention.d_k(), columns, depth, half);
  add("dv", operands.dV, attention.d_v(), columns, width, half);
  return results;
}

int64_t bytesOf(const proto::CudaAttention &attention, const Result &result) {
  return extentOf(attention, result.heads, result.rows, result.width) * widthOf(result.type);
}

/// Returns the relative difference in root mean square; NaN if a result has a NaN.
double distanceOf(const proto::CudaAttention &attention, const Result &result,
                  const std::vector<uint8_t> &expected, const std::vector<uint8_t> &found) {
  double apart = 0, all = 0;
  for (int64_t batch = 0; batch < attention.batch(); ++batch)
    for (int64_t head = 0; head < attention.heads(); ++head)
      for (int64_t row = 0; row < result.rows; ++row)
        for (int64_t column = 0; column < result.width; ++column) {
          const int64_t at = batch * result.heads.batch() + head * result.heads.head() +
                             row * result.heads.row() + column;
          const double wanted = readElement(expected, result.type, at);
          const double other = readElement(found, result.type, at);
          apart += (other - wanted) * (other - wanted);
          all += wanted * wanted;
        }
  return apart == 0 ? 0 : std::sqrt(apart / all);
}

absl::StatusOr<std::vector<std::vector<uint8_t>>> readAll(const proto::CudaAttention &attention,
                                                          const std::vector<Result> &results,
                                                          GpuDevice &device) {
  std::vector<std::vector<uint8_t>> all;
  for (const Result &result : results) {
    std::vector<uint8_t> &bytes = all.emplace_back(static_cast<size_t>(bytesOf(attention, result)));
    ST_RETURN_IF_ERROR(device.read(result.address, absl::MakeSpan(bytes)));
  }
  return all;
}

/// Returns true for a gradient whose kernels read row values that a trial cannot compute.
bool isComparedWithHost(const proto::CudaAttention &attention, const AttentionOperands &operands) {
  return !attention.has_o() && !operands.max && !operands.sum;
}

absl::StatusOr<std::vector<std::vector<uint8_t>>>
makeExpected(const proto::CudaAttention &attention, const AttentionOperands &operands,
             GpuTrial &trial, GpuDevice &device, GpuStream &stream) {
  if (isComparedWithHost(attention, operands))
    return computeGradients(attention, operands, device);
  // The gradient kernels read the row maxima and sums of the forward pass. Random numbers are not
  // valid maxima and sums.
  if (!attention.has_o())
    ST_RETURN_IF_ERROR(writeKeptRows(attention, operands, device));
  ST_RETURN_IF_ERROR(trial.runBody());
  ST_RETURN_IF_ERROR(stream.wait());
  return readAll(attention, resultsOf(attention, operands), device);
}

} // namespace

absl::Status tryAttention(const DriverAttention &plan, const proto::CudaAttention &attention,
                          GpuTrial &trial, GpuDevice &device, GpuStream &stream,
                          Address workspace) {
  const absl::StatusOr<AttentionOperands> operands = trial.attentionOperands();
  if (!operands.ok())
    return absl::OkStatus();
  const std::vector<Result> results = resultsOf(attention, *operands);
  ST_ASSIGN_OR_RETURN(const auto expected,
                      makeExpected(attention, *operands, trial, device, stream));
  for (const Result &result : results) {
    const std::vector<uint8_t> unwritten(static_cast<size_t>(bytesOf(attention, result)),
                                         kUnwritten);
    ST_RETURN_IF_ERROR(device.write(result.address, unwritten));
  }
  ST_RETURN_IF_ERROR(plan.run(*operands, workspace, stream));
  ST_RETURN_IF_ERROR(stream.wait());
  ST_ASSIGN_OR_RETURN(const auto found, readAll(attention, results, device));
  for (size_t i = 0; i < results.size(); ++i) {
    const double distance = distanceOf(attention, results[i], expected[i], found[i]);
    if (!(distance <= kAttentionTolerance))
      return absl::FailedPreconditionError(absl::StrFormat(
          "in a trial cuDNN's %s differ from those of %s by %.2g of their root mean square, "
          "expected at most %.2g",
          results[i].name,
          isComparedWithHost(attention, *operands) ? "the host" : "generated kernels", distance,
          kAttentionTolerance));
  }
  return absl::OkStatus();
}

} // namespace st::cuda
