// Where a training program keeps its parameters, for another program over the same ones.
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
  /// Keeps the padded shapes and the stages of the parameters of a module behind assign-stages.
  void keepStages(ModuleOp module);
  /// Keeps where the parameters lie, of a module behind plan-memory.
  void keepPlaces(ModuleOp module);

  /// Has pad-dimensions give the parameters of another module of the model the same shapes, and
  /// assign-stages cut its forward pass at the same places.
  void giveStages(ModuleOp module) const;
  /// Has plan-memory put the parameters of another module, which has its programs, where they are.
  /// Fails with a diagnostic where a rank of it reads what it does not hold.
  LogicalResult givePlaces(ModuleOp module) const;

private:
  struct Place {
    int64_t offset = 0;
    Type local;
    ShardingAttr sharding;
  };
  struct Program {
    std::vector<int64_t> devices;
    std::map<std::string, Place> parameters;
    int64_t end = 0; ///< of all states
  };
  std::map<std::string, SmallVector<int64_t>> shapes;
  std::map<std::string, int64_t> stages; ///< of parameters that are in one alone
  std::vector<Program> programs;
};

/// Puts a program over the same ranks and parameters into an executable under a name. Arenas become
/// as large as either takes; what that is more than training alone is the class "evaluation".
void addProgram(::st::proto::Executable &to, ::st::proto::Executable program,
                const std::string &name);

} // namespace mlir::st

#endif // ST_DRIVER_EVALUATION_TRAINEDLAYOUT_H
