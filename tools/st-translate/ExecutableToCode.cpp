//===- ExecutableToCode.cpp - st-translate --executable-to-ptx, -sass -----===//

#include "backends/cuda/codegen/lowering/Ptx.h"
#include "lib/Proto/executable.pb.h"
#include "lib/Runtime/Program/Payload.h"
#include "lib/Runtime/Program/ValidateExecutable.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "tools/st-translate/Translations.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/SourceMgr.h"

namespace mlir::st {
namespace {

namespace proto = ::st::proto;

/// Returns a training binary's code of one kind.
absl::StatusOr<std::string> readImage(StringRef binary, proto::CudaImage::Kind kind) {
  auto payload = ::st::findPayload({binary.data(), binary.size()});
  if (!payload.ok())
    return payload.status();
  auto program = ::st::parseExecutable(*payload);
  if (!program.ok())
    return program.status();
  for (const proto::CudaImage &image : program->cuda().images())
    if (image.kind() == kind)
      return image.data();
  if (program->target() != "cuda" || program->cuda().gpu().chip() == "host")
    return absl::InvalidArgumentError("it is not a program for a GPU");
  return absl::NotFoundError(kind == proto::CudaImage::CUBIN
                                 ? "it has no cubin: st-compile found no ptxas"
                                 : "it has no PTX");
}

/// The disassembler's text.
absl::StatusOr<std::string> disassemble(const std::string &cubin) {
  namespace fs = llvm::sys::fs;
  const std::string tool = cuda::findCudaTool("nvdisasm");
  if (tool.empty())
    return absl::NotFoundError("nvdisasm is neither on PATH nor in $CUDA_HOME/bin or "
                               "/usr/local/cuda/bin; it comes with CUDA");
  SmallString<128> source, text;
  int file;
  if (fs::createTemporaryFile("st-kernels", "cubin", file, source) ||
      fs::createTemporaryFile("st-kernels", "sass", text))
    return absl::UnavailableError("cannot write the files that nvdisasm needs");
  auto removeFiles = llvm::scope_exit([&] {
    fs::remove(source);
    fs::remove(text);
  });
  {
    llvm::raw_fd_ostream stream(file, /*shouldClose=*/true);
    stream << cubin;
  }
  std::string message;
  const std::optional<StringRef> redirects[] = {std::nullopt, StringRef(text), std::nullopt};
  if (llvm::sys::ExecuteAndWait(tool, {tool, "-c", source}, std::nullopt, redirects, 0, 0,
                                &message) != 0)
    return absl::UnavailableError((tool + " failed" + (message.empty() ? "" : ": " + message)));
  auto bytes = llvm::MemoryBuffer::getFile(text);
  if (!bytes)
    return absl::UnavailableError("cannot read the output of nvdisasm: " +
                                  bytes.getError().message());
  return (*bytes)->getBuffer().str();
}

LogicalResult print(llvm::SourceMgr &source, llvm::raw_ostream &os, proto::CudaImage::Kind kind) {
  const llvm::MemoryBuffer *file = source.getMemoryBuffer(source.getMainFileID());
  absl::StatusOr<std::string> code = readImage(file->getBuffer(), kind);
  if (code.ok() && kind == proto::CudaImage::CUBIN)
    code = disassemble(*code);
  if (!code.ok()) {
    llvm::errs() << file->getBufferIdentifier()
                 << ": error: " << std::string(code.status().message()) << "\n";
    return failure();
  }
  os << *code;
  return success();
}

} // namespace

void registerExecutableToCode() {
  static TranslateRegistration ptx(
      "executable-to-ptx", "print the PTX of a training binary for GPUs",
      [](const std::shared_ptr<llvm::SourceMgr> &source, llvm::raw_ostream &os, MLIRContext *) {
        return print(*source, os, proto::CudaImage::PTX);
      });
  static TranslateRegistration sass(
      "executable-to-sass",
      "disassemble the machine code of a training binary for GPUs with CUDA's nvdisasm",
      [](const std::shared_ptr<llvm::SourceMgr> &source, llvm::raw_ostream &os, MLIRContext *) {
        return print(*source, os, proto::CudaImage::CUBIN);
      });
}

} // namespace mlir::st
