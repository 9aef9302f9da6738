// From programs to the Executable that a runner takes: what is the same for every target.
#pragma once

#include "dialects/St/IR/StDialect.h"
#include "lib/Proto/executable.pb.h"

#include "mlir/IR/BuiltinOps.h"

#include <functional>
#include <string>

namespace mlir::st {

/// What a backend has made of a task.
struct TaskCode {
  std::string program;  ///< proto::Task::program
  int64_t arenaEnd = 0; ///< the bytes of a rank's arena that it reaches
  int64_t hostEnd = 0;  ///< the same of the host's memory
};

struct ExecutableSource {
  std::function<FailureOr<TaskCode>(TaskOp)> getCode;
  /// Attributes of programs: an array of dictionaries of `offset` and `data`; entries of a rank's
  /// table; all tables, rank-major.
  StringRef constants, tableSize, rankTables;
};

/// Fills in all but the target and its description. What an Executable says of the model comes from
/// the module's attributes: `st.model_type`, `st.task`, `st.batch`, `st.sequence`, `st.vocabulary`,
/// `st.model_config`, `st.vocab_txt`, `st.tokenizer_files`, `st.optimizer`, `st.learning_rate`;
/// those that are missing stay empty. Fails with a diagnostic.
LogicalResult fillExecutable(ModuleOp module, const ExecutableSource &source,
                             ::st::proto::Executable &executable);

/// The element type as binaries have it; nothing for one that they cannot hold.
std::optional<::st::proto::ElementType> getBinaryType(Type element);

/// The bytes of an Executable, the same for equal ones.
std::string serialize(const ::st::proto::Executable &executable);

} // namespace mlir::st
