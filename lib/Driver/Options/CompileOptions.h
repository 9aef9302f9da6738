// The options that decide what a compilation makes, and where they are kept
// between phases.
#ifndef ST_DRIVER_COMPILEOPTIONS_H
#define ST_DRIVER_COMPILEOPTIONS_H

#include "lib/Driver/Phases.h"
#include "mlir/IR/BuiltinOps.h"

#include <map>
#include <string>

namespace mlir::st {

/// One option that decides what is compiled: its flag, its default, and the
/// phase that reads it.
struct OptionInfo {
  StringRef name, defaultValue;
  CompilePhase readBy;
  StringRef valueName, help;
};

/// All of them; st-compile makes a flag of each.
ArrayRef<OptionInfo> getOptionInfos();

/// The options of one compilation. The phase that reads an option records it on
/// the module (`st.options`), so that a compilation that continues from there
/// needs no flag for it, and a flag that says otherwise is an error.
class CompileOptions {
public:
  /// `given`: what the command line says, by name.
  explicit CompileOptions(std::map<std::string, std::string> given) : given(std::move(given)) {}

  /// Fails, with a diagnostic, if a flag contradicts what the module records.
  LogicalResult check(ModuleOp module) const;

  /// Whether the command line says it.
  bool isGiven(llvm::StringRef name) const { return given.count(name.str()) != 0; }

  /// The value in force: recorded on the module, else given, else the default.
  std::string get(ModuleOp module, StringRef name) const;

  /// Records on the module what `phase` reads.
  void record(ModuleOp module, CompilePhase phase) const;

private:
  std::string resolve(const OptionInfo &info) const;

  std::map<std::string, std::string> given;
};

} // namespace mlir::st

#endif // ST_DRIVER_COMPILEOPTIONS_H
