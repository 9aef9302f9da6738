#include "lib/Runtime/Data/PictureSource.h"
#include "lib/Runtime/Data/CounterRandom.h"
#include "lib/Runtime/NormalInit.h"

#include <algorithm>
#include <functional>
#include <vector>

namespace st {
namespace {

class PictureSource : public BatchSource {
public:
  PictureSource(const BatchSpec &spec, std::vector<int64_t> shape)
      : spec(spec), shape(std::move(shape)) {}

  absl::StatusOr<Batch> batch(int64_t index) const override {
    Batch batch;
    batch.emplace_back("pixel_values", ElementType::F32, shape);
    batch.emplace_back("labels", ElementType::I32, std::vector<int64_t>{spec.batch});
    const int64_t size = static_cast<int64_t>(batch[0].bytes.size() / sizeof(float)) / spec.batch;
    float *pixels = reinterpret_cast<float *>(batch[0].bytes.data());
    std::vector<float> noise(size);
    for (int64_t row = 0; row < spec.batch; ++row) {
      CounterRandom random(spec.seed, CounterRandom::Examples,
                           static_cast<uint64_t>(index * spec.batch + row));
      const int64_t label = random.below(spec.vocabulary);
      CounterRandom ofClass(spec.seed, CounterRandom::Classes, static_cast<uint64_t>(label));
      float *picture = pixels + row * size;
      fillNormal(keyFrom(ofClass), 0, 1.0f, picture, size);
      fillNormal(keyFrom(random), 0, 1.0f, noise.data(), size);
      std::transform(picture, picture + size, noise.begin(), picture, std::plus<float>());
      batch[1].ints()[row] = static_cast<int32_t>(label);
    }
    return batch;
  }

private:
  static ThreefryPair keyFrom(CounterRandom &random) {
    const uint32_t first = random.next();
    return {first, random.next()};
  }

  BatchSpec spec;
  std::vector<int64_t> shape;
};

} // namespace

absl::StatusOr<std::unique_ptr<BatchSource>> createPictureSource(const BatchSpec &spec) {
  auto it = std::find_if(spec.inputs.begin(), spec.inputs.end(), [](const BatchSpec::Input &input) {
    return input.name == "pixel_values";
  });
  if (it == spec.inputs.end() || it->type != ElementType::F32 || it->shape.size() != 4 ||
      it->shape[0] != spec.batch || spec.vocabulary < 1)
    return absl::InvalidArgumentError(
        "invalid training program: task classify reads no f32 pixel_values [B,C,H,W]");
  return std::make_unique<PictureSource>(spec, it->shape);
}

} // namespace st
