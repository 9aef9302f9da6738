// The layout of a training program's states, for another program over the same states.
#ifndef ST_DRIVER_EVALUATION_TRAINEDLAYOUT_H
#define ST_DRIVER_EVALUATION_TRAINEDLAYOUT_H

#include "dialects/St/IR/StDialect.h"
#include "lib/Proto/executable.pb.h"

#include <map>
#include <string>
#include <vector>

namespace mlir::st {

class TrainedLayout {
public:
  /// Records the padded shapes and the stages of the parameters of a module after assign-stages.
  void recordStages(ModuleOp module);
  /// Records the addresses of the states of a module after plan-memory.
  void recordAddresses(ModuleOp module);

  /// Sets attributes on another module of the same model so that pad-dimensions pads its parameters
  /// to the same shapes and assign-stages splits its forward pass at the same boundaries.
  void assignStages(ModuleOp module) const;
  /// Sets attributes on another module, which must have its programs, so that plan-memory gives its
  /// states the same addresses. Fails with a diagnostic if a rank of the module reads a state that
  /// it does not hold; `what` names the module.
  LogicalResult assignAddresses(ModuleOp module, StringRef what) const;

private:
  struct Place {
    int64_t offset = 0;
    Type local;
    ShardingAttr sharding;
  };
  struct Program {
    std::vector<int64_t> devices;
    std::map<std::string, Place> states;
    int64_t end = 0; ///< of all states
  };
  std::map<std::string, SmallVector<int64_t>> shapes;
  std::map<std::string, int64_t> stages; ///< of parameters that are in one stage only
  std::vector<Program> programs;
};

/// Adds a program over the same ranks and states to an executable under a name. An arena has the
/// larger of the two sizes. If it grows, the additional bytes are a memory class of the same name.
void addProgram(::st::proto::Executable &to, ::st::proto::Executable program,
                const std::string &name);

} // namespace mlir::st

#endif // ST_DRIVER_EVALUATION_TRAINEDLAYOUT_H
