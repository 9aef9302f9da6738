// The prebuilt runner. st-compile appends a program to it, and the result is a
// training binary that runs that program.

#include "lib/Proto/executable.pb.h"
#include "lib/Runtime/Payload.h"
#include "lib/Runtime/RunOnce.h"
#include "lib/Runtime/Trainer.h"
#include "lib/Runtime/ValidateExecutable.h"
#include "lib/Support/StandardStreams.h"
#include "lib/Support/StatusMacros.h"
#include "st/Runtime/Client.h"
#include "st/Runtime/Communicator.h"

#include "absl/flags/flag.h"
#include "absl/flags/reflection.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

#include <algorithm>
#include <climits>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

ABSL_FLAG(int64_t, steps, 10, "training steps to run");
ABSL_FLAG(std::optional<double>, lr, std::nullopt,
          "peak learning rate; unset: the one given to st-compile");
ABSL_FLAG(int64_t, warmup, 0, "steps over which the learning rate rises linearly from 0");
ABSL_FLAG(int64_t, total_steps, 0,
          "steps at whose end the learning rate has fallen linearly to 0; 0: it does not fall");
ABSL_FLAG(std::optional<uint32_t>, seed, std::nullopt,
          "seed of initialisation, dropout and data; unset: the checkpoint's, or 0");
ABSL_FLAG(std::string, data, "synthetic",
          "synthetic, text:FILE, squad:FILE, or a .safetensors file of batches");
ABSL_FLAG(std::string, metrics, "", "file for a line of JSON a step");
ABSL_FLAG(std::string, trace, "", "file for a Perfetto trace of one simulated step");
ABSL_FLAG(std::string, save, "", "folder for a checkpoint after the last step");
ABSL_FLAG(std::string, resume, "", "folder of a checkpoint to go on from, of any layout");
ABSL_FLAG(std::string, init, "",
          "Hugging Face folder whose weights the run starts from (model.safetensors)");
ABSL_FLAG(std::string, inputs, "",
          "run once instead of training, on the states and inputs of this .safetensors file");
ABSL_FLAG(std::string, outputs, "", "with --inputs: .safetensors file for outputs and new states");
ABSL_FLAG(int, host_threads, 0, "threads that compute; 0: one a processor");
ABSL_FLAG(std::string, host_isa, "auto",
          "instruction set of the host that computes: auto, baseline, avx2 or avx512; the same "
          "choice gives the same bits everywhere");
ABSL_FLAG(bool, timing_only, false,
          "only simulate the time of a step: no data, no memory, no training");
ABSL_FLAG(std::string, report, "", "file for what each device does in a step, as JSON");
ABSL_FLAG(std::optional<uint32_t>, drop_message, std::nullopt,
          "for tests: lose this link message of the first step, counted from 0");

namespace st {
namespace {

// Abseil names flags with underscores; on the command line they are kebab-case.
std::string kebab(absl::string_view name) {
  std::string out(name);
  std::replace(out.begin(), out.end(), '_', '-');
  return out;
}

bool isOurs(const absl::CommandLineFlag &flag) {
  return absl::EndsWith(flag.Filename(), "st-runner/main.cpp");
}

void printHelp(absl::string_view tool) {
  std::printf("%s: trains the program that st-compile put into it.\n\nflags:\n",
              std::string(tool).c_str());
  std::map<std::string, absl::CommandLineFlag *> ours;
  for (auto [name, flag] : absl::GetAllFlags())
    if (isOurs(*flag))
      ours[kebab(name)] = flag;
  for (auto [name, flag] : ours) {
    std::string value = flag->DefaultValue();
    std::string suffix = value.empty() ? "" : absl::StrCat(" (default ", value, ")");
    std::printf("  --%-14s %s%s\n", name.c_str(), flag->Help().c_str(), suffix.c_str());
  }
}

// The flag of that name on the command line, or null. Abseil's own flags are not offered.
absl::CommandLineFlag *findFlag(absl::string_view name) {
  if (absl::StrContains(name, '_'))
    return nullptr;
  std::string underscored(name);
  std::replace(underscored.begin(), underscored.end(), '-', '_');
  absl::CommandLineFlag *flag = absl::FindCommandLineFlag(underscored);
  return flag && isOurs(*flag) ? flag : nullptr;
}

// Sets the flags. Abseil's own parser takes several lines for an error and knows
// no kebab-case.
absl::Status parseArguments(int argc, char **argv) {
  for (int i = 1; i < argc; ++i) {
    absl::string_view argument = argv[i];
    if (!absl::ConsumePrefix(&argument, "--"))
      return absl::InvalidArgumentError(absl::StrCat("unexpected argument \"", argument, "\""));
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(argument, absl::MaxSplits('=', 1));
    absl::CommandLineFlag *flag = findFlag(parts.first);
    if (!flag)
      return absl::InvalidArgumentError(
          absl::StrCat("unknown flag --", parts.first, "; --help lists the flags"));
    absl::string_view value = parts.second;
    if (!absl::StrContains(argument, '=')) {
      if (!flag->IsOfType<bool>() && ++i == argc)
        return absl::InvalidArgumentError(absl::StrCat("--", argument, " needs a value"));
      value = flag->IsOfType<bool>() ? "true" : argv[i];
    }
    std::string error;
    if (!flag->ParseFrom(value, &error))
      return absl::InvalidArgumentError(
          absl::StrCat("--", parts.first, "=", value, ": not a value of this flag"));
  }
  return absl::OkStatus();
}

TrainOptions trainOptions() {
  TrainOptions options;
  options.steps = absl::GetFlag(FLAGS_steps);
  options.learningRate = absl::GetFlag(FLAGS_lr);
  options.warmup = absl::GetFlag(FLAGS_warmup);
  options.decaySteps = absl::GetFlag(FLAGS_total_steps);
  options.seed = absl::GetFlag(FLAGS_seed);
  options.data = absl::GetFlag(FLAGS_data);
  options.metrics = absl::GetFlag(FLAGS_metrics);
  options.trace = absl::GetFlag(FLAGS_trace);
  options.report = absl::GetFlag(FLAGS_report);
  options.save = absl::GetFlag(FLAGS_save);
  options.resume = absl::GetFlag(FLAGS_resume);
  options.init = absl::GetFlag(FLAGS_init);
  options.timingOnly = absl::GetFlag(FLAGS_timing_only);
  options.hostThreads = absl::GetFlag(FLAGS_host_threads);
  return options;
}

// The running file, by a name that a message can use.
std::string ownPath() {
  char path[PATH_MAX];
  ssize_t length = ::readlink("/proc/self/exe", path, sizeof(path));
  return length > 0 ? std::string(path, static_cast<size_t>(length)) : "/proc/self/exe";
}

absl::Status run() {
  ST_ASSIGN_OR_RETURN(std::string payload, readPayload(ownPath()));
  ST_ASSIGN_OR_RETURN(proto::Executable program, parseExecutable(payload));
  payload = std::string();
  TrainOptions options = trainOptions();
  ClientOptions clientOptions;
  clientOptions.hostThreads = options.hostThreads;
  clientOptions.hostIsa = absl::GetFlag(FLAGS_host_isa);
  clientOptions.timingOnly = options.timingOnly;
  if (std::optional<uint32_t> message = absl::GetFlag(FLAGS_drop_message))
    clientOptions.dropMessage = *message;
  std::unique_ptr<Client> client = createDtuClient(clientOptions);
  if (program.target() != client->target())
    return absl::UnimplementedError(
        absl::StrCat("this runner has no target \"", program.target(), "\""));
  if (!program.summary().empty())
    std::fprintf(stderr, "%s\n", program.summary().c_str());
  const std::string inputs = absl::GetFlag(FLAGS_inputs), outputs = absl::GetFlag(FLAGS_outputs);
  if (inputs.empty() != outputs.empty())
    return absl::InvalidArgumentError("--inputs and --outputs go together");
  if (!inputs.empty()) {
    ST_ASSIGN_OR_RETURN(std::string note, runOnce(program, *client, inputs, outputs, options.init));
    std::fputs(note.c_str(), stderr);
    return absl::OkStatus();
  }
  std::unique_ptr<Communicator> communicator = createInProcessCommunicator();
  return train(program, *client, *communicator, options, stdout, stderr);
}

} // namespace
} // namespace st

int main(int argc, char **argv) {
  st::reserveStandardStreams();
  const absl::string_view tool =
      absl::string_view(argv[0]).substr(absl::string_view(argv[0]).find_last_of('/') + 1);
  for (int i = 1; i < argc; ++i)
    if (argv[i] == absl::string_view("--help")) {
      st::printHelp(tool);
      return 0;
    }
  absl::Status status = st::parseArguments(argc, argv);
  if (status.ok())
    status = st::run();
  if (status.ok() && (std::fflush(stdout) != 0 || std::ferror(stdout)))
    status = absl::UnavailableError("cannot write to standard output");
  if (status.ok())
    return 0;
  std::fprintf(stderr, "%s: error: %s\n", std::string(tool).c_str(),
               std::string(status.message()).c_str());
  return 1;
}
