#include "lib/Runtime/Evaluation/Evaluator.h"

#include "lib/Runtime/Evaluation/EvaluationSums.h"
#include "lib/Runtime/State/TensorLayout.h"

#include "absl/strings/str_cat.h"
#include "lib/Support/Float16.h"
#include "lib/Support/StatusMacros.h"
#include "lib/Support/Text.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <set>

namespace st {
namespace {

constexpr const char *kName = "evaluation";

const proto::Executable *findProgram(const proto::Executable &program) {
  for (const proto::Executable &other : program.others())
    if (other.name() == kName)
      return &other;
  return nullptr;
}

float toFloat(const uint8_t *bytes, ElementType type) {
  if (type == ElementType::F32) {
    float value;
    std::memcpy(&value, bytes, sizeof(value));
    return value;
  }
  uint16_t bits;
  std::memcpy(&bits, bytes, sizeof(bits));
  if (type == ElementType::BF16) {
    BFloat16 value;
    value.bits = bits;
    return static_cast<float>(value);
  }
  Float16 value;
  value.bits = bits;
  return static_cast<float>(value);
}

// Reads the parts of an output from the ranks of a group.
absl::Status readOutput(const proto::Executable &program, const proto::Group &group,
                        const proto::Output &output, Executable &executable,
                        std::vector<float> &values) {
  const TensorBlock full = blockOf(output.global(), proto::Slice(), 0);
  const size_t width = byteWidth(full.type);
  if (full.type != ElementType::F32 && full.type != ElementType::BF16 &&
      full.type != ElementType::F16)
    return absl::InternalError(absl::StrCat("the evaluation gives \"", output.name(), "\" as ",
                                            describeType(full.type, full.globalShape)));
  std::vector<uint8_t> global(static_cast<size_t>(full.numBytes())), local;
  // A replicated output is read from one rank.
  const int64_t ranks = full.globalShape.empty() ? 1 : group.device_ids_size();
  for (int64_t rank = 0; rank < ranks; ++rank)
    for (int64_t part = 0; part < countParts(output, program.micro_batches()); ++part) {
      const TensorBlock block = blockOf(output, program.micro_batches(), part, rank);
      local.resize(static_cast<size_t>(block.numBytes()));
      ST_RETURN_IF_ERROR(
          executable.arena(group.first_rank() + rank)
              ->read(output.offset() + part * output.micro_stride(), absl::MakeSpan(local)));
      copyToGlobal(block, local.data(), global.data());
    }
  for (size_t i = 0; i * width < global.size(); ++i)
    values.push_back(toFloat(global.data() + i * width, full.type));
  return absl::OkStatus();
}

absl::StatusOr<EvaluationOutputs> readOutputs(const proto::Executable &program,
                                              Executable &executable) {
  EvaluationOutputs outputs;
  for (const proto::Group &group : program.groups())
    for (const proto::Output &output : group.outputs())
      if (auto [it, isNew] = outputs.try_emplace(output.name()); isNew)
        ST_RETURN_IF_ERROR(readOutput(program, group, output, executable, it->second));
  return outputs;
}

absl::Status require(bool holds, absl::string_view what) {
  return holds ? absl::OkStatus() : absl::InvalidArgumentError(what);
}

} // namespace

absl::StatusOr<std::unique_ptr<Evaluator>> Evaluator::open(const proto::Executable &program,
                                                           const EvaluationOptions &options,
                                                           const BatchSpec &spec) {
  ST_RETURN_IF_ERROR(
      require(options.interval >= 0,
              absl::StrCat("--eval-interval=", options.interval, ": expected 0 or more")));
  const proto::Executable *evaluation = findProgram(program);
  if (!evaluation)
    return absl::InvalidArgumentError("this binary has no evaluation: compile it with --eval");
  std::unique_ptr<Evaluator> evaluator(new Evaluator(*evaluation, options, spec));
  ST_ASSIGN_OR_RETURN(evaluator->validation,
                      evaluator->openPart(options.validation, SplitPart::Validation));
  ST_ASSIGN_OR_RETURN(evaluator->test, evaluator->openPart(options.test, SplitPart::Test));
  ST_RETURN_IF_ERROR(require(options.interval == 0 || evaluator->validation,
                             "--eval-interval needs data: give --valid-data, or --split with a "
                             "part for validation"));
  ST_RETURN_IF_ERROR(require(evaluator->validation || evaluator->test,
                             "--eval-only needs data: give --valid-data, --test-data, or --split "
                             "with parts for them"));
  ST_RETURN_IF_ERROR(evaluator->checkData());
  return evaluator;
}

// Checks that there are questions to answer, and that all of the data is a finite number of
// batches.
absl::Status Evaluator::checkData() const {
  for (const BatchSource *source : {validation.get(), test.get()}) {
    if (!source)
      continue;
    const bool isTest = source == test.get();
    const std::string &given = isTest ? options.test : options.validation;
    const std::string data = given.empty()
                                 ? absl::StrCat("--data=", options.training)
                                 : absl::StrCat(isTest ? "--test-data=" : "--valid-data=", given);
    ST_RETURN_IF_ERROR(
        require(options.batches != EvaluationOptions::kAll || source->numBatches() > 0,
                absl::StrCat("--eval-iters=all: ", data, " with the task ", spec.task,
                             " draws samples without end; give a number")));
    if (!options.predicts)
      continue;
    ST_RETURN_IF_ERROR(
        require(source->questions(),
                absl::StrCat("--predictions: ", data, " has no questions; give squad:FILE")));
    std::set<std::string> ids;
    for (const Questions::Question &question : source->questions()->questions)
      ST_RETURN_IF_ERROR(require(ids.insert(question.id).second,
                                 absl::StrCat("--predictions: ", data, " has the id ",
                                              quoteForMessage(question.id), " twice")));
  }
  return absl::OkStatus();
}

// Uses all of the data given for evaluation, or else the part of the training data. Null if there
// is neither.
absl::StatusOr<std::unique_ptr<BatchSource>> Evaluator::openPart(const std::string &data,
                                                                 SplitPart part) const {
  BatchSpec own = spec;
  own.options.isEvaluation = true;
  if (!data.empty()) {
    own.options.split = Split();
    own.options.part = SplitPart::Train;
    return createBatchSource(data, own);
  }
  constexpr int64_t kMany = 1'000'000;
  if (options.training.empty() || own.options.split.range(part, kMany).empty())
    return std::unique_ptr<BatchSource>();
  own.options.part = part;
  auto source = createBatchSource(options.training, own);
  // With few documents, the test part may be empty; the run does not need it.
  if (part == SplitPart::Test && absl::IsNotFound(source.status()))
    return std::unique_ptr<BatchSource>();
  return source;
}

absl::Status Evaluator::load(Executable &training) {
  executable = training.other(kName);
  if (!executable)
    return absl::InternalError("the evaluation of the binary was not loaded");
  feeder = std::make_unique<Feeder>(program, *executable);
  if (!executable->isSimulated() || executable->timeDependsOnData())
    return absl::OkStatus();
  ST_ASSIGN_OR_RETURN(const StepTime time, executable->timeStep(nullptr, nullptr));
  simulatedPicoseconds = time.total;
  return absl::OkStatus();
}

absl::StatusOr<EvaluationReport> Evaluator::run(const BatchSource &source, const std::string &part,
                                                int64_t step, const Progress &progress) {
  const auto begin = std::chrono::steady_clock::now();
  EvaluationSums sums(spec, source.questions());
  const int64_t batches =
      options.batches == EvaluationOptions::kAll ? source.numBatches() : options.batches;
  for (int64_t i = 0; i < batches; ++i) {
    progress(i, batches);
    ST_ASSIGN_OR_RETURN(const Batch batch, source.batch(i));
    ST_RETURN_IF_ERROR(feeder->feed(batch, {spec.seed, step, 0}));
    ST_RETURN_IF_ERROR(executable->launchStep().wait());
    ST_ASSIGN_OR_RETURN(const EvaluationOutputs outputs, readOutputs(program, *executable));
    sums.add(outputs, batch, i);
    if (executable->isSimulated() && executable->timeDependsOnData()) {
      ST_ASSIGN_OR_RETURN(const StepTime time, executable->timeStep(nullptr, nullptr));
      simulatedPicoseconds = time.total;
    }
  }
  EvaluationReport report;
  report.part = part;
  report.step = step;
  report.batches = batches;
  report.values = sums.values();
  if (options.predicts)
    report.predictions = sums.predictions();
  if (executable->isSimulated())
    report.simulatedPicoseconds = simulatedPicoseconds;
  report.hostSeconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return report;
}

} // namespace st
