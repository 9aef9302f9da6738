#include "lib/Runtime/Training/StepPrograms.h"

#include "absl/strings/str_cat.h"
#include "lib/Support/StatusMacros.h"

#include <algorithm>

namespace st {

absl::Status StepPrograms::open(const std::string &ramp, const BatchSpec &spec) {
  full = unit = std::max<int64_t>(1, spec.batch);
  programs[full].program = &program;
  if (ramp.empty())
    return absl::OkStatus();
  ST_ASSIGN_OR_RETURN(growth, BatchRamp::parse(ramp, full));
  unit = growth->unit();
  for (const BatchSpec::Input &input : spec.inputs)
    if (input.shape.empty() || input.shape[0] != full)
      return absl::InvalidArgumentError(absl::StrCat("--rampup-batch-size=", ramp, ": input \"",
                                                     input.name, "\" does not consist of ", full,
                                                     " rows"));
  std::string compiled;
  for (const proto::Executable &other : program.others())
    if (other.model().batch() > 0 && other.name() == BatchRamp::nameOf(other.model().batch())) {
      programs[other.model().batch()].program = &other;
      absl::StrAppend(&compiled, compiled.empty() ? "" : ", ", other.model().batch());
    }
  for (int64_t size : growth->sizes())
    if (!programs.count(size))
      return absl::InvalidArgumentError(absl::StrCat(
          "--rampup-batch-size=", ramp, ": expected batches that this binary was compiled for (",
          compiled.empty() ? "" : absl::StrCat(compiled, ", "), full, "), found ", size,
          "; give st-compile the same flag"));
  return absl::OkStatus();
}

absl::Status StepPrograms::load(Executable &executable) {
  for (auto &[rows, step] : programs) {
    step.executable = rows == full ? &executable : executable.other(step.program->name());
    if (!step.executable)
      return absl::InternalError(
          absl::StrCat("the step of a batch of ", rows, " rows was not loaded"));
    step.feeder = std::make_unique<Feeder>(*step.program, *step.executable);
  }
  return absl::OkStatus();
}

BatchSpec StepPrograms::sourceSpec(BatchSpec spec) const {
  if (!growth)
    return spec;
  spec.batch = unit;
  for (BatchSpec::Input &input : spec.inputs)
    input.shape[0] = unit;
  return spec;
}

absl::StatusOr<Batch> StepPrograms::read(const BatchSource &source, int64_t examples, int64_t rows,
                                         RecordedBatches *recorded) const {
  const int64_t first = (examples + unit - 1) / unit;
  std::vector<Batch> parts;
  for (int64_t i = first; i < first + rows / unit; ++i) {
    ST_ASSIGN_OR_RETURN(parts.emplace_back(), source.batch(i));
    if (recorded)
      ST_RETURN_IF_ERROR(recorded->add(parts.back()));
  }
  return parts.size() == 1 ? std::move(parts.front()) : joinBatches(parts);
}

Batch joinBatches(const std::vector<Batch> &batches) {
  Batch joined = batches.front();
  for (size_t i = 1; i < batches.size(); ++i)
    for (size_t j = 0; j < joined.size(); ++j) {
      const HostTensor &more = batches[i][j];
      joined[j].shape[0] += more.shape[0];
      joined[j].bytes.insert(joined[j].bytes.end(), more.bytes.begin(), more.bytes.end());
    }
  return joined;
}

} // namespace st
