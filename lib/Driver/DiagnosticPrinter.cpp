#include "lib/Driver/DiagnosticPrinter.h"

#include "lib/Support/Text.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::st;

std::string mlir::st::oneLine(StringRef text) {
  return ::st::escapeControls({text.data(), text.size()});
}

Location mlir::st::getCommandLineLoc(MLIRContext *context) {
  return NameLoc::get(StringAttr::get(context, "<command line>"));
}

DiagnosticPrinter::DiagnosticPrinter(MLIRContext *context, StringRef tool, StringRef input)
    : tool(tool), input(input == "-" ? "<stdin>" : input),
      handler(context, [this](Diagnostic &diagnostic) { return print(diagnostic); }) {}

DiagnosticPrinter::~DiagnosticPrinter() {
  for (const auto &[text, count] : repeated)
    if (count > 0)
      llvm::errs() << oneLine(tool + ": remark: " + std::to_string(count) +
                              " more with this text: " + text)
                   << '\n';
  if (sawError())
    llvm::errs() << oneLine(error) << '\n';
}

void DiagnosticPrinter::addContext(const Twine &text) {
  if (sawError())
    error += (" (" + text + ")").str();
}

std::string DiagnosticPrinter::place(Location location) const {
  if (location == getCommandLineLoc(location.getContext()))
    return "";
  std::string text;
  llvm::raw_string_ostream os(text);
  location->walk([&](Location inner) {
    auto file = dyn_cast<FileLineColLoc>(inner);
    if (!file)
      return WalkResult::advance();
    os << file.getFilename().getValue() << ':';
    // Implied text has no line.
    if (file.getLine() > 0)
      os << file.getLine() << ':' << file.getColumn() << ':';
    os << ' ';
    return WalkResult::interrupt();
  });
  if (!text.empty())
    return text;
  os << input << ": ";
  // The layer, for an op without another location.
  if (auto name = dyn_cast<NameLoc>(location))
    os << name.getName().getValue() << ": ";
  return text;
}

static StringRef nameOf(DiagnosticSeverity severity) {
  switch (severity) {
  case DiagnosticSeverity::Error:
    return "error";
  case DiagnosticSeverity::Warning:
    return "warning";
  case DiagnosticSeverity::Remark:
    return "remark";
  case DiagnosticSeverity::Note:
    return "note";
  }
  llvm_unreachable("unknown severity");
}

LogicalResult DiagnosticPrinter::print(Diagnostic &diagnostic) {
  if (diagnostic.getSeverity() == DiagnosticSeverity::Error && numErrors++ > 0)
    return success();
  // A remark on each layer of a model would hide the others.
  if (diagnostic.getSeverity() == DiagnosticSeverity::Remark && diagnostic.getNotes().empty() &&
      !tool.empty())
    if (const auto [seen, isNew] = repeated.try_emplace(diagnostic.str(), 0); !isNew) {
      ++seen->second;
      return success();
    }
  std::string where = place(diagnostic.getLocation());
  StringRef kind = nameOf(diagnostic.getSeverity());
  std::string line =
      tool.empty() ? where + kind.str() + ": " : tool + ": " + kind.str() + ": " + where;
  line += diagnostic.str();
  for (Diagnostic &note : diagnostic.getNotes())
    line += " (" + place(note.getLocation()) + note.str() + ")";
  if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
    error = std::move(line);
  else
    llvm::errs() << oneLine(line) << '\n';
  return success();
}
