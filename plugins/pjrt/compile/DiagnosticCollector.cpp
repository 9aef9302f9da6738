#include "plugins/pjrt/compile/DiagnosticCollector.h"

#include "lib/Driver/DiagnosticPrinter.h"
#include "llvm/Support/raw_ostream.h"

namespace st::pjrt {

DiagnosticCollector::DiagnosticCollector(mlir::MLIRContext *context)
    : handler(context, [this](mlir::Diagnostic &diagnostic) {
        keep(diagnostic);
        return mlir::success();
      }) {}

static std::string placeOf(mlir::Location location) {
  std::string text;
  llvm::raw_string_ostream os(text);
  location->walk([&](mlir::Location inner) {
    auto file = mlir::dyn_cast<mlir::FileLineColLoc>(inner);
    if (!file)
      return mlir::WalkResult::advance();
    os << file.getFilename().getValue() << ':' << file.getLine() << ':' << file.getColumn() << ": ";
    return mlir::WalkResult::interrupt();
  });
  return text;
}

void DiagnosticCollector::keep(mlir::Diagnostic &diagnostic) {
  if (diagnostic.getSeverity() != mlir::DiagnosticSeverity::Error || !first.empty())
    return;
  std::string text = placeOf(diagnostic.getLocation()) + diagnostic.str();
  for (mlir::Diagnostic &note : diagnostic.getNotes())
    text += " (" + placeOf(note.getLocation()) + note.str() + ")";
  first = mlir::st::oneLine(text);
}

} // namespace st::pjrt
