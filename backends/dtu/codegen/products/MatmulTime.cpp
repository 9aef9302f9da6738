#include "backends/dtu/codegen/products/MatmulTime.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::dtu;

static int64_t ceilDiv(int64_t a, int64_t b) { return int64_t(llvm::divideCeil(a, b)); }

// ---- sizes ------------------------------------------------------------------------------------

int64_t mlir::dtu::panelBytes(const MatmulSizes &sizes, const MatmulTiling &t) {
  return ((t.sharesLhs() ? t.gridRows * t.rows : 0) +
          (t.sharesRhs() ? sizes.products * t.gridCols * t.cols : 0)) *
         t.chunk * t.depth * sizes.width;
}

/// Steps per tile of the result.
static int64_t stepsOf(const MatmulSizes &sizes, const MatmulTiling &t) {
  return ceilDiv(sizes.depth, t.depth) * sizes.outerDepth;
}

/// Result tiles that a worker computes in sequence.
static int64_t roundsOf(const MatmulSizes &sizes, const MatmulTiling &t, const Machine &machine) {
  if (t.isShared())
    return sizes.outer * ceilDiv(sizes.rows, t.gridRows * t.rows) *
           ceilDiv(sizes.cols, t.gridCols * t.cols);
  int64_t tiles = sizes.outer * ceilDiv(sizes.rows, t.rows) * ceilDiv(sizes.cols, t.cols);
  return ceilDiv(tiles, machine.workers);
}

static int64_t tilesOf(const MatmulSizes &sizes, const MatmulTiling &t, const Machine &machine) {
  if (t.isShared())
    return roundsOf(sizes, t, machine) * machine.workers;
  return sizes.outer * ceilDiv(sizes.rows, t.rows) * ceilDiv(sizes.cols, t.cols);
}

// ---- simulated time ---------------------------------------------------------------------------

namespace {
/// Copies that a queue runs in sequence while all workers run theirs.
struct Copies {
  double latencies = 0, transfers = 0; // nanoseconds in the queue
  int64_t l3Bytes = 0, l2Bytes = 0;

  /// Adds a copy of `bytes` that occupies L3 for `inL3` and L2 for `inL2` bytes.
  void add(int64_t bytes, int64_t inL3, int64_t inL2, const Machine &machine) {
    latencies += machine.dteLatency;
    transfers += double(bytes) / machine.dteRate;
    l3Bytes += inL3;
    l2Bytes += inL2;
  }
};

/// One worker; all others behave the same.
class Worker {
public:
  Worker(const MatmulSizes &sizes, const MatmulTiling &tiling, const Machine &machine,
         const MatmulEpilogue &epilogue);

  double run();

private:
  const MatmulTiling &tiling;
  const double sync;
  const int64_t rounds, steps, sharers;
  double product = 0, epilogue = 0;                  // of the core
  double stage = 0, load = 0, fetch = 0, store = 0;  // of the queue
  double queue = 0, core = 0, fetched = 0, done = 0; // completion times
  double empty[2] = {0, 0}, free[2] = {0, 0};        // when the buffers of steps and of results
                                                     // become available

  double timeOf(const Copies &copies, const Machine &machine) const;
  void makeTile(int64_t number);
};
} // namespace

Worker::Worker(const MatmulSizes &sizes, const MatmulTiling &t, const Machine &machine,
               const MatmulEpilogue &work)
    : tiling(t), sync(machine.syncTime), rounds(roundsOf(sizes, t, machine)),
      steps(stepsOf(sizes, t)), sharers(std::min(tilesOf(sizes, t, machine), machine.workers)) {
  const int64_t lhs = t.rows * t.depth * sizes.width, rhs = t.cols * t.depth * sizes.width;
  Copies loads, stages, fetches, stores;
  auto inL3 = [&](const MatmulSource &source, int64_t free, int64_t depth) {
    return machine.burstBytes(source.width, {{free, source.free}, {depth, source.depth}});
  };
  auto addOperand = [&](const MatmulSource &source, int64_t free, int64_t bytes, int64_t grid,
                        bool isShared) {
    loads.add(bytes, isShared ? 0 : inL3(source, free, t.depth), isShared ? bytes : 0, machine);
    if (!isShared)
      return;
    const int64_t staged = grid * bytes * t.chunk / machine.workers;
    stages.add(staged, inL3(source, grid * free, t.chunk * t.depth) / machine.workers, staged,
               machine);
  };
  addOperand(sizes.lhs, t.rows, lhs, t.gridRows, t.sharesLhs());
  for (int64_t index = 0; index < sizes.products; ++index)
    addOperand(sizes.rhs, t.cols, rhs, t.gridCols, t.sharesRhs());
  auto addMoved = [&](const MatmulEpilogue::Moved &value, Copies &copies) {
    const int64_t rows = value.hasRows ? t.rows : 1, cols = value.hasCols ? t.cols : 1;
    copies.add(rows * cols * value.bytes,
               machine.burstBytes(value.bytes, {{rows, value.rowStride}, {cols, value.colStride}}),
               0, machine);
  };
  for (const MatmulEpilogue::Moved &value : work.loads)
    addMoved(value, fetches);
  for (const MatmulEpilogue::Moved &value : work.stores)
    addMoved(value, stores);
  load = timeOf(loads, machine);
  stage = timeOf(stages, machine) + 2 * sync;
  fetch = timeOf(fetches, machine);
  store = timeOf(stores, machine);
  product = double(sizes.products) * machine.matmulTime(t.rows, t.cols, t.depth, sizes.width == 2);
  epilogue = double(work.ops) * machine.vectorTime(t.rows, t.cols, 4, /*transcendental=*/false) +
             double(work.transcendentals) * machine.vectorTime(t.rows, t.cols, 4, true);
}

/// Queues that synchronise at every chunk use a memory, and wait for latencies, at the same time;
/// others interleave.
double Worker::timeOf(const Copies &copies, const Machine &machine) const {
  double memories = double(sharers) * std::max(double(copies.l3Bytes) / machine.l3Rate,
                                               double(copies.l2Bytes) / machine.l2Rate);
  if (tiling.sharesAny())
    return copies.latencies + std::max(copies.transfers, memories);
  return std::max(copies.latencies + copies.transfers, memories);
}

void Worker::makeTile(int64_t number) {
  core = std::max(core, free[number % tiling.resultSlots]) + sync;
  for (int64_t step = 0; step < steps; ++step) {
    if (tiling.sharesAny() && step % tiling.chunk == 0)
      queue += stage;
    double &slot = empty[(number * steps + step) % 2];
    queue = std::max(queue, slot) + load + 2 * sync;
    slot = core = std::max(core, queue) + product + 2 * sync;
    if (step > 0)
      continue;
    if (number > 0) {
      queue = std::max(queue, done) + store + 2 * sync;
      free[(number - 1) % tiling.resultSlots] = queue;
    }
    fetched = queue += fetch;
  }
  done = core = std::max(core, fetched) + epilogue + sync;
}

double Worker::run() {
  // Later tiles take as long as the first ones.
  constexpr int64_t kFollowed = 4;
  double before = 0;
  for (int64_t number = 0; number < std::min(rounds, kFollowed); ++number) {
    before = done;
    makeTile(number);
  }
  double last = done + double(std::max<int64_t>(rounds - kFollowed, 0)) * (done - before);
  return last + store + sync;
}

double mlir::dtu::matmulTime(const MatmulSizes &sizes, const MatmulTiling &tiling,
                             const Machine &machine, const MatmulEpilogue &epilogue) {
  return Worker(sizes, tiling, machine, epilogue).run();
}

// ---- the host ---------------------------------------------------------------------------------

double mlir::dtu::matmulHostTime(const MatmulSizes &sizes, const MatmulTiling &t,
                                 const Machine &machine) {
  constexpr double perStep = 2500, bytesPerNanosecond = 8, flopsPerNanosecond = 90;
  const int64_t tiles = tilesOf(sizes, t, machine), perTile = stepsOf(sizes, t);
  const auto steps = double(tiles * perTile);
  double copied = steps * double((t.rows + sizes.products * t.cols) * t.depth * sizes.width) +
                  double(tiles * sizes.products * t.rows * t.cols * 4);
  if (t.sharesAny())
    copied += double(roundsOf(sizes, t, machine) * ceilDiv(perTile, t.chunk)) *
              double(panelBytes(sizes, t));
  // Small tiles keep the host's matrix routines below their peak rate.
  double macs = double(t.rows) * double(t.cols) * double(t.depth);
  double flops = 2 * macs * double(sizes.products) * steps * (1 + 60000.0 / macs);
  return steps * perStep + copied / bytesPerNanosecond + flops / flopsPerNanosecond;
}
