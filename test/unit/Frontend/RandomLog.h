// Random Megatron logs that are consistent, or that contradict themselves in one way.
#ifndef ST_TEST_UNIT_FRONTEND_RANDOMLOG_H
#define ST_TEST_UNIT_FRONTEND_RANDOMLOG_H

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

/// Draws the same numbers with every standard library.
class Draws {
public:
  explicit Draws(uint64_t seed) : engine(seed) {}

  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(engine() % static_cast<uint64_t>(high - low + 1));
  }
  bool oneIn(int64_t count) { return between(1, count) == 1; }
  double real(double low, double high) {
    return low + (high - low) * static_cast<double>(between(0, 1000000)) / 1e6;
  }
  template <typename T> const T &oneOf(const std::vector<T> &values) {
    return values[static_cast<size_t>(between(0, static_cast<int64_t>(values.size()) - 1))];
  }

private:
  std::mt19937_64 engine;
};

/// The random sizes of a run, from which its arguments follow.
struct RandomSizes {
  bool isBert = true;
  int64_t tensor = 1, pipeline = 1, parts = 1, replicas = 1;
  int64_t layersPerPart = 1, heads = 16, headSize = 64;
  int64_t microBatch = 1, accumulation = 1;
  bool recomputes = true, hasCommandLine = true, hasIterations = true, usesSamples = false;
  bool hasSampleTime = true, hasLayoutLine = true;

  int64_t world() const { return tensor * pipeline * replicas; }
  int64_t batch() const { return microBatch * accumulation * replicas; }
};

/// A log before it is printed.
struct RandomLog {
  RandomSizes sizes;
  /// The arguments as in a dump.
  std::map<std::string, std::string> arguments;
  /// Differences of the command line from the dump.
  std::map<std::string, std::string> commandChanges;
  std::string script;
  int64_t startedProcesses = 0;

  /// "using world size: ..."; empty if not printed.
  std::map<std::string, int64_t> layoutLine;
  int64_t printedMicroBatches = 0, vocabulary = 0, paddedVocabulary = 0;
  double iterationTime = 0.0, sampleTime = 0.0;
  int64_t overIterations = 100, overSamples = 0;
  struct Iteration {
    int64_t number, total, consumed, batch;
    double elapsed;
  };
  std::vector<Iteration> iterations;
  std::vector<std::pair<std::string, double>> timers;
  bool hasTimerRanges = false;
  double memoryLow = 0, memoryHigh = 0, memoryCapacity = 0;
};

/// A contradiction that can be planted into a log.
struct Plant {
  /// The finding that has to name it.
  const char *id;
  /// Makes sizes with which it is a contradiction.
  void (*prepare)(RandomSizes &sizes);
  void (*apply)(RandomLog &log, Draws &draws);
};

const std::vector<Plant> &plants();

/// A log of random sizes in a random form; with a contradiction if `plant` is not null.
std::string printRandomLog(Draws &draws, const Plant *plant);

#endif // ST_TEST_UNIT_FRONTEND_RANDOMLOG_H
