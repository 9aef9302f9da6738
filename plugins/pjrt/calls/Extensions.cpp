#include "plugins/pjrt/abi/Extensions.h"
#include "plugins/pjrt/calls/Calls.h"

namespace st::pjrt {

namespace {

// Null for a program on one device, whose shardings callers do not query.
absl::Status argumentShardings(PJRT_Shardings_PJRT_Executable_ParameterShardings_Args &args) {
  PJRT_Executable &executable = *args.executable;
  const bool isSplit = executable.program->partitions() > 1;
  args.num_parameters = static_cast<size_t>(executable.program->arguments_size());
  args.shardings = isSplit ? executable.shardingPointers.data() : nullptr;
  args.sharding_sizes = isSplit ? executable.shardingSizes.data() : nullptr;
  return absl::OkStatus();
}

absl::Status resultShardings(PJRT_Shardings_PJRT_Executable_OutputShardings_Args &args) {
  PJRT_Executable &executable = *args.executable;
  const bool isSplit =
      executable.program->partitions() > 1 && executable.program->results_size() > 0;
  const auto first = static_cast<size_t>(executable.program->arguments_size());
  args.num_outputs = static_cast<size_t>(executable.program->results_size());
  args.shardings = isSplit ? executable.shardingPointers.data() + first : nullptr;
  args.sharding_sizes = isSplit ? executable.shardingSizes.data() + first : nullptr;
  return absl::OkStatus();
}

} // namespace

PJRT_Extension_Base *extensions() {
  static PJRT_Shardings_Extension shardings = {
      {sizeof(PJRT_Shardings_Extension), PJRT_Extension_Type_Shardings, layoutsExtension()},
      Call<argumentShardings>::call,
      Call<resultShardings>::call};
  return &shardings.base;
}

} // namespace st::pjrt
