// What the Python package asks beyond the PJRT C API.
#pragma once

#include "plugins/pjrt/runtime/PluginClient.h"

#include <memory>

namespace st::pjrt {

/// The client of which lastStep tells.
void setLastClient(const std::shared_ptr<PluginClient> &client);

} // namespace st::pjrt
