// Assigns the tensors of a checkpoint to files.
#ifndef ST_RUNTIME_CHECKPOINT_SHARDPLAN_H
#define ST_RUNTIME_CHECKPOINT_SHARDPLAN_H

#include "lib/Runtime/State/States.h"
#include "st/Runtime/Communicator.h"

#include "absl/strings/string_view.h"

#include <cstdint>
#include <string>
#include <vector>

namespace st {

/// A safetensors file of a checkpoint.
struct ShardFile {
  std::string name;
  std::vector<const StateTensor *> tensors; ///< in the order of their data
  int64_t bytes = 0;                        ///< of their data
  int64_t process = 0;                      ///< that writes it
};

/// The files of one of kTensorKinds. If the tensors of the kind exceed `limit` bytes, the files are
/// "model-00001-of-00003.safetensors", … of at most `limit` bytes, in the order of the states. A
/// larger tensor has a separate file. The plan depends only on the tensors and the limit. Only
/// `process` depends on the layout: it is a process that holds the most bytes of the file. If
/// several processes hold about the same number of bytes, the plan spreads the files over them.
std::vector<ShardFile> planShards(absl::string_view kind, const std::vector<StateTensor> &states,
                                  int64_t limit, const Communicator &communicator);

/// "model.safetensors.index.json"
std::string indexName(absl::string_view kind);

/// The content of this file, as Hugging Face's libraries write and read it.
std::string printIndex(const std::vector<ShardFile> &shards);

/// Returns true for the name of a file of planShards, with any number of files, or of an index.
bool isShardName(absl::string_view name);

} // namespace st

#endif // ST_RUNTIME_CHECKPOINT_SHARDPLAN_H
