// What all tools on LLVM's command line share.
#ifndef ST_TOOLS_COMMANDLINE_H
#define ST_TOOLS_COMMANDLINE_H

#include "llvm/Support/CommandLine.h"

namespace mlir::st {

/// Hides from --help the many options that libLLVM registers when it is loaded.
/// To be called first, before the tool registers its own.
inline void hideLibraryOptions() {
  for (auto &[name, option] : llvm::cl::getRegisteredOptions())
    if (name != "help" && name != "version")
      option->setHiddenFlag(llvm::cl::ReallyHidden);
}

} // namespace mlir::st

#endif // ST_TOOLS_COMMANDLINE_H
