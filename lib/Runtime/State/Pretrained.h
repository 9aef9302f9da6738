// Initial weights of a run from a Hugging Face folder.
//
//   model.safetensors                  the weights, or
//   model.safetensors.index.json       which file of several holds which tensor
//   config.json                        if present, it must describe the same architecture
//
// A tensor may lack the name of the model's base ("bert.", "transformer.",
// "model.", "vit.") or call a norm's scale and shift "gamma" and "beta", as older
// folders do. f32, f16, bf16 and f64 become the type of the parameter.
#ifndef ST_RUNTIME_PRETRAINED_H
#define ST_RUNTIME_PRETRAINED_H

#include "lib/Proto/executable.pb.h"
#include "lib/Runtime/State/States.h"
#include "lib/Support/Safetensors.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace st {

/// A folder of weights that fit the model. A head that the folder lacks keeps its initial values,
/// and tensors that the program lacks are skipped. For a printed step the optimizer's state is
/// loaded too, by its names, from the same files and `optimizer.safetensors`.
class PretrainedWeights {
public:
  /// Checks everything against the model. An error is one line that names the file and the tensor
  /// that is damaged, has another shape, is not of a floating-point type, appears twice, or is
  /// missing although it is not in a head.
  static absl::StatusOr<std::unique_ptr<PretrainedWeights>>
  open(const std::string &path, const proto::Executable &program,
       const std::vector<StateTensor> &states);

  /// Counts of loaded, initialised and skipped tensors, as full lines.
  std::string note() const;

  /// Copies every loaded tensor to all ranks that hold a part of its parameter.
  absl::Status apply(Executable &executable) const;

private:
  /// A parameter, its source tensor and the file of the source.
  struct Match {
    const StateTensor *parameter;
    const SafetensorsTensor *source;
    const std::string *file;
  };

  explicit PretrainedWeights(std::string path) : path(std::move(path)) {}
  absl::Status openFiles(const proto::Executable &program);
  absl::Status openSharded(const std::string &indexPath);
  absl::Status addFile(const std::string &file);
  absl::Status match(const proto::Executable &program, const std::vector<StateTensor> &states);
  absl::StatusOr<Match> find(const StateTensor &parameter, bool ties) const;
  static bool isParameter(const Match &match);
  absl::Status checkMatches() const;

  std::string path;
  std::vector<std::unique_ptr<SafetensorsReader>> files;
  /// Every tensor of the files with its file's path, by name.
  std::map<std::string, std::pair<const SafetensorsTensor *, const std::string *>> tensors;
  std::vector<Match> matches;
  std::vector<std::string> fresh;
  size_t ignored = 0;
};

} // namespace st

#endif // ST_RUNTIME_PRETRAINED_H
