#include "plugins/pjrt/abi/Extensions.h"
#include "plugins/pjrt/calls/Calls.h"

namespace st::pjrt {

namespace {

absl::Status destroyLayout(PJRT_Layouts_MemoryLayout_Destroy_Args &args) {
  delete args.layout;
  return absl::OkStatus();
}

absl::Status serializeLayout(PJRT_Layouts_MemoryLayout_Serialize_Args &args) {
  auto *bytes = new PJRT_Serialized{args.layout->text};
  args.serialized_bytes = bytes->bytes.data();
  args.serialized_bytes_size = bytes->bytes.size();
  args.serialized_layout = bytes;
  args.serialized_layout_deleter = deleteSerialized;
  return absl::OkStatus();
}

absl::Status defaultOfClient(PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args &args) {
  args.layout = new PJRT_Layouts_MemoryLayout(layoutOfRank(args.num_dims));
  return absl::OkStatus();
}

absl::Status defaultOfTopology(PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args &args) {
  args.layout = new PJRT_Layouts_MemoryLayout(layoutOfRank(args.num_dims));
  return absl::OkStatus();
}

absl::Status layoutOfBuffer(PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args &args) {
  const ArrayType &type = args.buffer->array->type();
  args.layout = new PJRT_Layouts_MemoryLayout(layoutWith(type.minorToMajor, type.dims.size()));
  return absl::OkStatus();
}

// The executable owns these.
absl::Status argumentLayouts(PJRT_Layouts_PJRT_Executable_GetParameterLayouts_Args &args) {
  args.num_parameters = static_cast<size_t>(args.executable->program->arguments_size());
  args.layouts = args.executable->layoutPointers.data();
  return absl::OkStatus();
}

absl::Status resultLayouts(PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args &args) {
  args.num_outputs = static_cast<size_t>(args.executable->program->results_size());
  args.layouts =
      args.executable->layoutPointers.data() + args.executable->program->arguments_size();
  return absl::OkStatus();
}

} // namespace

PJRT_Extension_Base *layoutsExtension() {
  static PJRT_Layouts_Extension layouts = {
      {sizeof(PJRT_Layouts_Extension), PJRT_Extension_Type_Layouts, abiVersionExtension()},
      Call<destroyLayout>::call,
      Call<serializeLayout>::call,
      Call<defaultOfClient>::call,
      Call<layoutOfBuffer>::call,
      Call<defaultOfTopology>::call,
      Call<resultLayouts>::call,
      Call<argumentLayouts>::call};
  return &layouts.base;
}

} // namespace st::pjrt
