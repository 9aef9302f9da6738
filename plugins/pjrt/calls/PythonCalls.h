// Functions of the Python package beyond the PJRT C API.
#pragma once

#include "plugins/pjrt/runtime/PluginClient.h"

#include <memory>

namespace st::pjrt {

/// Sets the client that lastStep reports on.
void setLastClient(const std::shared_ptr<PluginClient> &client);

} // namespace st::pjrt
