#include "dialects/VHLO/PortableModule.h"
#include "lib/Driver/DiagnosticPrinter.h"
#include "lib/Driver/ImportProgram.h"
#include "lib/Driver/Input/ReadInput.h"
#include "lib/Driver/ProgramFile.h"
#include "lib/Hlo/HloImporter.h"

#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace mlir::st;

static InFlightDiagnostic error(MLIRContext *context) {
  return emitError(getCommandLineLoc(context));
}

/// Rejects options that describe a model if the input is a program.
LogicalResult mlir::st::refuseModelOptions(const CompileRequest &request, ModuleOp program) {
  const CompileOptions &options = request.options;
  MLIRContext *context = program.getContext();
  // A model that an earlier compilation imported records its options, which were already compared.
  if (program->hasAttr("st.options"))
    return success();
  for (StringRef name : {"task", "batch", "seq", "label-seq", "expert-capacity-factor", "prefix-lm",
                         "reset-position-ids", "reset-attention-mask"})
    if (options.isGiven(name))
      return error(context) << "--" << name
                            << " has no effect: the input is a program, not a model";
  if (hasRoles(program) && options.isGiven("roles"))
    return error(context) << "--roles has no effect: the program's arguments have their roles";
  if (hasRoles(program) && options.isGiven("unroll"))
    return error(context)
           << "--unroll has no effect: a program whose arguments have roles is not imported";
  return success();
}

static bool hasHloName(StringRef path) {
  return path.ends_with(".hlo") || path.ends_with(".hlo.txt") || path.ends_with(".pb");
}

/// Returns true if a file is HLO, judged by its name or the beginning of its text.
static bool isHlo(StringRef path, StringRef content) {
  return hasHloName(path) || content.starts_with("HloModule ");
}

bool mlir::st::isModuleFile(StringRef path) {
  return path == "-" || path.ends_with(".mlir") || path.ends_with(".mlirbc") || hasHloName(path);
}

LogicalResult mlir::st::readModule(const CompileRequest &request, MLIRContext *context,
                                   OwningOpRef<ModuleOp> &module) {
  auto file = readInput(request.input);
  if (!file.ok())
    return error(context) << std::string(file.status().message());
  if (!request.startFrom && isHlo(request.input, (*file)->getBuffer())) {
    auto parsed = parseHlo((*file)->getBuffer(), (*file)->getBufferIdentifier(), context);
    if (parsed)
      module = importHloModule(*parsed, context);
    return success(static_cast<bool>(module));
  }
  if (!request.startFrom && isPortableArtifact((*file)->getBuffer())) {
    module = readPortableModule((*file)->getMemBufferRef(), *context);
    return success(static_cast<bool>(module));
  }
  auto source = std::make_shared<llvm::SourceMgr>();
  source->AddNewSourceBuffer(*std::move(file), SMLoc());
  module = parseProgram(source, ParserConfig(context));
  if (!module)
    return failure();
  return request.options.check(*module);
}
