#include "backends/dtu/codegen/emission/HostCopies.h"
#include "backends/dtu/codegen/emission/CopyJob.h"

using namespace mlir;
using namespace mlir::dtu;

/// Bytes per instruction. The clusters of a chip share its link at this granularity, and the link's
/// latency is small compared to one chunk.
static constexpr int64_t kChunkBytes = int64_t(1) << 22;

/// Copies `elements` contiguous elements on one queue.
static void emitChunks(StreamBuilder &queue, const Placement &from, const Placement &to,
                       hw::DType type) {
  const int64_t width = hw::byteWidth(type), elements = from.bytes / width;
  const int64_t chunk = std::min(elements, kChunkBytes / width);
  Expr source = baseOf(queue, from), target = baseOf(queue, to);
  queue.loop(0, elements, chunk, [&](Expr start) {
    CopyShape shape;
    shape.add(queue.extent(chunk, start, elements, elements % chunk == 0), width, width);
    emitCopy(queue, addressIn(to, target + start * width), addressIn(from, source + start * width),
             shape, type, type);
  });
}

/// Each worker's queue copies a share.
static void emitShares(ProgramBuilder &builder, const Placement &from, const Placement &to,
                       hw::DType type) {
  CopyJob job;
  job.type = type;
  job.sizes = {from.bytes / hw::byteWidth(type)};
  job.src = job.dst = {hw::byteWidth(type)};
  (from.isOnHost ? job.srcSpace : job.dstSpace) = hw::Space::Host;
  StreamBuilder::Scope scope(builder.dte);
  Expr source = baseOf(builder.dte, from);
  job.emit(builder, baseOf(builder.dte, to), source);
}

void HostCopies::copy(const Placement &from, const Placement &to, hw::DType type,
                      ArrayRef<Access> accesses) {
  if (from.bytes == 0)
    return;
  if (!builder.hasHostQueue())
    return emitShares(builder, from, to, type);
  builder.leader([&] { builder.dte.signal(builder.hostSemaphore(HostSem::Go)); });
  builder.host.wait(builder.hostSemaphore(HostSem::Go));
  StreamBuilder::Scope scope(builder.host);
  emitChunks(builder.host, from, to, type);
  builder.host.signal(builder.hostSemaphore(HostSem::Done));
  pending.emplace_back().insert(accesses);
}

bool HostCopies::waitFor(ArrayRef<Access> accesses) {
  size_t count = pending.size();
  while (count > 0 && !pending[count - 1].clash(accesses))
    --count;
  waitFor(count);
  return count > 0;
}

void HostCopies::waitFor(size_t count) {
  if (count == 0)
    return;
  // The queue completes its copies in order, so the first signals belong to the first copies.
  builder.leader(
      [&] { builder.dte.wait(builder.hostSemaphore(HostSem::Done), static_cast<int64_t>(count)); });
  pending.erase(pending.begin(), pending.begin() + static_cast<ptrdiff_t>(count));
}
