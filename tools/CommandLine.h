// Common parts of the tools with LLVM's command line.
#ifndef ST_TOOLS_COMMANDLINE_H
#define ST_TOOLS_COMMANDLINE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <optional>
#include <string>

namespace mlir::st {

/// Hides the many options that libLLVM registers when it is loaded from --help. Call first, before
/// the tool registers its own.
inline void hideLibraryOptions() {
  for (auto &[name, option] : llvm::cl::getRegisteredOptions())
    if (name != "help" && name != "version")
      option->setHiddenFlag(llvm::cl::ReallyHidden);
}

/// The error for an empty argument or a flag without a value after its equals sign, which no flag
/// accepts.
inline std::optional<std::string> findEmptyArgument(llvm::ArrayRef<char *> arguments) {
  for (llvm::StringRef argument : arguments.drop_front()) {
    if (argument.empty())
      return "expected a value, found an empty argument";
    if (argument.starts_with("-") && argument.find('=') == argument.size() - 1)
      return (argument + ": expected a value").str();
  }
  return std::nullopt;
}

/// Parses the command line. The error is one line without the tool's name.
inline std::optional<std::string> parseCommandLine(int argc, char **argv,
                                                   llvm::StringRef overview) {
  if (auto empty = findEmptyArgument({argv, static_cast<size_t>(argc)}))
    return empty;
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (llvm::cl::ParseCommandLineOptions(argc, argv, overview, &stream))
    return std::nullopt;
  // "tool: error\ntool: a suggestion\n"
  std::string prefix = llvm::sys::path::filename(argv[0]).str() + ": ";
  llvm::StringRef message = llvm::StringRef(text).split("\n" + prefix).first.trim();
  message.consume_front(prefix);
  // LLVM's only message of two lines.
  std::string line = message.str();
  if (size_t end = line.find("specified!\nCan"); end != std::string::npos)
    line.replace(end, 14, "specified: can");
  return line;
}

} // namespace mlir::st

#endif // ST_TOOLS_COMMANDLINE_H
