// The config.json of a model folder, held against that of what a
// program was compiled from.
#ifndef ST_RUNTIME_MODELFOLDER_H
#define ST_RUNTIME_MODELFOLDER_H

#include "google/protobuf/struct.pb.h"
#include "lib/Proto/executable.pb.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <optional>
#include <string>

namespace st {

using ModelConfig = google::protobuf::Struct;

/// Whether a configuration says that the output embeddings are the input embeddings.
bool tiesEmbeddings(const ModelConfig &config);

/// The config.json at `path`; empty where there is none. An error where it
/// describes another function than the program's configuration does in what no
/// tensor's shape shows: model type, layers, heads, activation, epsilon, rotary
/// base, patches. A key that is left out has the default of Hugging Face.
absl::StatusOr<std::optional<ModelConfig>> readModelConfig(const std::string &path,
                                                           const proto::Executable &program);

/// Lines that begin with "warning: ", one for each dropout of the program that is
/// another than that of the config.json at `path`: it changes the training and not the model.
std::string compareDropout(const std::string &path, const ModelConfig &found,
                           const proto::Executable &program);

/// The config.json of a checkpoint: the program's, with the class of the task as
/// its "architectures" and the type of the saved parameters as its "dtype" or
/// "torch_dtype", so that transformers loads what was trained.
std::string savedConfig(const proto::Executable &program);

} // namespace st

#endif // ST_RUNTIME_MODELFOLDER_H
