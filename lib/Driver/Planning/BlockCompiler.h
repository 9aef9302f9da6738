// Compiles the blocks of a model with the passes for full models.
#ifndef ST_DRIVER_BLOCKCOMPILER_H
#define ST_DRIVER_BLOCKCOMPILER_H

#include "lib/Frontend/ModelConfig.h"
#include "lib/Planner/Step/Blocks.h"
#include "mlir/IR/MLIRContext.h"

#include <map>
#include <memory>

namespace mlir::st {

class BlockCompiler : public ::st::BlockSource {
public:
  /// `target` is the target of the kernels, a name of --target. The vocabulary is padded to a
  /// multiple of `vocabularyMultiple` times the tensor shards.
  BlockCompiler(ModelConfig config, Task task, int64_t sequence, std::string precision,
                std::string target, int64_t vocabularyMultiple);
  ~BlockCompiler() override;

  /// InvalidArgument with the compiler's first error if compilation fails.
  absl::StatusOr<const ::st::proto::ProgramWork *> get(const ::st::BlockKey &key) override;

private:
  absl::StatusOr<::st::proto::ProgramWork> compile(const ::st::BlockKey &key);
  absl::StatusOr<::st::proto::ProgramWork> withStatesOf(const ::st::BlockKey &key);

  const ModelConfig config;
  const Task task;
  const int64_t sequence;
  const std::string precision, target;
  const int64_t vocabularyMultiple;
  std::unique_ptr<MLIRContext> context;
  std::map<::st::BlockKey, absl::StatusOr<::st::proto::ProgramWork>> compiled;
};

} // namespace mlir::st

#endif // ST_DRIVER_BLOCKCOMPILER_H
