//===- TrainingRun.cpp - A training run as other software describes it ----===//

#include "lib/Frontend/TrainingRun.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::st;

StringRef mlir::st::stringify(RunFamily family) {
  return family == RunFamily::MegatronBert ? "megatron-bert" : "megatron-gpt";
}

StringRef mlir::st::stringify(RunPrecision precision) {
  switch (precision) {
  case RunPrecision::F32:
    return "f32";
  case RunPrecision::F16:
    return "f16";
  case RunPrecision::BF16:
    return "bf16";
  }
  llvm_unreachable("unknown precision");
}

StringRef mlir::st::stringify(RunRecomputation recomputation) {
  switch (recomputation) {
  case RunRecomputation::None:
    return "none";
  case RunRecomputation::Selective:
    return "selective";
  case RunRecomputation::Full:
    return "full";
  }
  llvm_unreachable("unknown recomputation");
}

StringRef mlir::st::stringify(RunPositions positions) {
  switch (positions) {
  case RunPositions::Learned:
    return "learned";
  case RunPositions::Rotary:
    return "rotary";
  case RunPositions::Relative:
    return "relative";
  case RunPositions::None:
    return "none";
  }
  llvm_unreachable("unknown positions");
}

StringRef mlir::st::stringify(RunGradientReduction reduction) {
  return reduction == RunGradientReduction::Local ? "local" : "torch";
}

StringRef mlir::st::stringify(RunOffload offload) {
  switch (offload) {
  case RunOffload::None:
    return "none";
  case RunOffload::Host:
    return "host";
  case RunOffload::Disk:
    return "disk";
  }
  llvm_unreachable("unknown offload");
}

int64_t mlir::st::padVocabulary(int64_t vocabulary, int64_t multiple, int64_t tensorParallel) {
  int64_t step = 0;
  if (vocabulary <= 0 || llvm::MulOverflow(multiple, tensorParallel, step) || step <= 0)
    return 0;
  int64_t blocks = (vocabulary - 1) / step + 1, padded = 0;
  return llvm::MulOverflow(blocks, step, padded) ? 0 : padded;
}
