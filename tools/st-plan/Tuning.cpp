// Prints a table of ZeRO levels and micro-batches for a DeepSpeed configuration that enables
// autotuning.

#include "lib/Planner/Answers/ZeroTable.h"
#include "tools/st-plan/PlanTool.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir::st;

absl::Status PlanTool::tuneZero(const PlanInput &input) {
  const std::vector<int64_t> levels =
      flags.zero.empty() ? std::vector<int64_t>{0, 1, 2, 3}
                         : std::vector<int64_t>(flags.zero.begin(), flags.zero.end());
  const int64_t accumulation = input.layout ? input.layout->microBatches : 1;
  const ::st::StepInputs inputs = inputsOf(input);
  auto table = ::st::tuneZero(inputs, deviceCount(input), accumulation, levels);
  if (!table.ok())
    return table.status();
  if (flags.json)
    llvm::outs() << ::st::printJson(::st::describeZeroTable(inputs, *table)) << '\n';
  else
    llvm::outs() << ::st::printZeroTable(*table);
  return emitLayout(table->spaces[table->best].best, input);
}
