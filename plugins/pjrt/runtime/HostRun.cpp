#include "plugins/pjrt/runtime/HostRun.h"

#include "lib/Support/StatusMacros.h"
#include "plugins/pjrt/runtime/HostCallback.h"

#include <algorithm>
#include <cstring>

namespace st::pjrt {

static absl::Status loadStep(const proto::PluginStep &step, PluginDevice &device,
                             ::st::Client &runtime, LoadedSteps &steps) {
  if (step.has_program()) {
    // The program that owns the step outlives the loaded program.
    std::shared_ptr<const proto::PluginProgram> unowned(std::shared_ptr<void>(), &step.program());
    ST_ASSIGN_OR_RETURN(steps[&step.program()],
                        LoadedProgram::create(std::move(unowned), {&device}, runtime));
  }
  if (step.has_loop()) {
    ST_RETURN_IF_ERROR(loadSteps(step.loop().condition(), device, runtime, steps));
    ST_RETURN_IF_ERROR(loadSteps(step.loop().body(), device, runtime, steps));
  }
  for (const proto::PluginBlock &branch : step.branches().branches())
    ST_RETURN_IF_ERROR(loadSteps(branch, device, runtime, steps));
  return absl::OkStatus();
}

absl::Status loadSteps(const proto::PluginBlock &block, PluginDevice &device, ::st::Client &runtime,
                       LoadedSteps &steps) {
  for (const proto::PluginStep &step : block.steps())
    ST_RETURN_IF_ERROR(loadStep(step, device, runtime, steps));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<HostRun::Bytes>> HostRun::run(const proto::PluginBlock &block,
                                                         const std::vector<Bytes> &arguments) {
  for (int i = 0; i < block.arguments_size(); ++i)
    values[block.arguments(i)] = arguments[static_cast<size_t>(i)];
  for (const proto::PluginStep &step : block.steps()) {
    ST_ASSIGN_OR_RETURN(const std::vector<Bytes> results, runStep(step));
    for (int i = 0; i < step.outputs_size(); ++i)
      values[step.outputs(i)] = results[static_cast<size_t>(i)];
  }
  std::vector<Bytes> results;
  for (int number : block.results())
    results.push_back(values[number]);
  return results;
}

absl::StatusOr<std::vector<HostRun::Bytes>> HostRun::runStep(const proto::PluginStep &step) {
  std::vector<Bytes> inputs;
  for (int number : step.inputs())
    inputs.push_back(values[number]);
  switch (step.kind_case()) {
  case proto::PluginStep::kProgram:
    return steps.at(&step.program())->runNow(inputs);
  case proto::PluginStep::kCallback:
    return runCallback(step.callback(), inputs);
  case proto::PluginStep::kLoop:
    return runLoop(step.loop(), std::move(inputs));
  case proto::PluginStep::kBranches:
    return runBranch(step.branches(), *inputs.front());
  case proto::PluginStep::KIND_NOT_SET:
    break;
  }
  return absl::InternalError("a host step has no kind");
}

absl::StatusOr<std::vector<HostRun::Bytes>>
HostRun::runCallback(const proto::PluginCallback &callback, const std::vector<Bytes> &inputs) {
  std::vector<Bytes> results;
  std::vector<const void *> from;
  std::vector<void *> to;
  for (const Bytes &input : inputs)
    from.push_back(input->data());
  for (const proto::PluginPort &port : callback.results()) {
    ST_ASSIGN_OR_RETURN(Bytes bytes, Storage::create(device, fullType(port).numBytes()));
    to.push_back(bytes->data());
    results.push_back(std::move(bytes));
  }
  ST_RETURN_IF_ERROR(callHost(callback.number(), from, to));
  return results;
}

absl::StatusOr<std::vector<HostRun::Bytes>> HostRun::runLoop(const proto::PluginLoop &loop,
                                                             std::vector<Bytes> carried) {
  while (true) {
    ST_ASSIGN_OR_RETURN(const std::vector<Bytes> continues, run(loop.condition(), carried));
    if (*continues.front()->data() == 0)
      return carried;
    ST_ASSIGN_OR_RETURN(carried, run(loop.body(), carried));
  }
}

absl::StatusOr<std::vector<HostRun::Bytes>>
HostRun::runBranch(const proto::PluginBranches &branches, Storage &choice) {
  const int last = branches.branches_size() - 1;
  int32_t index = 0;
  if (branches.is_predicate()) {
    index = *choice.data() ? 0 : 1;
  } else {
    std::memcpy(&index, choice.data(), sizeof(index));
    if (index < 0 || index > last)
      index = last;
  }
  return run(branches.branches(index), {});
}

} // namespace st::pjrt
