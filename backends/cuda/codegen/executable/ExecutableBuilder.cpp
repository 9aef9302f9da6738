#include "backends/cuda/codegen/executable/ExecutableBuilder.h"

#include "backends/common/ProgramToExecutable.h"
#include "backends/cuda/codegen/Passes.h"
#include "backends/cuda/codegen/executable/CommandList.h"
#include "backends/cuda/codegen/executable/HostImage.h"
#include "dialects/St/IR/StDialect.h"
#include "lib/Timing/GpuDescription.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

#include <map>

using namespace mlir;
using namespace mlir::cuda;
namespace proto = ::st::proto;

static FailureOr<proto::GpuDescription> getDescription(ModuleOp module) {
  auto text = module->getAttrOfType<StringAttr>(kDescriptionAttr);
  if (!text)
    return module.emitError("has no ") << kDescriptionAttr << ": compile for a GPU";
  auto description = ::st::parseGpuDescription(text.getValue().str(), kDescriptionAttr.str());
  if (!description.ok())
    return module.emitError() << std::string(description.status().message());
  return *std::move(description);
}

/// Adds the images of a module of lowered kernels, if there are kernels.
static LogicalResult addImages(ModuleOp module, const CommandLists &lists, const std::string &chip,
                               proto::CudaCode &code) {
  if (lists.getKernels().empty())
    return success();
  if (chip == "host") {
    FailureOr<proto::CudaImage> image = compileHostImage(module, lists);
    if (failed(image))
      return failure();
    *code.add_images() = std::move(*image);
    return success();
  }
  FailureOr<std::string> ptx = compileToPtx(module, {chip, /*toolkit=*/""});
  if (failed(ptx))
    return failure();
  FailureOr<std::optional<std::string>> cubin = assemblePtx(module, *ptx, chip);
  if (failed(cubin))
    return failure();
  if (*cubin) {
    proto::CudaImage &image = *code.add_images();
    image.set_kind(proto::CudaImage::CUBIN);
    image.set_chip(chip);
    image.set_data(**std::move(cubin));
  }
  proto::CudaImage &image = *code.add_images();
  image.set_kind(proto::CudaImage::PTX);
  image.set_chip(chip);
  image.set_data(*std::move(ptx));
  return success();
}

/// plan-memory has checked the arenas, before scratch memory was known.
static LogicalResult checkCapacity(ModuleOp module, const proto::Executable &executable) {
  auto target = module->getAttrOfType<mlir::st::TargetAttr>("st.target");
  const int64_t scratch = executable.cuda().scratch_bytes();
  std::map<int64_t, int64_t> needed; // by device
  for (const proto::Group &group : executable.groups())
    for (int64_t device : group.device_ids())
      needed[device] += group.arena_bytes() + scratch;
  for (auto [device, bytes] : needed)
    if (target && bytes > target.getMemoryBytes())
      return module.emitError()
             << "device " << device << " needs " << bytes << " bytes, including " << scratch
             << " bytes of kernel scratch memory per rank, but has " << target.getMemoryBytes()
             << "; set \"recompute\": \"fit\" in the parallel file, or use more micro-batches "
                "(accum_degree), shards (sharding_size) or stages (stage_cnt)";
  return success();
}

FailureOr<proto::Executable> mlir::cuda::buildExecutable(ModuleOp module) {
  FailureOr<proto::GpuDescription> description = getDescription(module);
  if (failed(description))
    return failure();
  PassManager passes(module.getContext());
  if (failed(parsePassPipeline("convert-kernels-to-gpu{attention=true},merge-launches", passes)) ||
      failed(passes.run(module)))
    return failure();

  proto::Executable executable;
  executable.set_target("cuda");
  proto::CudaCode &code = *executable.mutable_cuda();
  CommandLists lists;
  auto translate = [&](mlir::st::TaskOp task) -> FailureOr<mlir::st::TaskCode> {
    auto name = task->getAttrOfType<FlatSymbolRefAttr>(kFunctionAttr);
    auto function = name ? module.lookupSymbol<func::FuncOp>(name.getValue()) : func::FuncOp();
    if (!function)
      return task.emitOpError("has no ") << kFunctionAttr;
    FailureOr<proto::CudaProgram> program = lists.translate(function);
    if (failed(program))
      return failure();
    return mlir::st::TaskCode{program->SerializeAsString()};
  };
  if (failed(mlir::st::fillExecutable(
          module, {translate, kConstantsAttr, kTableSizeAttr, kRankTableAttr}, executable)))
    return failure();
  for (size_t kernel = 0; kernel < lists.getKernels().size(); ++kernel)
    *code.add_kernels() = lists.describe(kernel);
  if (auto bytes = module->getAttrOfType<IntegerAttr>(kScratchAttr))
    code.set_scratch_bytes(bytes.getInt());
  if (failed(checkCapacity(module, executable)))
    return failure();
  if (failed(addImages(module, lists, description->chip(), code)))
    return failure();
  *code.mutable_gpu() = *std::move(description);
  return executable;
}
