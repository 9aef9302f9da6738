// The index of a model in several safetensors files.
#ifndef ST_RUNTIME_STATE_SHARDINDEX_H
#define ST_RUNTIME_STATE_SHARDINDEX_H

#include "absl/status/statusor.h"

#include <map>
#include <string>

namespace st {

/// The file of each tensor, from "model.safetensors.index.json" of a Hugging Face folder. An error
/// unless each file is a .safetensors file of the same folder.
absl::StatusOr<std::map<std::string, std::string>> readShardIndex(const std::string &path);

} // namespace st

#endif // ST_RUNTIME_STATE_SHARDINDEX_H
