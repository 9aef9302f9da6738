// Converts programs to the Executable of a runner: the part common to all targets.
#pragma once

#include "dialects/St/IR/StDialect.h"
#include "lib/Proto/executable.pb.h"

#include "mlir/IR/BuiltinOps.h"

#include <functional>
#include <string>

namespace mlir::st {

/// A backend's code for a task.
struct TaskCode {
  std::string program;  ///< proto::Task::program
  int64_t arenaEnd = 0; ///< the bytes of a rank's arena that it accesses
  int64_t hostEnd = 0;  ///< the same for the host's memory
};

struct ExecutableSource {
  std::function<FailureOr<TaskCode>(TaskOp)> getCode;
  /// Attributes of programs: an array of dictionaries of `offset` and `data`; entries of a rank's
  /// table; all tables, rank-major.
  StringRef constants, tableSize, rankTables;
};

/// Fills in all but the target and its description. The Executable's information about the model
/// comes from the module's attributes: `st.model_type`, `st.task`, `st.batch`, `st.sequence`,
/// `st.vocabulary`, `st.model_config`, `st.vocab_txt`, `st.tokenizer_files`, `st.optimizer`,
/// `st.learning_rate`; fields of missing attributes stay empty. Fails with a diagnostic.
LogicalResult fillExecutable(ModuleOp module, const ExecutableSource &source,
                             ::st::proto::Executable &executable);

/// The element type in binaries; std::nullopt for an unsupported type.
std::optional<::st::proto::ElementType> getBinaryType(Type element);

/// The bytes of an Executable; equal Executables give equal bytes.
std::string serialize(const ::st::proto::Executable &executable);

} // namespace mlir::st
