#include "backends/cuda/runtime/driver/AttentionGraph.h"

#include "backends/cuda/runtime/commands/CommandExtents.h"
#include "lib/Support/StatusMacros.h"

namespace st::cuda {

using Part = AttentionPart;

proto::CudaHeads denseOutput(const proto::CudaAttention &attention) {
  proto::CudaHeads dense;
  dense.set_row(attention.width());
  dense.set_head(attention.rows() * attention.width());
  dense.set_batch(attention.heads() * attention.rows() * attention.width());
  return dense;
}

int64_t AttentionGraph::countHeads(const proto::CudaHeads &heads) const {
  return attention.heads() / groupOf(heads);
}

AttentionGraph::Tensor AttentionGraph::addRows(Part part, const proto::CudaHeads &heads,
                                               int64_t rows, int64_t width) {
  return bind(part, graph.inMemory(type(), {attention.batch(), countHeads(heads), rows, width},
                                   {heads.batch(), heads.head(), heads.row(), 1}));
}

AttentionGraph::Tensor AttentionGraph::addColumns(Part part, const proto::CudaHeads &heads,
                                                  int64_t rows, int64_t width) {
  return bind(part, graph.inMemory(type(), {attention.batch(), countHeads(heads), width, rows},
                                   {heads.batch(), heads.head(), 1, heads.row()}));
}

AttentionGraph::Tensor AttentionGraph::addStatistic(Part part) {
  const int64_t heads = attention.heads(), rows = attention.rows();
  return bind(part, graph.inMemory(kCudnnF32, {attention.batch(), heads, rows, 1},
                                   {heads * rows, rows, 1, 1}));
}

/// Scores with their scale and bias.
AttentionGraph::Tensor AttentionGraph::addScores(Tensor q, Tensor scale) {
  const int64_t rows = attention.rows(), columns = attention.columns();
  const Tensor k = addColumns(Part::K, attention.k(), columns, attention.depth());
  Tensor scores = graph.multiply(q, k, kCudnnF32);
  if (scale)
    scores = graph.combine(kCudnnMul, scores, scale);
  if (!attention.has_bias())
    return scores;
  // A dimension along which the bias does not vary has size 1.
  const proto::CudaHeads &bias = attention.bias();
  const int64_t alongRows = bias.row() ? rows : 1, row = bias.row() ? bias.row() : columns;
  const int64_t alongHeads = bias.head() ? attention.heads() : 1,
                head = bias.head() ? bias.head() : row * alongRows;
  const int64_t alongBatch = bias.batch() ? attention.batch() : 1,
                batch = bias.batch() ? bias.batch() : head * alongHeads;
  const Tensor added =
      bind(Part::Bias, graph.inMemory(kCudnnF32, {alongBatch, alongHeads, alongRows, columns},
                                      {batch, head, row, 1}));
  return graph.combine(kCudnnAdd, scores, added);
}

AttentionGraph::Tensor AttentionGraph::addMask(Tensor scores) {
  if (!attention.causal())
    return scores;
  const Tensor row = graph.indexAlong(2, scores), column = graph.indexAlong(3, scores);
  const Tensor sees = graph.combine(kCudnnGreaterEqual, row, column, kCudnnBool);
  return graph.select(sees, scores, bind(Part::Low, graph.byValue()));
}

/// Always requests the logarithm of each row's sum: without it there may be no engine.
void AttentionGraph::buildForward() {
  const Tensor q = addRows(Part::Q, attention.q(), attention.rows(), attention.depth());
  const Tensor v = addRows(Part::V, attention.v(), attention.columns(), attention.width());
  const Tensor scale = isScaled() ? bind(Part::Scale, graph.byValue()) : 0;
  const Tensor scores = addMask(addScores(q, scale));
  // A gradient recomputes the statistics.
  auto keeps = [&](bool isNamed) { return attention.has_o() && isNamed; };
  const Tensor max = graph.reduce(kCudnnReduceMax, scores,
                                  keeps(attention.has_max()) ? addStatistic(Part::Max) : 0);
  const Tensor exps = graph.apply(kCudnnExp, graph.combine(kCudnnSub, scores, max));
  const Tensor sum =
      graph.reduce(kCudnnReduceAdd, exps, keeps(attention.has_sum()) ? addStatistic(Part::Sum) : 0);
  graph.combine(kCudnnAdd, max, graph.apply(kCudnnLog, sum), kCudnnF32, addStatistic(Part::LogSum));
  const proto::CudaHeads heads = attention.has_o() ? attention.o() : denseOutput(attention);
  const Tensor o = addRows(Part::O, heads, attention.rows(), attention.width());
  graph.multiply(graph.combine(kCudnnDiv, exps, sum, type()), v, type(), o);
}

void AttentionGraph::buildGradient() {
  const int64_t batch = attention.batch(), heads = attention.heads();
  const int64_t rows = attention.rows(), columns = attention.columns();
  const int64_t depth = attention.depth(), width = attention.width();
  const Tensor dO = addRows(Part::DO, attention.d_o(), rows, width);
  const Tensor o = addRows(Part::O, denseOutput(attention), rows, width);
  const Tensor q = addRows(Part::Q, attention.q(), rows, depth);
  const Tensor scale = isScaled() ? bind(Part::Scale, graph.byValue()) : 0;
  const Tensor rowSum = graph.reduce(kCudnnReduceAdd, graph.combine(kCudnnMul, dO, o));
  const Tensor kept = graph.combine(kCudnnMul, rowSum, bind(Part::One, graph.byValue()), kCudnnF32,
                                    addStatistic(Part::RowSum));
  // Probabilities, and dv from them.
  const Tensor shifted = graph.combine(kCudnnSub, addScores(q, scale), addStatistic(Part::LogSum));
  const Tensor probabilities = graph.apply(kCudnnExp, addMask(shifted));
  graph.multiply(graph.transpose(probabilities, type()), dO, type(),
                 addRows(Part::DV, attention.d_v(), columns, width));
  // The gradient of the scores, and dk and dq from it. Engines accumulate dq in f32 over many
  // blocks.
  const Tensor ofProbabilities =
      graph.multiply(dO, addColumns(Part::V, attention.v(), columns, width), kCudnnF32);
  Tensor ofScores =
      graph.combine(kCudnnMul, graph.combine(kCudnnSub, ofProbabilities, kept), probabilities);
  if (scale)
    ofScores = graph.combine(kCudnnMul, ofScores, scale);
  graph.multiply(graph.transpose(ofScores, type()), q, type(),
                 addRows(Part::DK, attention.d_k(), columns, depth));
  const Tensor dQSum =
      bind(Part::DQSum, graph.inMemory(kCudnnF32, {batch, heads, rows, depth},
                                       {heads * rows * depth, rows * depth, depth, 1}));
  graph.multiply(ofScores, addRows(Part::K, attention.k(), columns, depth), kCudnnF32, dQSum);
  graph.apply(kCudnnIdentity, dQSum, addRows(Part::DQ, attention.d_q(), rows, depth));
}

absl::Status AttentionGraph::plan(const CudnnTarget &target, int64_t maxWorkspace) {
  ST_ASSIGN_OR_RETURN(planned, graph.plan(target, maxWorkspace, workspace));
  return absl::OkStatus();
}

absl::Status AttentionGraph::run(Handle library, const AttentionParts &parts,
                                 const void *space) const {
  std::vector<int64_t> ids;
  std::vector<const void *> pointers;
  for (auto [part, tensor] : bound) {
    ids.push_back(tensor);
    pointers.push_back(parts[static_cast<size_t>(part)]);
  }
  CudnnDesc pack(cudnn, kCudnnVariantPack, "attention");
  pack.set(kCudnnPackIds, ids)
      .set(kCudnnPackPointers, kCudnnPointerType, static_cast<int64_t>(pointers.size()),
           pointers.data())
      .set(kCudnnPackWorkspace, kCudnnPointerType, 1, &space)
      .finalize();
  ST_RETURN_IF_ERROR(pack.status);
  return cudnn.check(cudnn.execute(library, planned->desc, pack.desc), "attention");
}

} // namespace st::cuda
