//===- CommandLine.h - Command lines in shell text --------------*- C++ -*-===//

#ifndef ST_LIB_FRONTEND_MEGATRON_COMMANDLINE_H
#define ST_LIB_FRONTEND_MEGATRON_COMMANDLINE_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/StringMap.h"
#include <optional>
#include <string>
#include <vector>

namespace mlir::st {

struct CommandWord {
  std::string text;
  unsigned line = 0;
  /// An unquoted `;`, `&`, `|`, `<`, `>`, `(` or `)`.
  bool isOperator = false;
};

/// A call of a training script.
struct CommandLine {
  /// The file name of the script, without its folders.
  std::string script;
  unsigned line = 0;
  /// The words before and after the script.
  std::vector<CommandWord> launcher, words;
};

/// Reads statements of a shell file one by one, with the variables that they assign: strings,
/// arrays, and sums, differences and products of integers. Values that only a shell can
/// compute, such as `$(hostname)` or `$1`, stay unchanged.
class ShellReader {
public:
  /// The end of the statement that begins at `start`, past its newline: a line with its backslash
  /// continuations, and for an assignment the lines within its quotes or brackets.
  size_t statementEnd(StringRef text, size_t start);

  /// Runs a statement that begins in `line`: records its assignments, and returns the call of a
  /// training script if it has one.
  std::optional<CommandLine> run(StringRef statement, unsigned line);

private:
  std::vector<CommandWord> split(StringRef text, unsigned line);
  std::optional<size_t> assign(ArrayRef<CommandWord> words, size_t at);

  llvm::StringMap<std::vector<std::string>> variables;
  /// The remaining number of bytes to which variables may expand; far more than any script needs.
  size_t budget = size_t(1) << 24;
  /// Set after an unterminated quote: the text is not a shell file.
  bool joinsNoLines = false;
};

/// The number of processes that a launcher starts, from the words before the script: torchrun, the
/// launchers of PyTorch and DeepSpeed, mpirun or srun. Returns std::nullopt if the words do not
/// specify it.
std::optional<int64_t> launchedProcesses(const CommandLine &command);

} // namespace mlir::st

#endif // ST_LIB_FRONTEND_MEGATRON_COMMANDLINE_H
