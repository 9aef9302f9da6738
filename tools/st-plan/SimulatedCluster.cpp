// Clusters of devices that a simulator times.

#include "tools/st-plan/PlanTool.h"

#include "lib/Costs/Profile.h"
#include "st/Runtime/Client.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::st;

/// The only implementation profile with programs for a DTU.
constexpr const char *kOwnProfile = "st";

bool PlanTool::simulates() const { return absl::StartsWith(cluster.device(), "dtu"); }

absl::Status PlanTool::checkSimulated() const {
  auto refuse = [&](auto... parts) {
    return absl::InvalidArgumentError(
        absl::StrCat(parts..., " on cluster ", cluster.name(), ", whose devices are DTUs"));
  };
  if (flags.profile.getNumOccurrences() > 0 && flags.profile != kOwnProfile)
    return refuse("--profile=", flags.profile.getValue(), ": expected ", kOwnProfile,
                  ", the only profile of simulated programs");
  if (!flags.constants.empty())
    return refuse("--constants=", flags.constants.getValue(),
                  " has no effect: steps are simulated");
  if (!flags.rows.empty())
    return refuse("--rows=", flags.rows.getValue(), ": simulated clusters have no measured runs");
  if (!flags.lintLog.empty())
    return refuse("--lint-log=", flags.lintLog.getValue(),
                  ": simulated clusters have no logged runs");
  if (!flags.whatIf.empty())
    return refuse("--what-if=", flags.whatIf.front(),
                  ": programs are compiled for the device's description");
  if (flags.offload)
    return refuse("--offload: optimizer state cannot be in the host's memory");
  for (const std::string &name : flags.placement)
    if (name != "cluster" && name != "tensor-data-pipeline")
      return refuse("--placement=", name,
                    ": expected tensor-data-pipeline, the rank order of compiled programs");
  return absl::OkStatus();
}

absl::Status PlanTool::loadSimulatedCluster() {
  if (absl::Status status = checkSimulated(); !status.ok())
    return status;
  auto found = ::st::findProfile(kOwnProfile);
  if (!found.ok())
    return found.status();
  profile = *std::move(found);
  // The peaks of the description bound the work that is not simulated.
  constants = {/*launchUs=*/0, /*productEfficiency=*/1, /*memoryEfficiency=*/1,
               /*networkEfficiency=*/1, /*stepUs=*/0};
  costs = std::make_unique<::st::GpuCosts>(cluster, profile, constants);
  models = std::make_unique<PlannedModels>(cluster.device());
  return absl::OkStatus();
}

SimulatedPrograms &PlanTool::simulatedOf(const PlanInput &input) {
  const std::string key = llvm::formatv(
      "{0} {1} {2} {3} {4} {5} {6}", input.config.json, stringify(input.task), input.model.layers,
      input.model.sequence, input.model.precision, input.vocabularyMultiple, printOptions(input));
  std::unique_ptr<SimulatedPrograms> &found = simulated[key];
  if (!found) {
    PlanInput own = input;
    own.config.layerCount = input.model.encoderLayers();
    found = std::make_unique<SimulatedPrograms>(
        own, flags.optimizer.empty() ? "adamw" : flags.optimizer.getValue(), cluster.device(),
        ::st::createDtuClient);
  }
  return *found;
}
