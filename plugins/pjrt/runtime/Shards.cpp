#include "plugins/pjrt/runtime/Shards.h"

#include "plugins/pjrt/runtime/LoadedProgram.h"

namespace st::pjrt {

namespace {

/// A shard's place in the complete array.
struct Place {
  size_t partition;
  int64_t offset; ///< bytes
};

/// The places of all shards: tiles in row-major order, each on one or more partitions. A port
/// without a sharding has the complete array on each of `partitions`.
std::vector<Place> placesOf(const proto::PluginPort &port, size_t partitions) {
  std::vector<Place> places;
  const ArrayType global = fullType(port), local = localType(port);
  const std::vector<int64_t> strides = global.strides();
  const auto &devices = port.sharding().tile_assignment_devices();
  if (devices.empty()) {
    for (size_t partition = 0; partition < partitions; ++partition)
      places.push_back({partition, 0});
    return places;
  }
  const auto &grid = port.sharding().tile_assignment_dimensions();
  const size_t rank = global.dims.size();
  int64_t tiles = 1;
  for (size_t dim = 0; dim < rank; ++dim)
    tiles *= grid[static_cast<int>(dim)];
  const int64_t holders = devices.size() / tiles;
  for (int i = 0; i < devices.size(); ++i) {
    int64_t tile = i / holders, offset = 0;
    for (size_t dim = rank; dim-- > 0;) {
      const int64_t count = grid[static_cast<int>(dim)];
      offset += tile % count * local.dims[dim] * strides[dim];
      tile /= count;
    }
    places.push_back({static_cast<size_t>(devices[i]), offset});
  }
  return places;
}

} // namespace

void joinShards(const proto::PluginPort &port, const std::vector<const uint8_t *> &shards,
                uint8_t *global) {
  const ArrayType local = localType(port);
  for (const Place &place : placesOf(port, /*partitions=*/1))
    copyStrided(local, shards[place.partition], local.strides(), global + place.offset,
                fullType(port).strides());
}

void splitShards(const proto::PluginPort &port, const uint8_t *global,
                 const std::vector<uint8_t *> &shards) {
  const ArrayType local = localType(port);
  for (const Place &place : placesOf(port, shards.size()))
    copyStrided(local, global + place.offset, fullType(port).strides(), shards[place.partition],
                local.strides());
}

} // namespace st::pjrt
