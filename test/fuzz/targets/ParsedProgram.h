// A program's text, parsed as the tools parse it.
#ifndef ST_TEST_FUZZ_PARSEDPROGRAM_H
#define ST_TEST_FUZZ_PARSEDPROGRAM_H

#include "lib/Driver/ProgramFile.h"
#include "st/InitAll.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/SourceMgr.h"

/// Parsed in a separate context: names of resources are unique in a context. Counts errors without
/// printing them.
struct ParsedProgram {
  explicit ParsedProgram(llvm::StringRef text)
      : context(makeRegistry(), mlir::MLIRContext::Threading::DISABLED) {
    context.getDiagEngine().registerHandler([this](mlir::Diagnostic &diagnostic) {
      errors += diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error;
      return mlir::success();
    });
    auto source = std::make_shared<llvm::SourceMgr>();
    source->AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(text, "fuzz.mlir"),
                               llvm::SMLoc());
    module = mlir::st::parseProgram(source, &context);
  }

  static mlir::DialectRegistry makeRegistry() {
    mlir::DialectRegistry registry;
    mlir::st::registerAllDialects(registry);
    return registry;
  }

  int errors = 0;
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

#endif // ST_TEST_FUZZ_PARSEDPROGRAM_H
