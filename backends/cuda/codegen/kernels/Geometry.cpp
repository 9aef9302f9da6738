#include "backends/cuda/codegen/kernels/Geometry.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace mlir;
using namespace mlir::cuda;
using llvm::divideCeil;
using mlir::st::GroupSet;

/// Enough threads to hide latencies, and few enough that blocks start early.
static constexpr int64_t kThreads = 256;
static constexpr int64_t kWarp = 32;
/// A thread of a block of 512 may have 128 registers, which fit a few values of 16 elements.
static constexpr int64_t kMaxSharers = 512, kResidentElements = 16;
/// Vectors per thread of a row before the row gets more threads.
static constexpr int64_t kChunksAtOnce = 4;

Work mlir::cuda::describeWork(const mlir::st::IterationSpace &space, GroupSet reduced,
                              bool isReduction, Block &body) {
  Work work;
  work.isReduction = isReduction;
  unsigned groups = space.getNumGroups();
  GroupSet all = (GroupSet(1) << groups) - 1;
  work.kept = space.getVolume(all & ~reduced);
  work.reduced = space.getVolume(reduced);
  work.innermost = groups == 0 ? 1 : space.getSize(groups - 1);
  // If only dimensions of size 1 are reduced, each element is a row.
  work.reducesInnermost = reduced == 0 || (reduced >> (groups - 1) & 1);
  if (work.isReduction && reduced == 0)
    work.innermost = 1;
  work.bytes = 1;
  auto see = [&](Type type) {
    unsigned bits = getElementTypeOrSelf(type).getIntOrFloatBitWidth();
    work.bytes = std::max<int64_t>(work.bytes, bits / 8);
  };
  for (BlockArgument argument : body.getArguments())
    see(argument.getType());
  for (Value result : body.getTerminator()->getOperands())
    see(result.getType());
  return work;
}

static int64_t chooseWidth(const Work &work) {
  int64_t width = std::max<int64_t>(1, 16 / work.bytes);
  while (work.innermost % width != 0)
    width /= 2;
  return width;
}

static Geometry splitElements(const Work &work) {
  Geometry geometry;
  geometry.width = chooseWidth(work);
  geometry.threads = kThreads;
  geometry.blocks = divideCeil(work.kept, geometry.width * kThreads);
  return geometry;
}

static Geometry splitRows(const Work &work) {
  Geometry geometry;
  geometry.width = chooseWidth(work);
  int64_t vectors = work.reduced / geometry.width;
  int64_t wanted = std::max<int64_t>(divideCeil(vectors, kChunksAtOnce), std::min(vectors, kWarp));
  geometry.sharers = std::min<int64_t>(llvm::PowerOf2Ceil(wanted), kMaxSharers);
  geometry.chunks = divideCeil(vectors, geometry.sharers);
  geometry.isResident = geometry.chunks * geometry.width <= kResidentElements;
  geometry.threads = std::max(geometry.sharers, kThreads / 2);
  geometry.blocks = divideCeil(work.kept, geometry.threads / geometry.sharers);
  return geometry;
}

static Geometry splitColumns(const Work &work) {
  Geometry geometry;
  geometry.width = chooseWidth(work);
  // Prefers more blocks to wider accesses; with 8 bytes a thread a warp still reads full lines.
  auto hasBlocks = [&](int64_t blocks) { return work.kept / geometry.width >= kWarp * blocks; };
  while (geometry.width > 1 &&
         (!hasBlocks(16) || (!hasBlocks(1024) && geometry.width * work.bytes > 8)))
    geometry.width /= 2;
  geometry.threads = kThreads;
  geometry.sharers = kThreads / kWarp;
  geometry.chunks = divideCeil(work.reduced, geometry.sharers);
  geometry.isResident = false;
  geometry.blocks = divideCeil(work.kept, geometry.width * kWarp);
  return geometry;
}

Geometry mlir::cuda::chooseGeometry(const Work &work) {
  if (!work.isReduction)
    return splitElements(work);
  return work.reducesInnermost ? splitRows(work) : splitColumns(work);
}
