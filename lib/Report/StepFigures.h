// The figures of a page about a predicted step, independent of simulator and compiler.
#ifndef ST_REPORT_STEPFIGURES_H
#define ST_REPORT_STEPFIGURES_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace st {

/// The class of an instant of a device: the purpose of its engines' work, or the reason for which
/// they wait.
enum class TimeClass : uint8_t {
  Forward,
  Backward, ///< including gradients of weights
  Update,
  Other,      ///< once per step: work independent of the micro-batch, totals
  Collective, ///< within the stage
  Transfer,   ///< between stages
  Wait,       ///< for other stages
  Launch,
};
constexpr size_t kTimeClasses = 8;
using ClassTimes = std::array<int64_t, kTimeClasses>;
/// "forward", "collectives", ...
const char *timeClassName(TimeClass timeClass);

/// Used bytes of an arena, by class, while an entry of a schedule runs.
struct MemoryUse {
  std::vector<std::string> classes;
  /// By device group, entry of its schedule and class. Empty if unknown.
  std::vector<std::vector<std::vector<int64_t>>> groups;
};

/// The work of a device in the step as a fraction of its capacity.
struct EngineShares {
  double matrix = 0, vector = 0, dte = 0, send = 0, receive = 0, l2 = 0, l3 = 0, host = 0;
};

/// Times in picoseconds.
struct StepFigures {
  std::string name, summary, device, schedule;
  /// The source of the times if no simulator ran, "costs of ..."; engines, links and the critical
  /// path are then unknown. Otherwise empty.
  std::string basis;
  int64_t total = 0, lowerBound = 0, serialSum = 0;
  int64_t microBatches = 1, batch = 0, numDevices = 0, memoryBytes = 0;
  int64_t simulatedInstructions = 0;

  /// A device group, or a device.
  struct Row {
    std::string name;
    std::vector<int64_t> stages;
    int64_t ranks = 1;
    ClassTimes times = {};                               ///< summed over ranks
    EngineShares engines;                                ///< mean over ranks
    std::vector<std::pair<std::string, int64_t>> memory; ///< of a rank, by class
    int64_t arenaBytes = 0, hostBytes = 0;               ///< of a rank
  };
  std::vector<Row> groups;
  std::vector<Row> devices; ///< ranks; empty if there are too many to list

  struct Bar {
    int64_t start = 0, end = 0;
    TimeClass timeClass = TimeClass::Other;
    std::string label; ///< empty: the wait of the bar before it
  };
  /// The activities of a device group's first rank.
  struct Track {
    std::string name;
    std::vector<Bar> runs, pauses;
    std::vector<std::pair<int64_t, int64_t>> path; ///< when the critical path is here
  };
  std::vector<Track> tracks;

  /// For a rank on the device with the highest use.
  struct MemoryChart {
    std::string name;
    std::vector<std::string> classes;
    struct Step {
      int64_t start = 0, end = 0;
      std::string label;
      std::vector<int64_t> bytes; ///< by class
    };
    std::vector<Step> steps; ///< empty if unknown
    int64_t reserved = 0;    ///< the arena, and scratch memory
    int64_t ranks = 1;       ///< on the device
  };
  MemoryChart memory;

  struct Link {
    std::string name, kind;
    int64_t bytes = 0, busy = 0;
    std::string mostly; ///< the traffic that most of its bytes belong to
    double mostlyShare = 0;
  };
  std::vector<Link> links; ///< the busiest first

  struct Piece {
    std::string task, group;
    int64_t microBatch = 0;
    int64_t start = 0, end = 0;
    ClassTimes times = {};
  };
  std::vector<Piece> path; ///< from the start of the step to its end

  /// Commands of one name in a step, on the device with the most work. Used only if no simulator
  /// has run.
  struct Kernel {
    std::string name, kind; ///< "product", "attention", "loop" or "copy"
    int64_t launches = 0, picoseconds = 0;
    double flops = 0, bytes = 0; ///< of matrix products; read and written
  };
  std::vector<Kernel> kernels; ///< the longest first
  /// FLOP/s of matrix products: by the data sheet, and as reached by a large one under the costs.
  double peakFlops = 0, reachedFlops = 0;

  struct WhatIf {
    std::string what;
    std::vector<std::pair<std::string, double>> scales; ///< ClientOptions::scales
    double share = 0;        ///< fraction of the step in which the improved part is busy
    int64_t picoseconds = 0; ///< the step then; 0: not tried
  };
  std::vector<WhatIf> whatIfs;
};

} // namespace st

#endif // ST_REPORT_STEPFIGURES_H
