// Compares the config.json of a model folder with the configuration from which a program was
// compiled.
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

/// Returns true if a configuration ties the output embeddings to the input embeddings.
bool tiesEmbeddings(const ModelConfig &config);

/// The config.json at `path`; empty if there is none. An error if it describes another function
/// than the program's configuration in a property that no tensor shape shows: model type, layers,
/// heads, activation, epsilon, rotary base, patches. A missing key has Hugging Face's default.
absl::StatusOr<std::optional<ModelConfig>> readModelConfig(const std::string &path,
                                                           const proto::Executable &program);

/// Lines that begin with "warning: ", one for each dropout of the program that differs from the
/// config.json at `path`: dropout changes the training but not the model.
std::string compareDropout(const std::string &path, const ModelConfig &found,
                           const proto::Executable &program);

/// The config.json of a checkpoint: the program's, with the task's class as "architectures" and the
/// type of the saved parameters as "dtype" or "torch_dtype", so that transformers loads the trained
/// model.
std::string savedConfig(const proto::Executable &program);

/// The adapter_config.json of a checkpoint in `folder`, whose model.safetensors is the base model;
/// empty if the program has no adapters.
std::string savedAdapterConfig(const proto::Executable &program, const std::string &folder);

} // namespace st

#endif // ST_RUNTIME_MODELFOLDER_H
