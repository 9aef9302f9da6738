// Copies between a complete array and its shards on the devices of a program.
#pragma once

#include "plugins/pjrt/compile/program.pb.h"

#include <cstdint>
#include <vector>

namespace st::pjrt {

/// Fills the complete array of a port from its shards, one per partition.
void joinShards(const proto::PluginPort &port, const std::vector<const uint8_t *> &shards,
                uint8_t *global);

/// Fills the shards of a port, one per partition, from the complete array.
void splitShards(const proto::PluginPort &port, const uint8_t *global,
                 const std::vector<uint8_t *> &shards);

} // namespace st::pjrt
