// The options that determine the result of a compilation, and their record between phases.
#ifndef ST_DRIVER_COMPILEOPTIONS_H
#define ST_DRIVER_COMPILEOPTIONS_H

#include "lib/Driver/Phases.h"
#include "mlir/IR/BuiltinOps.h"

#include <map>
#include <string>

namespace mlir::st {

/// One option that determines the result: its flag, its default, and the phase that reads it.
struct OptionInfo {
  StringRef name, defaultValue;
  CompilePhase readBy;
  StringRef valueName, help;
};

/// All options; st-compile has a flag for each.
ArrayRef<OptionInfo> getOptionInfos();

/// The options of one compilation. The phase that reads an option records it on the module
/// (`st.options`). A compilation that continues from that module needs no flag for the option, and
/// a contradicting flag is an error.
class CompileOptions {
public:
  /// `given`: the command line's options, by name.
  explicit CompileOptions(std::map<std::string, std::string> given) : given(std::move(given)) {}

  /// Fails, with a diagnostic, if a flag contradicts the module's record.
  LogicalResult check(ModuleOp module) const;

  /// The same options with another value of one.
  CompileOptions with(const std::string &name, std::string value) const {
    CompileOptions changed = *this;
    changed.given[name] = std::move(value);
    return changed;
  }

  /// Returns true if the command line has the option.
  bool isGiven(llvm::StringRef name) const { return given.count(name.str()) != 0; }

  /// The effective value: recorded on the module, else given, else the default.
  std::string get(ModuleOp module, StringRef name) const;

  /// Records the options of `phase` on the module.
  void record(ModuleOp module, CompilePhase phase) const;

private:
  std::string resolve(const OptionInfo &info) const;

  std::map<std::string, std::string> given;
};

} // namespace mlir::st

#endif // ST_DRIVER_COMPILEOPTIONS_H
