//===- Measurements.h - Measurements of a Megatron log ----------*- C++ -*-===//

#ifndef ST_LIB_FRONTEND_MEGATRON_MEASUREMENTS_H
#define ST_LIB_FRONTEND_MEGATRON_MEASUREMENTS_H

#include "mlir/Support/LLVM.h"
#include <optional>
#include <string>
#include <vector>

namespace mlir::st {

/// `iteration 100/ 2000000 | consumed samples: 800 | elapsed time per iteration (ms): 179.1 | ...`
struct LoggedIteration {
  unsigned line = 0;
  int64_t iteration = 0;
  int64_t total = 0;
  std::optional<int64_t> consumedSamples, globalBatch;
  /// Milliseconds.
  std::optional<double> elapsed;
  std::optional<double> learningRate;
};

/// `time (ms) | forward-compute: 43.42 | ...`, or the lines after `(min, max) time across ranks
/// (ms):`, with the maximum.
struct LoggedTimers {
  unsigned line = 0;
  std::vector<std::pair<std::string, double>> timers;

  std::optional<double> find(StringRef name) const;
};

/// `(over 100 iterations = 800 samples)`
struct LoggedSamples {
  unsigned line = 0;
  int64_t iterations = 0, samples = 0;
};

/// `22.39 ms per sample`
struct LoggedSampleTime {
  unsigned line = 0;
  double milliseconds = 0.0;
};

/// `GPU mem: 4548MiB - 4876MiB / 40537MiB`, or `memory (MB) | ... | max reserved: 4876.0`, without
/// a capacity.
struct LoggedMemory {
  unsigned line = 0;
  double least = 0.0, most = 0.0;
  std::optional<double> capacity;
};

/// `using world size: 8, data-parallel-size: 8, tensor-model-parallel size: 1, ...`
struct LoggedLayout {
  unsigned line = 0;
  std::optional<int64_t> worldSize, dataParallel, tensorParallel, pipelineParallel;
};

/// `padded vocab (size: 50257) with 47 dummy tokens (new size: 50304)`
struct LoggedVocabulary {
  unsigned line = 0;
  int64_t size = 0, padded = 0;
};

/// `setting number of micro-batches to constant 2`
struct LoggedMicroBatches {
  unsigned line = 0;
  int64_t count = 0;
};

struct LogMeasurements {
  std::vector<LoggedIteration> iterations;
  std::vector<LoggedTimers> timers;
  std::vector<LoggedSamples> samples;
  std::vector<LoggedSampleTime> sampleTimes;
  std::vector<LoggedMemory> memory;
  std::optional<LoggedLayout> layout;
  std::optional<LoggedVocabulary> vocabulary;
  std::optional<LoggedMicroBatches> microBatches;

  /// Reads a line of a log, without a rank prefix. Unknown or damaged lines are ignored.
  void read(StringRef text, unsigned line);
  /// Drops the measurements of an earlier run in the same file, except the layout, which is printed
  /// before a dump.
  void restart();

private:
  bool readTimerLine(StringRef text);
  void readIteration(StringRef text, unsigned line);
  void readMemory(StringRef text, unsigned line);
  void readSetup(StringRef text, unsigned line);

  bool isInTimers = false;
};

} // namespace mlir::st

#endif // ST_LIB_FRONTEND_MEGATRON_MEASUREMENTS_H
