//===- Assembly.cpp - st-translate --assembly-to-program and back ---------===//
//
// Translates a device program between its text form and its binary form (docs/dtu-isa.md).
// --check-for also validates it for a machine.
//
//===----------------------------------------------------------------------===//

#include "backends/dtu/isa/Binary.h"
#include "backends/dtu/isa/Text.h"
#include "backends/dtu/isa/Validator.h"
#include "lib/Driver/DiagnosticPrinter.h"
#include "lib/Timing/DtuDescription.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "tools/st-translate/Translations.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

namespace mlir::st {
namespace {

/// Checks that a cluster of the named device can run the program. An empty name allows every
/// device.
absl::Status checkFor(const std::string &device, const ::st::dtu::Program &program) {
  if (device.empty())
    return absl::OkStatus();
  auto description = ::st::builtinDtuDescription(device);
  if (!description.ok())
    return description.status();
  return ::st::dtu::validate(program, ::st::dtu::machineLimits(*description));
}

/// Reads a program in one form and writes it in the other form.
template <class Read, class Write>
LogicalResult translateProgram(llvm::SourceMgr &source, llvm::raw_ostream &os,
                               const std::string &device, Read read, Write write) {
  const llvm::MemoryBuffer *file = source.getMemoryBuffer(source.getMainFileID());
  absl::StatusOr<::st::dtu::Program> program =
      read(absl::string_view(file->getBufferStart(), file->getBufferSize()));
  absl::Status status = program.ok() ? checkFor(device, *program) : program.status();
  if (!status.ok()) {
    llvm::errs() << oneLine((file->getBufferIdentifier() + ": error: ").str() +
                            std::string(status.message()))
                 << "\n";
    return failure();
  }
  os << write(*program);
  return success();
}

} // namespace

void registerAssembly() {
  static llvm::cl::opt<std::string> device(
      "check-for", llvm::cl::value_desc("device"),
      llvm::cl::desc("refuse a program that this device, such as dtu-t10, cannot run "
                     "(--assembly-to-program, --program-to-assembly)"));
  static TranslateRegistration assemble(
      "assembly-to-program", "assemble one program of the device",
      [](const std::shared_ptr<llvm::SourceMgr> &source, llvm::raw_ostream &os, MLIRContext *) {
        return translateProgram(*source, os, device, ::st::dtu::parseProgram, ::st::dtu::encode);
      });
  static TranslateRegistration disassemble(
      "program-to-assembly", "print one program of the device in its binary form",
      [](const std::shared_ptr<llvm::SourceMgr> &source, llvm::raw_ostream &os, MLIRContext *) {
        return translateProgram(*source, os, device, ::st::dtu::decode, ::st::dtu::printProgram);
      });
}

} // namespace mlir::st
