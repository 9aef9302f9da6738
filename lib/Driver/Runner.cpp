#include "lib/Driver/Runner.h"

#include "lib/Runtime/Program/Payload.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

#include "absl/strings/str_cat.h"

using namespace mlir;

/// st-runner has a section of this name, which distinguishes it from other executables.
static constexpr StringLiteral kMarkSection = ".st_runner";

static bool isMarked(llvm::MemoryBufferRef file) {
  auto object = llvm::object::ObjectFile::createObjectFile(file);
  if (!object) {
    llvm::consumeError(object.takeError());
    return false;
  }
  for (const llvm::object::SectionRef &section : (*object)->sections()) {
    llvm::Expected<StringRef> name = section.getName();
    if (!name)
      llvm::consumeError(name.takeError());
    else if (*name == kMarkSection)
      return true;
  }
  return false;
}

absl::Status mlir::st::checkRunner(StringRef path) {
  auto refuse = [&](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat(path.str(), ": ", what));
  };
  // Reading a pipe or a device might never end.
  if (llvm::sys::fs::exists(path) && !llvm::sys::fs::is_regular_file(path))
    return refuse("expected the st-runner executable, found no regular file");
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                          /*RequiresNullTerminator=*/false);
  if (!file)
    return refuse(absl::StrCat("cannot read the runner: ", file.getError().message()));
  StringRef content = (*file)->getBuffer();
  if (!isMarked(**file))
    return refuse("expected the st-runner executable, found another file");
  if (::st::findPayload({content.data(), content.size()}).ok())
    return refuse("expected a bare st-runner, found a training binary");
  return absl::OkStatus();
}
