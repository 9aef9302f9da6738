// Compiles the blocks of a model with the same passes as complete models.
#ifndef ST_DRIVER_BLOCKCOMPILER_H
#define ST_DRIVER_BLOCKCOMPILER_H

#include "lib/Driver/Planning/PlanInput.h"
#include "lib/Planner/Step/Blocks.h"
#include "mlir/IR/MLIRContext.h"

#include <map>
#include <memory>

namespace mlir::st {

class BlockCompiler : public ::st::BlockSource {
public:
  /// `target` is the target of the kernels, a name of --target.
  BlockCompiler(const PlanInput &input, std::string target);
  ~BlockCompiler() override;

  /// InvalidArgument with the compiler's first error if compilation fails.
  absl::StatusOr<const ::st::proto::ProgramWork *> get(const ::st::BlockKey &key) override;

private:
  bool limitsExperts() const;
  absl::StatusOr<::st::proto::ProgramWork> compile(const ::st::BlockKey &key);
  absl::StatusOr<::st::proto::ProgramWork> withStatesOf(const ::st::BlockKey &key);

  const PlanInput input;
  const std::string target;
  std::unique_ptr<MLIRContext> context;
  std::map<::st::BlockKey, absl::StatusOr<::st::proto::ProgramWork>> compiled;
};

} // namespace mlir::st

#endif // ST_DRIVER_BLOCKCOMPILER_H
