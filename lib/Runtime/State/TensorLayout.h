// Which part of a global tensor lies where.
#ifndef ST_RUNTIME_TENSORLAYOUT_H
#define ST_RUNTIME_TENSORLAYOUT_H

#include "absl/functional/function_ref.h"
#include "lib/Proto/executable.pb.h"
#include "lib/Support/ElementType.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace st {

/// The host's element type; empty for an unspecified one.
std::optional<ElementType> elementTypeOf(proto::ElementType type);

/// "f32[2,384]", for messages.
std::string describeType(ElementType type, const std::vector<int64_t> &shape);

/// A block of a global tensor, dense and row-major where it is held. It may reach beyond the ends
/// of the tensor: such elements are padding, of no meaning.
struct TensorBlock {
  ElementType type = ElementType::F32;
  std::vector<int64_t> globalShape;
  std::vector<int64_t> view; ///< the tensor in the dimensions that are cut: finer ones, or its own
  std::vector<int64_t> viewRanks; ///< how many of these each dimension of the tensor is
  std::vector<int64_t> shape;     ///< of the block in the view
  std::vector<int64_t> start;     ///< of the block in the view

  int64_t numElements() const;
  /// Elements that are not padding.
  int64_t numReal() const;
  int64_t numBytes() const { return numElements() * static_cast<int64_t>(byteWidth(type)); }
  bool isWhole() const { return shape == view; }
};

/// The block that a rank of the group holds. The slice must have passed
/// validateExecutable; one without counts cuts nothing.
TensorBlock blockOf(const proto::TensorType &global, const proto::Slice &slice, int64_t rank);

/// The block that a rank gets for one micro-batch: dimension `input.micro_dim`
/// is cut over micro-batches first, each micro-batch over the ranks.
TensorBlock blockOf(const proto::Input &input, int64_t microBatches, int64_t microBatch,
                    int64_t rank);

/// The same of an output: what a rank gives of one micro-batch. Those that are the same of all
/// micro-batches have one.
TensorBlock blockOf(const proto::Output &output, int64_t microBatches, int64_t microBatch,
                    int64_t rank);
int64_t countParts(const proto::Output &output, int64_t microBatches);

/// Calls `run` for each stretch of elements that is contiguous in the global
/// tensor and in the block, in the order of the block and without its padding.
void forEachRun(const TensorBlock &block,
                absl::FunctionRef<void(int64_t global, int64_t local, int64_t count)> run);

/// Like forEachRun over elements [begin, end) of the block.
void forEachRun(const TensorBlock &block, int64_t begin, int64_t end,
                absl::FunctionRef<void(int64_t global, int64_t local, int64_t count)> run);

/// Copies a block to its place in the global tensor, and from there.
void copyToGlobal(const TensorBlock &block, const uint8_t *local, uint8_t *global);
void copyToLocal(const TensorBlock &block, const uint8_t *global, uint8_t *local);

} // namespace st

#endif // ST_RUNTIME_TENSORLAYOUT_H
