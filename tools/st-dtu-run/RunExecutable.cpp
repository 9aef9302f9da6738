#include "tools/st-dtu-run/RunExecutable.h"

#include "absl/strings/str_cat.h"
#include "backends/dtu/isa/Binary.h"
#include "backends/dtu/simulator/Simulator.h"
#include "lib/Runtime/State/TensorLayout.h"
#include "lib/Support/Safetensors.h"
#include "lib/Support/StatusMacros.h"

#include <cstring>
#include <map>

namespace st {
namespace {

/// A global tensor that is assembled from the ranks' blocks.
struct Collected {
  SafetensorsSpec spec;
  std::vector<uint8_t> data;
  std::vector<bool> known; // of each element
};

class Run {
public:
  explicit Run(const proto::Executable &program) : program(program) {}

  absl::Status create(uint64_t shuffleSeed);
  absl::Status load(const SafetensorsReader &file);
  absl::Status execute() { return simulator->execute(schedules); }
  absl::StatusOr<dtu::TimingResult> time() const { return simulator->time(schedules); }
  absl::Status collect();
  absl::Status write(const std::string &path) const;
  bool hasSameResults(const Run &other) const;

private:
  const proto::Executable &program;
  std::unique_ptr<dtu::Simulator> simulator;
  std::vector<dtu::RankSchedule> schedules;
  std::map<std::string, Collected> results;

  absl::Status loadBlock(const SafetensorsReader &file, const std::string &name,
                         const TensorBlock &block, int64_t rank, int64_t offset);
  absl::Status collectBlock(const std::string &name, const TensorBlock &block, int64_t rank,
                            int64_t offset);
};

absl::Status Run::create(uint64_t shuffleSeed) {
  dtu::SimulatorOptions options;
  options.poisonScratch = true;
  options.shuffleSeed = shuffleSeed;
  ST_ASSIGN_OR_RETURN(simulator,
                      dtu::Simulator::create(program.dtu(), dtu::ranksOf(program), options));
  ST_RETURN_IF_ERROR(simulator->reserveMemory());
  int64_t rank = 0;
  for (const proto::Group &group : program.groups()) {
    std::vector<dtu::ProgramId> ids;
    for (const proto::Task &task : group.tasks()) {
      ST_ASSIGN_OR_RETURN(dtu::Program decoded, dtu::decode(task.program()));
      ST_ASSIGN_OR_RETURN(ids.emplace_back(), simulator->load(decoded));
    }
    dtu::RankSchedule schedule;
    for (const proto::ScheduleEntry &entry : group.schedule())
      schedule.push_back({ids[entry.task()], entry.micro_batch()});
    for (int64_t r = 0; r < group.device_ids_size(); ++r, ++rank) {
      schedules.push_back(schedule);
      for (const proto::ConstantData &constant : group.constants())
        std::memcpy(simulator->memory(rank) + constant.offset(), constant.data().data(),
                    constant.data().size());
    }
  }
  return absl::OkStatus();
}

absl::Status Run::loadBlock(const SafetensorsReader &file, const std::string &name,
                            const TensorBlock &block, int64_t rank, int64_t offset) {
  const SafetensorsTensor *tensor = file.find(name);
  if (!tensor)
    return absl::NotFoundError(absl::StrCat(file.path(), ": no tensor \"", name, "\""));
  if (tensor->type != block.type || tensor->shape != block.globalShape)
    return absl::InvalidArgumentError(absl::StrCat(
        file.path(), ": tensor \"", name, "\" is ", describeType(tensor->type, tensor->shape),
        ", expected ", describeType(block.type, block.globalShape)));
  int64_t width = static_cast<int64_t>(byteWidth(block.type));
  forEachRun(block, [&](int64_t global, int64_t local, int64_t count) {
    std::memcpy(simulator->memory(rank) + offset + local * width,
                tensor->data.data() + global * width, count * width);
  });
  return absl::OkStatus();
}

absl::Status Run::load(const SafetensorsReader &file) {
  int64_t first = 0;
  for (const proto::Group &group : program.groups()) {
    for (int64_t r = 0; r < group.device_ids_size(); ++r) {
      for (const proto::State &state : group.states())
        ST_RETURN_IF_ERROR(loadBlock(file, state.name(), blockOf(state.global(), state.slice(), r),
                                     first + r, state.offset()));
      for (const proto::Input &input : group.inputs())
        for (int64_t mb = 0; mb < (input.micro_dim() < 0 ? 1 : program.micro_batches()); ++mb)
          ST_RETURN_IF_ERROR(loadBlock(file, input.name(),
                                       blockOf(input, program.micro_batches(), mb, r), first + r,
                                       input.offset() + mb * input.micro_stride()));
    }
    first += group.device_ids_size();
  }
  return absl::OkStatus();
}

absl::Status Run::collectBlock(const std::string &name, const TensorBlock &block, int64_t rank,
                               int64_t offset) {
  Collected &result = results[name];
  int64_t width = static_cast<int64_t>(byteWidth(block.type)), elements = 1;
  for (int64_t size : block.globalShape)
    elements *= size;
  if (result.known.empty()) {
    result.spec = {name, block.type, block.globalShape};
    result.data.resize(elements * width);
    result.known.resize(elements);
  }
  const uint8_t *bytes = simulator->memory(rank) + offset;
  absl::Status status;
  forEachRun(block, [&](int64_t global, int64_t local, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      const uint8_t *from = bytes + (local + i) * width;
      uint8_t *to = result.data.data() + (global + i) * width;
      if (result.known[global + i] && std::memcmp(from, to, width) != 0)
        status =
            absl::InternalError(absl::StrCat("\"", name, "\": element ", global + i, " of rank ",
                                             rank, " differs from that of an earlier rank"));
      std::memcpy(to, from, width);
      result.known[global + i] = true;
    }
  });
  return status;
}

absl::Status Run::collect() {
  int64_t first = 0;
  for (const proto::Group &group : program.groups()) {
    for (int64_t r = 0; r < group.device_ids_size(); ++r) {
      for (const proto::State &state : group.states())
        ST_RETURN_IF_ERROR(collectBlock(state.name(), blockOf(state.global(), state.slice(), r),
                                        first + r, state.offset()));
      for (const proto::Output &output : group.outputs())
        ST_RETURN_IF_ERROR(collectBlock(output.name(), blockOf(output.global(), output.slice(), r),
                                        first + r, output.offset()));
    }
    first += group.device_ids_size();
  }
  return absl::OkStatus();
}

absl::Status Run::write(const std::string &path) const {
  std::vector<SafetensorsTensor> tensors;
  for (const auto &[name, result] : results) {
    SafetensorsTensor tensor;
    static_cast<SafetensorsSpec &>(tensor) = result.spec;
    tensor.data = result.data;
    tensors.push_back(tensor);
  }
  return writeSafetensors(path, tensors);
}

bool Run::hasSameResults(const Run &other) const {
  return std::equal(results.begin(), results.end(), other.results.begin(), other.results.end(),
                    [](const auto &a, const auto &b) {
                      return a.first == b.first && a.second.data == b.second.data;
                    });
}

} // namespace

absl::Status runExecutable(const proto::Executable &program, const RunOptions &options,
                           std::string &report) {
  ST_ASSIGN_OR_RETURN(std::unique_ptr<SafetensorsReader> file,
                      SafetensorsReader::open(options.inputs));
  Run first(program);
  for (int64_t seed = 0; seed <= options.shuffles; ++seed) {
    Run again(program);
    Run &run = seed == 0 ? first : again;
    ST_RETURN_IF_ERROR(run.create(seed));
    ST_RETURN_IF_ERROR(run.load(*file));
    ST_RETURN_IF_ERROR(run.execute());
    ST_RETURN_IF_ERROR(run.collect());
    if (!run.hasSameResults(first))
      return absl::InternalError(absl::StrCat("results depend on the interleaving, seed ", seed));
  }
  ST_ASSIGN_OR_RETURN(dtu::TimingResult time, first.time());
  report = absl::StrCat("simulated ", time.total / 1000, " ns, bound ", time.rooflineBound / 1000,
                        " ns, serial ", time.serialSum / 1000, " ns");
  return first.write(options.outputs);
}

} // namespace st
