#include "backends/cuda/codegen/Geometry.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace mlir::cuda;
using llvm::divideCeil;

/// Enough warps for a scheduler to hide latencies behind, few enough for a block to start early.
static constexpr int64_t kThreads = 256;
static constexpr int64_t kWarp = 32;
/// A thread of a block of 512 may have 128 registers: a few values of so many elements fit.
static constexpr int64_t kMostSharers = 512, kResidentElements = 16;
/// Vectors of a row that a thread takes before the row gets more threads.
static constexpr int64_t kChunksAtOnce = 4;
static int64_t chooseWidth(const Work &work) {
  int64_t width = std::max<int64_t>(1, 16 / work.bytes);
  while (work.innermost % width != 0)
    width /= 2;
  return width;
}

static Geometry cutPoints(const Work &work) {
  Geometry geometry;
  geometry.width = chooseWidth(work);
  geometry.threads = kThreads;
  geometry.blocks = divideCeil(work.kept, geometry.width * kThreads);
  return geometry;
}

static Geometry cutRows(const Work &work) {
  Geometry geometry;
  geometry.width = chooseWidth(work);
  int64_t vectors = work.reduced / geometry.width;
  int64_t wanted = std::max<int64_t>(divideCeil(vectors, kChunksAtOnce), std::min(vectors, kWarp));
  geometry.sharers = std::min<int64_t>(llvm::PowerOf2Ceil(wanted), kMostSharers);
  geometry.chunks = divideCeil(vectors, geometry.sharers);
  geometry.isResident = geometry.chunks * geometry.width <= kResidentElements;
  geometry.threads = std::max(geometry.sharers, kThreads / 2);
  geometry.blocks = divideCeil(work.kept, geometry.threads / geometry.sharers);
  return geometry;
}

static Geometry cutColumns(const Work &work) {
  Geometry geometry;
  geometry.width = chooseWidth(work);
  // Rather many blocks than wide accesses.
  while (geometry.width > 1 && work.kept / geometry.width < kWarp * 16)
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
    return cutPoints(work);
  return work.reducesInnermost ? cutRows(work) : cutColumns(work);
}
