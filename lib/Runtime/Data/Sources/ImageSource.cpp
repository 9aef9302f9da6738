#include "lib/Runtime/Data/Sources/ImageSource.h"
#include "lib/Runtime/Data/CounterRandom.h"
#include "lib/Runtime/State/NormalInit.h"

#include <algorithm>
#include <functional>
#include <vector>

namespace st {
namespace {

// Images of a class are noise around an image that depends only on the class. Labels are class
// numbers or, for a model with numeric outputs, 1 for the class and 0 for all others.
class ImageSource : public BatchSource {
public:
  ImageSource(const BatchSpec &spec, std::vector<int64_t> shape, BatchSpec::Input labels)
      : spec(spec), shape(std::move(shape)), labels(std::move(labels)) {}

  absl::StatusOr<Batch> batch(int64_t index) const override {
    Batch batch;
    batch.emplace_back("pixel_values", ElementType::F32, shape);
    batch.emplace_back("labels", labels.type, labels.shape);
    const int64_t size = static_cast<int64_t>(batch[0].bytes.size() / sizeof(float)) / spec.batch;
    float *pixels = reinterpret_cast<float *>(batch[0].bytes.data());
    std::vector<float> noise(size);
    for (int64_t row = 0; row < spec.batch; ++row) {
      CounterRandom random(spec.seed, CounterRandom::Examples,
                           static_cast<uint64_t>(index * spec.batch + row));
      const int64_t label = random.below(countClasses());
      CounterRandom ofClass(spec.seed, CounterRandom::Classes, static_cast<uint64_t>(label));
      float *image = pixels + row * size;
      fillNormal(keyFrom(ofClass), 0, 1.0f, image, size);
      fillNormal(keyFrom(random), 0, 1.0f, noise.data(), size);
      std::transform(image, image + size, noise.begin(), image, std::plus<float>());
      setLabel(batch[1], row, label);
    }
    return batch;
  }

private:
  static ThreefryPair keyFrom(CounterRandom &random) {
    const uint32_t first = random.next();
    return {first, random.next()};
  }

  // A single output is 0 or 1.
  int64_t countClasses() const {
    if (labels.type == ElementType::I32)
      return spec.vocabulary;
    return labels.shape.size() == 2 ? labels.shape[1] : 2;
  }
  void setLabel(HostTensor &tensor, int64_t row, int64_t label) const {
    if (labels.type == ElementType::I32) {
      tensor.ints()[row] = static_cast<int32_t>(label);
      return;
    }
    float *values = reinterpret_cast<float *>(tensor.bytes.data());
    if (labels.shape.size() == 2)
      values[row * labels.shape[1] + label] = 1.0f;
    else
      values[row] = static_cast<float>(label);
  }

  BatchSpec spec;
  std::vector<int64_t> shape;
  BatchSpec::Input labels;
};

// Numbers of classes [B], or f32 [B] or [B,N].
bool areLabels(const BatchSpec::Input *labels, const BatchSpec &spec) {
  if (!labels || labels->shape.empty() || labels->shape.size() > 2 ||
      labels->shape[0] != spec.batch)
    return false;
  if (labels->type == ElementType::I32)
    return labels->shape.size() == 1 && spec.vocabulary > 0;
  return labels->type == ElementType::F32 && (labels->shape.size() == 1 || labels->shape[1] > 0);
}

} // namespace

absl::StatusOr<std::unique_ptr<BatchSource>> createImageSource(const BatchSpec &spec) {
  const BatchSpec::Input *pixels = spec.findInput("pixel_values"),
                         *labels = spec.findInput("labels");
  if (!pixels || pixels->type != ElementType::F32 || pixels->shape.size() != 4 ||
      pixels->shape[0] != spec.batch)
    return absl::InvalidArgumentError(
        "invalid training program: task classify reads no f32 pixel_values [B,C,H,W]");
  if (!areLabels(labels, spec))
    return absl::InvalidArgumentError(
        "invalid training program: task classify reads no labels i32 [B] or f32 [B] or [B,N]");
  return std::make_unique<ImageSource>(spec, pixels->shape, *labels);
}

} // namespace st
