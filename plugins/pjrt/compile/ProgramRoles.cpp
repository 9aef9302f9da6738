#include "plugins/pjrt/compile/ProgramRoles.h"

#include "lib/Driver/ImportProgram.h"
#include "lib/Driver/Input/RolesFile.h"
#include "lib/Driver/Options/CompileOptions.h"
#include "plugins/pjrt/compile/DiagnosticCollector.h"
#include "plugins/pjrt/compile/ReadFunction.h"

using namespace mlir;

namespace st::pjrt {

absl::StatusOr<std::string> rolesOfProgram(absl::string_view text) {
  MLIRContext context(functionDialects("dtu-t10"), MLIRContext::Threading::DISABLED);
  DiagnosticCollector diagnostics(&context);
  const auto failed = [&] {
    const std::string &message = diagnostics.message();
    return absl::InvalidArgumentError(message.empty() ? "the program cannot be read" : message);
  };
  OwningOpRef<ModuleOp> module = readFunction(StringRef(text.data(), text.size()), &context);
  if (!module)
    return failed();
  mlir::st::numberPorts(*module);
  int64_t unroll = 0;
  const mlir::st::CompileOptions options(std::map<std::string, std::string>{});
  if (StringRef(options.get(*module, "unroll")).getAsInteger(10, unroll) ||
      mlir::failed(mlir::st::importProgram(*module, /*roles=*/"", unroll, /*quiet=*/true)))
    return failed();
  return mlir::st::takeRoles(*module);
}

} // namespace st::pjrt
