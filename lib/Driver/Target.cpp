#include "lib/Driver/Target.h"

#include "backends/cuda/codegen/Passes.h"
#include "backends/dtu/codegen/Passes.h"
#include "lib/Driver/Prediction/LinkCosts.h"
#include "lib/Timing/DtuDescription.h"
#include "lib/Timing/GpuDescription.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

using namespace mlir;
using namespace mlir::st;
using ::st::proto::DtuDescription;
using ::st::proto::GpuDescription;

/// Buffers are aligned for transfers of both devices: a vector of the DTU, a cache line of a GPU.
static constexpr int64_t kAlignment = 128;

absl::StatusOr<Target> Target::find(const std::string &name) {
  bool isFile = StringRef(name).contains('/') || StringRef(name).ends_with(".textproto");
  // Errors in a file begin with its name.
  auto wrap = [&](auto description) -> absl::StatusOr<Target> {
    if (description.ok())
      return Target(*std::move(description));
    if (isFile)
      return description.status();
    return absl::InvalidArgumentError(
        absl::StrCat("--target=", name, ": ", description.status().message()));
  };
  if (::st::isGpuName(name))
    return wrap(isFile ? ::st::loadGpuDescription(name) : ::st::builtinGpuDescription(name));
  if (isFile)
    return wrap(::st::loadDtuDescription(name));
  std::vector<std::string> names = ::st::builtinDtuDescriptionNames();
  if (llvm::is_contained(names, name))
    return wrap(::st::builtinDtuDescription(name));
  llvm::append_range(names, ::st::builtinGpuDescriptionNames());
  return wrap(absl::StatusOr<DtuDescription>(absl::NotFoundError(
      absl::StrCat("no device description '", name, "'; there are ", absl::StrJoin(names, ", ")))));
}

absl::StatusOr<Target> Target::of(ModuleOp module) {
  auto wrap = [](auto description) -> absl::StatusOr<Target> {
    return description.ok() ? absl::StatusOr<Target>(Target(*std::move(description)))
                            : description.status();
  };
  if (auto text = module->getAttrOfType<StringAttr>(cuda::kDescriptionAttr))
    return wrap(::st::parseGpuDescription(text.getValue().str(), cuda::kDescriptionAttr.str()));
  if (auto text = module->getAttrOfType<StringAttr>(dtu::kDescriptionAttr))
    return wrap(::st::parseDtuDescription(text.getValue().str(), dtu::kDescriptionAttr.str()));
  return absl::InvalidArgumentError("the module has no target's description");
}

bool Target::isGpu() const { return std::holds_alternative<GpuDescription>(description); }

const std::string &Target::name() const {
  return std::visit([](const auto &held) -> const std::string & { return held.name(); },
                    description);
}

absl::Status Target::checkDevice(int64_t id) const {
  if (const auto *gpu = std::get_if<GpuDescription>(&description))
    return ::st::checkGpuId(*gpu, id);
  return ::st::dtuPlace(std::get<DtuDescription>(description), id).status();
}

bool Target::hasHostMemory() const {
  const auto *dtu = std::get_if<DtuDescription>(&description);
  return dtu && ::st::dtuSizes(*dtu).hostBytes > 0;
}

void Target::record(ModuleOp module) const {
  MLIRContext *context = module.getContext();
  auto set = [&](StringRef name, int64_t value) {
    module->setAttr(name, Builder(context).getI64IntegerAttr(value));
  };
  auto bytes = [](const ::st::proto::Figure &figure) {
    return static_cast<int64_t>(figure.value());
  };
  std::string text =
      std::visit([](const auto &held) { return held.ShortDebugString(); }, description);
  if (const auto *gpu = std::get_if<GpuDescription>(&description)) {
    const int64_t alignment = std::max<int64_t>(bytes(gpu->matrix_alignment_bytes()), 1);
    // A GPU's core is a block, whose shared memory is private. All blocks share L2.
    module->setAttr("st.target",
                    TargetAttr::get(context, "cuda", gpu->name(), kAlignment,
                                    bytes(gpu->block_shared_bytes()), bytes(gpu->memory_bytes()),
                                    /*host_bytes=*/0, alignment,
                                    std::max(bytes(gpu->matrix_row_bytes()), alignment)));
    set("st.cores", gpu->multiprocessors());
    set("st.shared_bytes", bytes(gpu->l2_bytes()));
    module->setAttr(cuda::kDescriptionAttr, StringAttr::get(context, text));
    return;
  }
  const auto &dtu = std::get<DtuDescription>(description);
  module->setAttr("st.target",
                  TargetAttr::get(context, "dtu", dtu.name(), kAlignment,
                                  bytes(dtu.l1_bytes_per_core()),
                                  bytes(dtu.l3_bytes_per_chip()) / dtu.clusters_per_chip(),
                                  ::st::dtuSizes(dtu).hostBytes, /*matrix_alignment=*/1,
                                  /*matrix_row_bytes=*/1));
  set("st.cores", dtu.cores_per_cluster());
  set("st.shared_bytes", bytes(dtu.l2_bytes_per_cluster()));
  module->setAttr(dtu::kDescriptionAttr, StringAttr::get(context, text));
}

void Target::recordCosts(ModuleOp module) const {
  std::visit([&](const auto &held) { recordLinkCosts(module, held); }, description);
}
