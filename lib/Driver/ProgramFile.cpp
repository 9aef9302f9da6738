#include "lib/Driver/ProgramFile.h"

#include "lib/Support/AtomicFile.h"
#include "lib/Support/InputFile.h"
#include "lib/Support/ProgramText.h"

#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

#include "absl/strings/str_cat.h"

using namespace mlir;
using namespace mlir::st;

/// The limit exceeds the text of the largest model by far.
static constexpr size_t kMaxProgramBytes = size_t(1) << 30;

namespace {
/// A buffer that owns a string, without a copy of its content.
class StringBuffer : public llvm::MemoryBuffer {
public:
  StringBuffer(std::string content, StringRef name) : content(std::move(content)), name(name) {
    init(this->content.data(), this->content.data() + this->content.size(),
         /*RequiresNullTerminator=*/true);
  }
  BufferKind getBufferKind() const override { return MemoryBuffer_Malloc; }
  StringRef getBufferIdentifier() const override { return name; }

private:
  std::string content, name;
};
} // namespace

absl::StatusOr<std::unique_ptr<llvm::MemoryBuffer>> mlir::st::readInput(StringRef path) {
  StringRef name = path == "-" ? "<stdin>" : path;
  absl::StatusOr<std::string> content = ::st::readInputFile(path.str(), kMaxProgramBytes);
  if (!content.ok())
    return absl::Status(content.status().code(),
                        absl::StrCat(name.str(), ": cannot read: ", content.status().message()));
  return std::make_unique<StringBuffer>(*std::move(content), name);
}

absl::Status mlir::st::writeOutput(StringRef path, StringRef content) {
  if (path != "-")
    return ::st::writeFileAtomically(path.str(), {content.data(), content.size()});
  llvm::raw_fd_ostream &out = llvm::outs();
  out << content;
  out.flush();
  std::error_code error = out.error();
  out.clear_error();
  return error ? absl::UnavailableError(absl::StrCat("<stdout>: cannot write: ", error.message()))
               : absl::OkStatus();
}

LogicalResult mlir::st::checkProgramText(const llvm::MemoryBuffer &text, MLIRContext *context) {
  StringRef content = text.getBuffer(), name = text.getBufferIdentifier();
  if (::st::isBytecode(content))
    return emitError(FileLineColLoc::get(context, name, 1, 1))
           << "expected a program as text, found MLIR bytecode";
  std::optional<::st::TextFault> fault = ::st::findDeepNesting(content);
  // MLIR treats a zero byte as a space, and a file of zeros as an empty program.
  if (size_t nul = content.find('\0'); nul != StringRef::npos && (!fault || nul < fault->offset))
    fault = ::st::TextFault{nul, "expected text, found a byte of value 0"};
  if (!fault)
    return success();
  StringRef before = content.take_front(fault->offset);
  unsigned line = before.count('\n') + 1, column = before.size() - (before.rfind('\n') + 1) + 1;
  return emitError(FileLineColLoc::get(context, name, line, column)) << fault->message;
}

OwningOpRef<ModuleOp> mlir::st::parseProgram(const std::shared_ptr<llvm::SourceMgr> &source,
                                             const ParserConfig &config) {
  const llvm::MemoryBuffer &text = *source->getMemoryBuffer(source->getMainFileID());
  if (failed(checkProgramText(text, config.getContext())))
    return nullptr;
  return parseSourceFile<ModuleOp>(source, config);
}
