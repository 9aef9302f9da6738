#include "backends/cuda/runtime/commands/CommandExtents.h"

#include <algorithm>

namespace st::cuda {

int64_t widthOf(proto::ElementType type) {
  return type == proto::F64 ? 8 : type == proto::F32 ? 4 : 2;
}

int64_t groupOf(const proto::CudaHeads &heads) { return std::max<int64_t>(heads.group(), 1); }

int64_t extentOf(const proto::CudaAttention &attention, const proto::CudaHeads &heads, int64_t rows,
                 int64_t width) {
  return (attention.batch() - 1) * heads.batch() +
         (attention.heads() / groupOf(heads) - 1) * heads.head() + (rows - 1) * heads.row() + width;
}

static int64_t bytesOf(const proto::CudaMatrix &matrix, const proto::CudaProduct &product,
                       int64_t rows, int64_t columns, int64_t width) {
  int64_t last = (rows - 1) * matrix.row() + (columns - 1) * matrix.column();
  for (int dim = 0; dim < product.batch_size(); ++dim)
    last += (product.batch(dim) - 1) * matrix.batch(dim);
  return (last + 1) * width;
}

void visitPlaces(const proto::CudaProduct &product, absl::Span<const proto::CudaKernel> kernels,
                 const VisitPlace &visit) {
  const int64_t m = product.m(), n = product.n(), k = product.k();
  const int64_t width = widthOf(product.type()), dWidth = widthOf(product.d_type());
  visit(product.a(), bytesOf(product.a_matrix(), product, m, k, width));
  visit(product.b(), bytesOf(product.b_matrix(), product, k, n, width));
  const int64_t dBytes = bytesOf(product.d_matrix(), product, m, n, dWidth);
  visit(product.d(), dBytes);
  if (product.has_addend())
    visit(product.addend(), dBytes);
  if (product.has_bias())
    visit(product.bias(), n * dWidth);
  if (product.has_aux())
    visit(product.aux(), dBytes);
  if (product.has_sums())
    visit(product.sums(), (product.sums_of_a() ? m : n) * dWidth);
  for (const proto::CudaCommand &each : product.body())
    visitPlaces(each, kernels, visit);
}

void visitPlaces(const proto::CudaAttention &attention, absl::Span<const proto::CudaKernel> kernels,
                 const VisitPlace &visit) {
  const int64_t rows = attention.rows(), columns = attention.columns();
  const int64_t depth = attention.depth(), width = attention.width();
  auto visitHeads = [&](bool isThere, const proto::CudaHeads &heads, int64_t rows, int64_t width,
                        int64_t bytes) {
    if (isThere)
      visit(heads.place(), extentOf(attention, heads, rows, width) * bytes);
  };
  const int64_t half = widthOf(attention.type()), full = widthOf(proto::F32);
  visitHeads(true, attention.q(), rows, depth, half);
  visitHeads(true, attention.k(), columns, depth, half);
  visitHeads(true, attention.v(), columns, width, half);
  visitHeads(attention.has_o(), attention.o(), rows, width, half);
  visitHeads(attention.has_d_o(), attention.d_o(), rows, width, half);
  visitHeads(attention.has_d_q(), attention.d_q(), rows, depth, half);
  visitHeads(attention.has_d_k(), attention.d_k(), columns, depth, half);
  visitHeads(attention.has_d_v(), attention.d_v(), columns, width, half);
  visitHeads(attention.has_bias(), attention.bias(), rows, columns, full);
  const int64_t statistics = attention.batch() * attention.heads() * rows * full;
  if (attention.has_max())
    visit(attention.max(), statistics);
  if (attention.has_sum())
    visit(attention.sum(), statistics);
  for (const proto::CudaCommand &each : attention.body())
    visitPlaces(each, kernels, visit);
}

void visitPlaces(const proto::CudaCommand &command, absl::Span<const proto::CudaKernel> kernels,
                 const VisitPlace &visit) {
  if (command.has_product())
    return visitPlaces(command.product(), kernels, visit);
  if (command.has_attention())
    return visitPlaces(command.attention(), kernels, visit);
  if (command.has_launch()) {
    const proto::CudaKernel &kernel = kernels[static_cast<size_t>(command.launch().kernel())];
    for (int i = 0; i < command.launch().arguments_size(); ++i)
      visit(command.launch().arguments(i), kernel.argument_bytes(i));
  }
  if (command.has_copy()) {
    const proto::CudaCopy &copy = command.copy();
    visit(copy.from(), (copy.rows() - 1) * copy.from_pitch() + copy.row_bytes());
    visit(copy.to(), (copy.rows() - 1) * copy.to_pitch() + copy.row_bytes());
  }
}

} // namespace st::cuda
