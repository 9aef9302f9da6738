// A compiled function on its devices: the class behind PJRT_LoadedExecutable.
#pragma once

#include "plugins/pjrt/compile/program.pb.h"
#include "plugins/pjrt/runtime/DeviceArray.h"
#include "plugins/pjrt/runtime/WorkQueue.h"
#include "st/Runtime/Client.h"

#include "absl/status/statusor.h"

#include <map>
#include <memory>
#include <set>
#include <vector>

namespace st::pjrt {

ArrayType fullType(const proto::PluginPort &port);
ArrayType localType(const proto::PluginPort &port);

/// Arrays by device, in the order of partitions.
using ArrayLists = std::vector<std::vector<std::shared_ptr<DeviceArray>>>;

class LoadedProgram : public std::enable_shared_from_this<LoadedProgram> {
public:
  /// Loads the program. `devices`: one per partition.
  static absl::StatusOr<std::shared_ptr<LoadedProgram>>
  create(std::shared_ptr<const proto::PluginProgram> program, std::vector<PluginDevice *> devices,
         ::st::Client &runtime);

  const proto::PluginProgram &program() const { return *source; }
  std::shared_ptr<const proto::PluginProgram> sharedProgram() const { return source; }
  const std::vector<PluginDevice *> &devices() const { return places; }

  struct Run {
    ArrayLists results;
    Completion done;
  };
  /// Queues a run. `kept`: arguments that are not donated although the program allows it.
  /// InvalidArgument if the arguments do not match the program; ResourceExhausted if a device has
  /// no room for the results.
  absl::StatusOr<Run> launch(const ArrayLists &arguments, const std::set<int64_t> &kept,
                             WorkQueue &queue);

  /// Runs a program of one device in the calling thread.
  absl::StatusOr<std::vector<std::shared_ptr<Storage>>>
  runNow(const std::vector<std::shared_ptr<Storage>> &arguments);

  /// The simulated time of a run. If it depends on data, the time of the last run.
  absl::StatusOr<StepTime> timeStep(StepTrace *trace);

private:
  struct Operand {
    std::shared_ptr<Storage> bytes;
    Completion ready;
    /// The type of an array that is not row-major; without dimensions for a row-major one.
    ArrayType type = {};
  };
  struct Pending {
    std::vector<std::vector<Operand>> arguments, results;
  };
  LoadedProgram(std::shared_ptr<const proto::PluginProgram> program,
                std::vector<PluginDevice *> devices)
      : source(std::move(program)), places(std::move(devices)) {}
  static Operand operandOf(const DeviceArray &array);
  absl::Status checkArguments(const ArrayLists &arguments) const;
  bool isDonated(size_t argument, const std::set<int64_t> &kept) const;
  absl::Status checkDonations(const ArrayLists &arguments, const std::set<int64_t> &kept) const;
  absl::Status run(Pending &pending);
  absl::Status compute(const Pending &pending);
  absl::Status runOnHost(const Pending &pending);
  /// The partition that holds a rank's part of a port.
  size_t holderOf(const proto::PluginPort &port, int64_t rank) const;
  absl::Status feed(const Pending &pending);
  absl::Status collect(const Pending &pending);

  std::shared_ptr<const proto::PluginProgram> source;
  std::vector<PluginDevice *> places;
  std::mutex mutex; ///< guards the arenas
  std::unique_ptr<::st::Executable> loaded;
  /// The programs between the host callbacks of a function; `loaded` is then null.
  std::map<const proto::PluginProgram *, std::shared_ptr<LoadedProgram>> steps;
  /// The program's input of each argument and result; null if the program does not use it.
  std::vector<const proto::Input *> inputs;
  std::vector<const proto::Output *> outputs;
};

} // namespace st::pjrt
