// Replacement of libcudnn.so.9: see Streams.h. Computes a graph operation by operation in f32, from
// its descriptors. Recognises the graphs of attention that NVIDIA's engines accept by the kinds of
// their operations, and rejects all others. ST_STANDIN_CUDNN="old" has too low a version, "none"
// has no engines; plans of "fails" do not run, those of "wrong" compute other results, those of
// "wrong-gradient" only other gradients, and those of "unwritten" nothing.
#include "test/standins/CudnnRun.h"
#include "test/standins/Faults.h"
#include "test/standins/Streams.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

using namespace st;
using namespace st::cuda;
using namespace standin::cudnn;

namespace {

constexpr int64_t kWorkspaceBytes = 256; // of an engine

bool isSwitchedTo(const char *value) {
  const char *text = std::getenv("ST_STANDIN_CUDNN");
  return text && std::strcmp(text, value) == 0;
}

struct Library {
  void *stream = nullptr;
};

} // namespace

extern "C" {

size_t cudnnGetVersion() { return isSwitchedTo("old") ? 90100 : 91900; }

void cudnnGetLastErrorString(char *text, size_t bytes) {
  std::snprintf(text, bytes, "%s", lastError().c_str());
}

int cudnnCreate(void **library) {
  if (int planned = standin::findFailure(__func__))
    return planned;
  *library = new Library;
  return standin::currentGpu() < 0 ? fail(kExecutionFailed, "no GPU is entered") : kSuccess;
}
int cudnnDestroy(void *library) {
  delete static_cast<Library *>(library);
  return kSuccess;
}
int cudnnSetStream(void *library, void *stream) {
  static_cast<Library *>(library)->stream = stream;
  return kSuccess;
}

int cudnnBackendCreateDescriptor(int kind, void **desc) {
  *desc = new Desc(kind);
  return kSuccess;
}
int cudnnBackendDestroyDescriptor(void *desc) {
  delete static_cast<Desc *>(desc);
  return kSuccess;
}

int cudnnBackendSetAttribute(void *descriptor, int attribute, int type, int64_t count,
                             const void *elements) {
  auto &desc = *static_cast<Desc *>(descriptor);
  if (desc.isFinal || count < 1)
    return fail(kBadParam, "an attribute of a finalised descriptor");
  std::vector<int64_t> &numbers = desc.numbers[attribute];
  numbers.clear();
  for (int64_t i = 0; i < count; ++i)
    switch (type) {
    case kCudnnInt64Type:
      numbers.push_back(static_cast<const int64_t *>(elements)[i]);
      break;
    case kCudnnBoolType:
      numbers.push_back(static_cast<const bool *>(elements)[i]);
      break;
    case kCudnnDataTypeType:
    case kCudnnHeuristicsType:
    case kCudnnPointwiseType:
    case kCudnnReductionType:
      numbers.push_back(static_cast<const int *>(elements)[i]);
      break;
    case kCudnnDescriptorType: {
      const void *other = static_cast<void *const *>(elements)[i];
      if (!static_cast<const Desc *>(other)->isFinal)
        return fail(kBadParam, "a descriptor that is not finalised");
      if (i == 0)
        desc.pointers[attribute].clear();
      desc.pointers[attribute].push_back(other);
      break;
    }
    case kCudnnPointerType:
    case kCudnnHandleType:
      if (i == 0)
        desc.pointers[attribute].clear();
      desc.pointers[attribute].push_back(static_cast<void *const *>(elements)[i]);
      break;
    default:
      return fail(kBadParam, "an attribute of an unknown type");
    }
  return kSuccess;
}

int cudnnBackendFinalize(void *descriptor) {
  if (int planned = standin::findFailure(__func__))
    return planned;
  auto &desc = *static_cast<Desc *>(descriptor);
  const int status = check(desc);
  desc.isFinal = status == kSuccess;
  return status;
}

int cudnnBackendGetAttribute(void *descriptor, int attribute, int, int64_t most, int64_t *count,
                             void *elements) {
  const auto &desc = *static_cast<Desc *>(descriptor);
  if (!desc.isFinal || most < 1)
    return fail(kBadParam, "an attribute of a descriptor that is not finalised");
  *count = 1;
  if (attribute == kCudnnPlanWorkspace) {
    *static_cast<int64_t *>(elements) = kWorkspaceBytes;
    return kSuccess;
  }
  if (attribute != kCudnnHeuristicsResults)
    return fail(kBadParam, "an attribute that is not there");
  const Desc *graph = desc.other(kCudnnHeuristicsGraph);
  if (isSwitchedTo("none") || !hasEngine(*graph)) {
    *count = 0;
    return kSuccess;
  }
  auto &config = **static_cast<Desc **>(elements);
  config.pointers[kCudnnHeuristicsGraph] = {graph};
  config.isFinal = true;
  return kSuccess;
}

int cudnnBackendExecute(void *handle, void *planned, void *variantPack) {
  if (int planned = standin::findFailure(__func__))
    return planned;
  const auto &plan = *static_cast<Desc *>(planned), &pack = *static_cast<Desc *>(variantPack);
  if (!plan.isFinal || !pack.isFinal || plan.pointers.at(kCudnnPlanHandle).front() != handle)
    return fail(kBadParam, "a plan or its pointers are not finalised");
  const Desc &graph = *plan.other(kCudnnPlanConfig)->other(kCudnnHeuristicsGraph);
  Pointers pointers;
  const std::vector<int64_t> &ids = pack.numbers.at(kCudnnPackIds);
  for (size_t i = 0; i < ids.size(); ++i)
    pointers[ids[i]] =
        static_cast<uint8_t *>(const_cast<void *>(pack.pointers.at(kCudnnPackPointers)[i]));
  void *workspace = const_cast<void *>(pack.pointers.at(kCudnnPackWorkspace).front());
  if (!standin::isAllocated(reinterpret_cast<uint64_t>(workspace), kWorkspaceBytes))
    return fail(kBadParam, "the workspace is no memory of a GPU");
  if (isSwitchedTo("fails"))
    return fail(kExecutionFailed, "an engine does not run");
  if (reinterpret_cast<uint64_t>(workspace) % 256 != 0)
    return fail(kBadParam, "the workspace is not aligned to 256 bytes");
  const bool isWrong = isSwitchedTo("wrong"), isUnwritten = isSwitchedTo("unwritten");
  const bool isGradientWrong = isSwitchedTo("wrong-gradient");
  auto operations = std::make_shared<std::vector<Operation>>();
  auto onHost = std::make_shared<std::map<int64_t, float>>(); // Read now: they are the caller's.
  for (const void *op : graph.pointers.at(kCudnnGraphOps))
    for (const Tensor &tensor :
         operations->emplace_back(describe(*static_cast<const Desc *>(op))).operands) {
      if (tensor.isVirtual)
        continue;
      auto it = pointers.find(tensor.id);
      if (it == pointers.end())
        return fail(kBadParam, "a tensor in memory has no pointer");
      const auto address = reinterpret_cast<uint64_t>(it->second);
      if (tensor.isByValue)
        (*onHost)[tensor.id] = *reinterpret_cast<const float *>(it->second);
      else if (address % 16 != 0 ||
               !standin::isAllocated(address, static_cast<size_t>(tensor.bytes())))
        return fail(kBadParam, "a tensor is not aligned, or is not in the memory of a GPU");
    }
  const int given = standin::enqueue(static_cast<Library *>(handle)->stream, [=]() mutable {
    // Engines overwrite their workspace, so it must not be in use.
    std::memset(workspace, 0x5a, kWorkspaceBytes);
    for (auto &[id, number] : *onHost)
      pointers[id] = reinterpret_cast<uint8_t *>(&number);
    Run run(pointers);
    int differences = 0; // A gradient has two.
    for (Operation op : *operations) {
      const bool isDifference = op.kind == kCudnnPointwiseOp && op.mode == kCudnnSub;
      differences += isDifference;
      if (isDifference && (isWrong || (isGradientWrong && differences == 2)))
        op.mode = kCudnnAdd;
      if (!isUnwritten)
        run.run(op);
    }
    return 0;
  });
  return given == 0 ? kSuccess : fail(kExecutionFailed, "the stream takes no work");
}

} // extern "C"
