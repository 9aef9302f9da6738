// A small program in several layouts, and a client that runs it in plain C++.
#ifndef ST_TEST_UNIT_RUNTIME_TOYPROGRAM_H
#define ST_TEST_UNIT_RUNTIME_TOYPROGRAM_H

#include "lib/Proto/executable.pb.h"
#include "st/Runtime/Client.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace st {

constexpr int64_t kToyBatch = 4, kToySequence = 16;

/// Builds a program of one group; an arena's content is in the order of the calls.
class ToyProgramBuilder {
public:
  ToyProgramBuilder(int64_t ranks, int64_t microBatches);

  proto::State &addState(const std::string &name, const std::string &parameter,
                         proto::Initializer::Kind kind, std::vector<int64_t> shape, int64_t parts);
  proto::Input &addInput(const std::string &name, const std::string &role,
                         proto::ElementType element, std::vector<int64_t> shape);
  void addLoss();
  proto::Executable take();

private:
  int64_t place(const proto::TensorType &type, int64_t parts);
  static void setType(proto::TensorType *type, proto::ElementType element,
                      const std::vector<int64_t> &shape);

  proto::Executable program;
  proto::Group &group;
  int64_t end = 0;
};

inline ToyProgramBuilder::ToyProgramBuilder(int64_t ranks, int64_t microBatches)
    : group(*program.add_groups()) {
  program.set_format_version(3);
  program.set_target("toy");
  program.set_micro_batches(microBatches);
  program.mutable_model()->set_task("clm");
  program.mutable_model()->set_batch(kToyBatch);
  program.mutable_model()->set_sequence(kToySequence);
  program.mutable_model()->set_vocabulary(512);
  program.mutable_model()->set_config_json("{\"model_type\": \"toy\"}");
  program.mutable_optimizer()->set_learning_rate(0.25);
  group.set_name("group0");
  group.add_stages(0);
  for (int64_t rank = 0; rank < ranks; ++rank)
    group.add_device_ids(rank);
}

inline int64_t ToyProgramBuilder::place(const proto::TensorType &type, int64_t parts) {
  int64_t bytes = 4;
  for (int64_t size : type.shape())
    bytes *= size;
  const int64_t at = end;
  end += (bytes / parts + 63) / 64 * 64;
  return at;
}

inline void ToyProgramBuilder::setType(proto::TensorType *type, proto::ElementType element,
                                       const std::vector<int64_t> &shape) {
  type->set_element(element);
  for (int64_t size : shape)
    type->add_shape(size);
}

inline proto::State &ToyProgramBuilder::addState(const std::string &name,
                                                 const std::string &parameter,
                                                 proto::Initializer::Kind kind,
                                                 std::vector<int64_t> shape, int64_t parts) {
  proto::State &state = *group.add_states();
  state.set_name(name);
  state.set_role(parameter.empty() ? "parameter" : "optimizer_state");
  state.set_parameter(parameter);
  state.mutable_init()->set_kind(kind);
  state.mutable_init()->set_stddev(0.02);
  state.set_init_stream(group.states_size() - 1);
  setType(state.mutable_global(), proto::F32, shape);
  state.set_offset(place(state.global(), parts));
  return state;
}

inline proto::Input &ToyProgramBuilder::addInput(const std::string &name, const std::string &role,
                                                 proto::ElementType element,
                                                 std::vector<int64_t> shape) {
  proto::Input &input = *group.add_inputs();
  input.set_name(name);
  input.set_role(role);
  setType(input.mutable_global(), element, shape);
  input.set_micro_dim(-1);
  input.set_offset(place(input.global(), 1));
  return input;
}

inline void ToyProgramBuilder::addLoss() {
  proto::Output &loss = *group.add_outputs();
  loss.set_name("loss");
  loss.set_role("loss");
  setType(loss.mutable_global(), proto::F32, {});
  loss.set_offset(place(loss.global(), 1));
}

inline proto::Executable ToyProgramBuilder::take() {
  group.set_arena_bytes(end);
  proto::MemoryClass &memory = *group.add_memory();
  memory.set_name("parameters");
  memory.set_bytes(end / 2);
  return std::move(program);
}

/// Parameters "w" f32[8,12] (normal) and "b" f32[12] (ones), optimizer state "w.exp_avg". Split
/// over `rows` x `columns` ranks of one group; b is replicated on every rank. Each of
/// `microBatches` takes its rows of input_ids i32[4,16].
inline proto::Executable makeToyProgram(int64_t rows, int64_t columns, int64_t microBatches = 1) {
  const int64_t ranks = rows * columns;
  ToyProgramBuilder builder(ranks, microBatches);
  for (bool isParameter : {true, false}) {
    proto::State &state = builder.addState(
        isParameter ? "w" : "w.exp_avg", isParameter ? "" : "w",
        isParameter ? proto::Initializer::NORMAL : proto::Initializer::ZEROS, {8, 12}, ranks);
    state.mutable_slice()->add_counts(rows);
    state.mutable_slice()->add_counts(columns);
    for (int64_t rank = 0; rank < ranks; ++rank) {
      state.mutable_slice()->add_parts(rank / columns);
      state.mutable_slice()->add_parts(rank % columns);
    }
  }
  builder.addState("b", "", proto::Initializer::ONES, {12}, 1);
  builder.addInput("rng_key", "key", proto::U32, {2});
  builder.addInput("learning_rate", "scalar", proto::F32, {});
  builder.addInput("step", "scalar", proto::F32, {});
  proto::Input &ids = builder.addInput("input_ids", "batch", proto::I32, {kToyBatch, kToySequence});
  if (microBatches > 1) {
    ids.set_micro_dim(0);
    ids.set_micro_stride(kToyBatch * kToySequence * 4 / microBatches);
  }
  builder.addLoss();
  return builder.take();
}

class ToyBuffer : public Buffer {
public:
  explicit ToyBuffer(int64_t bytes) : bytes(bytes) {}
  int64_t size() const override { return static_cast<int64_t>(bytes.size()); }
  absl::Status writeWithin(int64_t offset, absl::Span<const uint8_t> from) override {
    std::copy(from.begin(), from.end(), bytes.begin() + offset);
    return absl::OkStatus();
  }
  absl::Status readWithin(int64_t offset, absl::Span<uint8_t> to) const override {
    std::copy_n(bytes.begin() + offset, to.size(), to.begin());
    return absl::OkStatus();
  }
  const uint8_t *hostMemory() const override { return bytes.data(); }
  template <typename T> T *at(int64_t offset) {
    return reinterpret_cast<T *>(bytes.data() + offset);
  }
  std::vector<uint8_t> bytes;
};

/// Momentum that pulls w towards the key and the tokens, element by element, so that all layouts
/// agree. From step `nanAt` on the loss is NaN.
class ToyExecutable : public Executable {
public:
  ToyExecutable(const proto::Executable &program, int64_t nanAt)
      : program(program), nanAt(nanAt),
        arenas(program.groups(0).device_ids_size(), ToyBuffer(program.groups(0).arena_bytes())) {}

  int64_t numRanks() const override { return static_cast<int64_t>(arenas.size()); }
  Buffer *arena(int64_t rank) override { return &arenas[rank]; }
  Event launchStep() override {
    for (size_t rank = 0; rank < arenas.size(); ++rank) {
      if (beforeUpdate)
        beforeUpdate(static_cast<int64_t>(rank));
      step(arenas[rank]);
    }
    return Event::completed(absl::OkStatus());
  }
  bool callBeforeUpdates(std::function<void(int64_t)> hook) override {
    beforeUpdate = std::move(hook);
    return hasUpdates;
  }
  bool hasUpdates = true; ///< false: the hook before updates is not called
  absl::StatusOr<StepTime> timeStep(StepTrace *trace, StepTimeline *) override {
    if (trace) {
      trace->rows = {{0, "/device:TOY:0", "core 0"}};
      trace->labels = {"a \"kernel\""};
      trace->spans = {{0, 0, 1500000, 2000000}};
    }
    StepTime time;
    time.total = 12345678901;
    time.ranks.resize(arenas.size());
    time.work = noWork();
    return time;
  }
  absl::StatusOr<StepWork> lastStepWork() const override { return noWork(); }

private:
  StepWork noWork() const {
    return {std::vector<std::vector<TaskWork>>(arenas.size(), std::vector<TaskWork>(1)), {}};
  }
  void step(ToyBuffer &arena) {
    const proto::Group &group = program.groups(0);
    float *w = arena.at<float>(group.states(0).offset());
    float *average = arena.at<float>(group.states(1).offset());
    float *b = arena.at<float>(group.states(2).offset());
    const uint32_t *key = arena.at<uint32_t>(group.inputs(0).offset());
    const float lr = *arena.at<float>(group.inputs(1).offset());
    const float step = *arena.at<float>(group.inputs(2).offset());
    const int32_t *ids = arena.at<int32_t>(group.inputs(3).offset());
    float tokens = 0;
    for (int64_t i = 0; i < kToyBatch * kToySequence; ++i)
      tokens += static_cast<float>(ids[i]);
    const float pull = 1e-4f * (tokens + static_cast<float>(key[0] + key[1])) / step;
    for (int64_t i = 0, n = 96 / numRanks(); i < n; ++i) {
      average[i] = 0.9f * average[i] + (w[i] - pull);
      w[i] -= lr * average[i];
    }
    b[0] -= lr * 0.01f * pull;
    float loss = b[0] + pull;
    *arena.at<float>(group.outputs(0).offset()) =
        step >= static_cast<float>(nanAt) ? std::nanf("") : loss;
  }

  const proto::Executable &program;
  int64_t nanAt;
  std::vector<ToyBuffer> arenas;
  std::function<void(int64_t)> beforeUpdate;
};

class ToyClient : public Client {
public:
  explicit ToyClient(int64_t nanAt = 1 << 30) : nanAt(nanAt) {}
  absl::string_view target() const override { return "toy"; }
  absl::StatusOr<std::unique_ptr<Executable>> load(const proto::Executable &program) override {
    auto executable = std::make_unique<ToyExecutable>(program, nanAt);
    loaded = executable.get();
    return executable;
  }
  absl::Span<const Device> devices() const override { return {}; }

  ToyExecutable *loaded = nullptr;

private:
  int64_t nanAt;
};

} // namespace st

#endif // ST_TEST_UNIT_RUNTIME_TOYPROGRAM_H
