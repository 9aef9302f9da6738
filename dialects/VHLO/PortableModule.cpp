#include "dialects/VHLO/PortableModule.h"

#include "dialects/Sdy/SdyDialect.h"
#include "dialects/StableHLO/StableHLODialect.h"
#include "dialects/VHLO/ExportedFile.h"
#include "dialects/VHLO/ModuleReader.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace mlir::st;

static constexpr StringLiteral kProducer = "StableHLO_v";

/// Returns true if the bytes start like an artifact.
static bool beginsArtifact(StringRef bytes) {
  // One byte, the version of the bytecode, follows the four magic bytes.
  return bytes.starts_with("ML\xefR") && bytes.drop_front(5).starts_with(kProducer);
}

bool mlir::st::isPortableArtifact(StringRef bytes) {
  return beginsArtifact(bytes) || beginsArtifact(vhlo::findExportedArtifact(bytes));
}

/// Refuses artifacts of other versions: their encoding can differ.
static void checkVersion(StringRef producer, vhlo::FaultSink &faults) {
  std::array<int64_t, 3> version = {0, 0, 0};
  StringRef text = producer;
  bool isVersion = text.consume_front(kProducer);
  SmallVector<StringRef> numbers;
  text.split(numbers, '.');
  isVersion &= numbers.size() == version.size();
  for (size_t i = 0; isVersion && i < version.size(); ++i)
    isVersion &= !numbers[i].getAsInteger(10, version[i]);
  constexpr std::array<int64_t, 3> kOldest = {1, 0, 0};
  if (isVersion && version >= kOldest && version <= kPortableVersion)
    return;
  auto print = [](std::array<int64_t, 3> v) {
    return (Twine(v[0]) + "." + Twine(v[1]) + "." + Twine(v[2])).str();
  };
  faults.report("expected an artifact of StableHLO " + print(kOldest) + " to " +
                print(kPortableVersion) + ", found one of \"" + producer + "\"");
}

OwningOpRef<ModuleOp> mlir::st::readPortableModule(llvm::MemoryBufferRef bytes,
                                                   MLIRContext &context) {
  context.loadDialect<func::FuncDialect, sdy::SdyDialect, stablehlo::StableHLODialect>();
  Location loc = FileLineColLoc::get(&context, bytes.getBufferIdentifier(), 0, 0);
  vhlo::FaultSink faults(loc);
  StringRef buffer = bytes.getBuffer();
  if (StringRef exported = vhlo::findExportedArtifact(buffer); beginsArtifact(exported))
    buffer = exported;
  std::optional<vhlo::Container> container = vhlo::readContainer(
      ArrayRef(reinterpret_cast<const uint8_t *>(buffer.data()), buffer.size()), faults);
  if (container)
    checkVersion(container->producer, faults);
  if (faults.failed())
    return nullptr;
  vhlo::Entries entries(*container, faults);
  OwningOpRef<ModuleOp> module = vhlo::readModule(entries);
  if (!module || failed(verify(*module)))
    return nullptr;
  return module;
}
