// Programs for simulated devices: small ones that represent the stages of a layout, and full ones.
#ifndef ST_DRIVER_PLANNING_SIMULATEDPROGRAMS_H
#define ST_DRIVER_PLANNING_SIMULATEDPROGRAMS_H

#include "lib/Driver/Planning/PlanInput.h"
#include "lib/Planner/Simulated/SimulatedBlocks.h"
#include "lib/Planner/Simulated/SimulatedPipeline.h"
#include "lib/Proto/executable.pb.h"
#include "lib/Report/WhatIf.h"
#include "mlir/IR/MLIRContext.h"
#include "st/Runtime/Executable.h"

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>

namespace mlir::st {

/// Compiles through the phases of st-compile and times tasks with the simulator.
class SimulatedPrograms : public ::st::SimulatedBlocks {
public:
  /// `target`: a DTU whose description is compiled in; `optimizer`: a value of st-compile's
  /// --optimizer.
  SimulatedPrograms(const PlanInput &input, std::string optimizer, std::string target,
                    ::st::MakeClient makeClient);
  ~SimulatedPrograms() override;

  absl::StatusOr<::st::StageWork> stage(const ::st::SimulatedKey &key, ::st::StageKind kind,
                                        const ::st::StagePlace &place) override;
  absl::StatusOr<::st::StageWork> layer(const ::st::SimulatedKey &key) override;
  absl::StatusOr<::st::Contention> contention(const ::st::Layout &layout) override;
  std::vector<int64_t> chipsOf(const ::st::SimulatedKey &key, int64_t group) const override;
  absl::StatusOr<std::vector<int64_t>> layersOfStages(const ::st::Layout &layout) override;

  /// Runs st-compile's phases on the model with the layout's parallel file.
  absl::StatusOr<::st::CompiledStep> timeCompiled(const ::st::Layout &layout) override;
  const ::st::CompiledStep *findCompiled(const ::st::Layout &layout) const override;

private:
  /// A program of one or several stages, with figures of its buffers that an executable does not
  /// contain.
  struct Program {
    ::st::proto::Executable executable;
    std::vector<int64_t> stashBytes; ///< per micro-batch, by device group
    std::vector<int64_t> slots;      ///< maximum number of stashed micro-batches, by device group
  };
  /// Number of stages of a program that represents pipelines. The second and the third stage differ
  /// only in their layers.
  static constexpr int64_t kPipelineStages = 4;
  /// The third stage has this many layers more than the second. Two rather than one, because
  /// buckets of gradients may span several layers, so single layers differ.
  static constexpr int64_t kMoreLayers = 2;
  static std::array<int64_t, kPipelineStages> pipelineLayers(const ::st::SimulatedKey &key) {
    const int64_t layers = key.stageLayers;
    return {layers, layers, layers + kMoreLayers, layers};
  }
  /// Layers of the two one-stage programs. Buckets of gradients may span several layers, so the
  /// second layer adds more time than later layers; averaged over two layers the model is nearly
  /// linear.
  std::pair<int64_t, int64_t> layersOfPrograms() const {
    return input.model.layers <= 2
               ? std::pair<int64_t, int64_t>{1, 2}
               : std::pair<int64_t, int64_t>{2, std::min<int64_t>(input.model.layers, 6)};
  }
  enum : size_t { kFirst, kMiddle, kDeeper, kLast };
  /// The placement of a program's device groups: the numbers of their first clusters.
  using Placement = std::vector<int64_t>;

  /// The layout of a one-stage program that represents others.
  static ::st::Layout layoutOf(const ::st::SimulatedKey &key);
  /// Picoseconds of the tasks of a phase.
  static double phaseTime(const ::st::proto::Group &group, ArrayRef<::st::LoneTask> tasks,
                          StringRef phase);

  absl::StatusOr<::st::CompiledStep> compileLayout(const ::st::Layout &layout);
  /// `layers`: of the model if not set; `starts`: chosen by the compiler if empty.
  absl::StatusOr<Program> compile(const ::st::Layout &layout, std::optional<int64_t> layers,
                                  std::vector<int64_t> starts);
  absl::StatusOr<const std::vector<Program> *> programsOf(const ::st::SimulatedKey &key);
  absl::StatusOr<std::unique_ptr<::st::Executable>> load(const Program &program,
                                                         const Placement &placement) const;
  absl::StatusOr<::st::Slowdown> measureSlowdown(const Program &program, int64_t ranks) const;
  absl::StatusOr<::st::Contention> contentionOfReplicas(const ::st::SimulatedKey &key,
                                                        const ::st::Layout &layout);
  /// `layers`: of the stages of the small pipeline.
  absl::StatusOr<::st::Contention> contentionOfPipeline(const ::st::SimulatedKey &key,
                                                        const ::st::Layout &layout,
                                                        const std::vector<int64_t> &layers);
  absl::StatusOr<const Program *> pipelineOf(const ::st::SimulatedKey &key,
                                             const std::vector<int64_t> &layers,
                                             int64_t virtualStages);
  /// A step of a small program: its composition, and the microseconds of its ranks' work on each
  /// kind of task, both in a full simulation and in separate tasks.
  struct SmallStep {
    ::st::SimulatedPipeline pipeline;
    ::st::TaskNumbers simulated = {}, lone = {};
    double total = 0; ///< of the simulated step
  };
  static absl::Status matchTotal(const ::st::Layout &layout, const ::st::PipelineOrder &order,
                                 SmallStep &step);
  absl::StatusOr<SmallStep> simulateSmall(const ::st::Layout &layout, const Program &program,
                                          ::st::SimulatedPipeline pipeline) const;
  absl::StatusOr<::st::Contention> compareReplicas(const ::st::Layout &layout,
                                                   ArrayRef<Program> fewAndMore) const;
  absl::StatusOr<::st::Contention> compareWithPipeline(const ::st::Layout &layout,
                                                       const Program &program,
                                                       ::st::SimulatedPipeline pipeline,
                                                       const ::st::Contention &measured) const;
  absl::StatusOr<SmallStep> simulateReplicas(const ::st::Layout &layout,
                                             const Program &program) const;
  /// Measures a stage of the complete model, with its device group and those of its neighbours at
  /// these places.
  absl::StatusOr<::st::StageWork> measureModelStage(const Program &program, int64_t stage,
                                                    int64_t own, int64_t previous, int64_t next,
                                                    const ::st::SimulatedKey &key) const;
  /// A stage of a program with `layerCount` layers per stage, reduced to one layer.
  absl::StatusOr<::st::StageWork> withOneLayer(const ::st::SimulatedKey &key,
                                               absl::StatusOr<::st::StageWork> work,
                                               int64_t layerCount);
  absl::StatusOr<std::vector<std::vector<::st::LoneTask>>>
  timeGroups(const Program &program, const Placement &placement,
             const std::vector<size_t> &groups) const;
  absl::StatusOr<::st::StageWork> measure(const Program &program, size_t group, int64_t previous,
                                          int64_t next, const Placement &placement,
                                          const ::st::SimulatedKey &key) const;

  const PlanInput input;
  const std::string optimizer, target;
  const ::st::MakeClient makeClient;
  const ::st::proto::DtuDescription description;
  std::unique_ptr<MLIRContext> context;
  std::map<::st::SimulatedKey, absl::StatusOr<std::vector<Program>>> programs;
  std::map<std::tuple<::st::SimulatedKey, ::st::StageKind, int64_t, int64_t, int64_t, int64_t>,
           absl::StatusOr<::st::StageWork>>
      stages;
  std::map<::st::SimulatedKey, absl::StatusOr<::st::StageWork>> layers;
  /// Keyed by the layers of the small pipeline's stages, the virtual stages and the schedule.
  std::map<std::tuple<::st::SimulatedKey, std::vector<int64_t>, int64_t, ::st::PipelineSchedule>,
           absl::StatusOr<::st::Contention>>
      contentions;
  /// Keyed by the layers of the stages and the virtual stages.
  std::map<std::tuple<::st::SimulatedKey, std::vector<int64_t>, int64_t>, absl::StatusOr<Program>>
      pipelines;
  /// By printed layout.
  std::map<std::string, absl::StatusOr<std::vector<int64_t>>> layerSplits;
  std::map<std::string, absl::StatusOr<::st::CompiledStep>> compiledSteps;
};

} // namespace mlir::st

#endif // ST_DRIVER_PLANNING_SIMULATEDPROGRAMS_H
