#include "lib/Driver/Prediction/ProgramReport.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Format.h"

using namespace mlir;

void mlir::st::printMemory(const ::st::proto::Executable &executable, llvm::raw_ostream &os) {
  constexpr llvm::StringLiteral kHostClass = "host";
  constexpr double kMebibyte = 1 << 20;
  bool usesHost = llvm::any_of(executable.groups(), [](const ::st::proto::Group &group) {
    return group.host_arena_bytes() > 0;
  });
  os << "\n  peak memory a device, MiB\n  group     ";
  if (executable.groups_size() > 0)
    for (const auto &entry : executable.groups(0).memory())
      if (entry.name() != kHostClass)
        os << llvm::format(" %12s", entry.name().c_str());
  const int64_t scratch = executable.cuda().scratch_bytes();
  if (scratch > 0)
    os << "      scratch";
  os << "        total" << (usesHost ? "  on the host\n" : "\n");
  for (const auto &group : executable.groups()) {
    os << llvm::format("  %-10s", group.name().c_str());
    for (const auto &entry : group.memory())
      if (entry.name() != kHostClass)
        os << llvm::format(" %12.1f", static_cast<double>(entry.bytes()) / kMebibyte);
    if (scratch > 0)
      os << llvm::format(" %12.1f", static_cast<double>(scratch) / kMebibyte);
    os << llvm::format(" %12.1f", static_cast<double>(group.arena_bytes() + scratch) / kMebibyte);
    if (usesHost)
      os << llvm::format(" %12.1f", static_cast<double>(group.host_arena_bytes()) / kMebibyte);
    os << '\n';
  }
}

void mlir::st::printPrediction(const ::st::proto::Executable &executable, llvm::raw_ostream &os) {
  constexpr double kPicosecondsPerMillisecond = 1e9;
  if (executable.has_prediction())
    os << llvm::format("  a step takes %.3f ms\n",
                       static_cast<double>(executable.prediction().picoseconds()) /
                           kPicosecondsPerMillisecond);
  else
    os << "  how long a step takes depends on its data\n";
}
