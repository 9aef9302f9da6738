// Maps parts of a global tensor to ranks.
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

/// Returns true if a tensor of a file has the elements that a program reads: the type and the shape
/// are the same, or the file has complex numbers for which the program reads pairs of reals, in one
/// more dimension.
bool holdsElements(ElementType type, const std::vector<int64_t> &shape, ElementType readType,
                   std::vector<int64_t> readShape);

/// A block of a global tensor, stored dense and row-major. It may extend beyond the tensor; the
/// elements there are padding with arbitrary values.
struct TensorBlock {
  ElementType type = ElementType::F32;
  std::vector<int64_t> globalShape;
  std::vector<int64_t> view;      ///< the tensor in the sharded dimensions, which may be finer
  std::vector<int64_t> viewRanks; ///< number of these per dimension of the tensor
  std::vector<int64_t> shape;     ///< of the block in the view
  std::vector<int64_t> start;     ///< of the block in the view

  int64_t numElements() const;
  /// Elements that are not padding.
  int64_t numReal() const;
  int64_t numBytes() const { return numElements() * static_cast<int64_t>(byteWidth(type)); }
};

/// The block that a rank of the group holds. The slice must have passed validateExecutable; without
/// counts the tensor is replicated.
TensorBlock blockOf(const proto::TensorType &global, const proto::Slice &slice, int64_t rank);

/// The block that a rank gets for one micro-batch: dimension `input.micro_dim` is split over
/// micro-batches first, and each micro-batch over the ranks.
TensorBlock blockOf(const proto::Input &input, int64_t microBatches, int64_t microBatch,
                    int64_t rank);

/// The same for an output: the block that a rank returns for one micro-batch. Outputs that are
/// equal for all micro-batches have one block.
TensorBlock blockOf(const proto::Output &output, int64_t microBatches, int64_t microBatch,
                    int64_t rank);
int64_t countParts(const proto::Output &output, int64_t microBatches);

/// Calls `run` for each range of elements that is contiguous in the global tensor and in the block,
/// in the order of the block and without its padding.
void forEachRun(const TensorBlock &block,
                absl::FunctionRef<void(int64_t global, int64_t local, int64_t count)> run);

/// Like forEachRun over elements [begin, end) of the block.
void forEachRun(const TensorBlock &block, int64_t begin, int64_t end,
                absl::FunctionRef<void(int64_t global, int64_t local, int64_t count)> run);

/// Like forEachRun, but only for elements whose index in the global tensor is in [begin, end).
void forEachRunWithin(const TensorBlock &block, int64_t begin, int64_t end,
                      absl::FunctionRef<void(int64_t global, int64_t local, int64_t count)> run);

/// Copy a block to its place in the global tensor, and back.
void copyToGlobal(const TensorBlock &block, const uint8_t *local, uint8_t *global);
void copyToLocal(const TensorBlock &block, const uint8_t *global, uint8_t *local);

} // namespace st

#endif // ST_RUNTIME_TENSORLAYOUT_H
