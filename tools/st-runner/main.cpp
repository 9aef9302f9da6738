// The prebuilt runner. st-compile appends a program to it, and the result is a
// training binary that runs that program.

#include "lib/Proto/executable.pb.h"
#include "lib/Runtime/Program/Payload.h"
#include "lib/Runtime/Program/ValidateExecutable.h"
#include "lib/Support/ProcessEnd.h"
#include "lib/Support/StandardStreams.h"
#include "lib/Support/StatusMacros.h"
#include "lib/Support/Text.h"
#include "st/Runtime/Communicator.h"
#include "tools/st-runner/Flags.h"
#include "tools/st-runner/RunLog.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <climits>
#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>
#include <unistd.h>
#include <utility>

// st-compile recognises the runner by this section.
[[gnu::section(".st_runner"), gnu::used, gnu::retain]] static const char kMark[] = "st-runner";

namespace st {
namespace {

// The path of the running file, for messages.
std::string ownPath() {
  char path[PATH_MAX];
  ssize_t length = ::readlink("/proc/self/exe", path, sizeof(path));
  return length > 0 ? std::string(path, static_cast<size_t>(length)) : "/proc/self/exe";
}

// The processes that were started together, or this one alone.
absl::StatusOr<std::unique_ptr<Communicator>> joinOthers(const proto::Executable &program,
                                                         double watchdogSeconds) {
  ST_ASSIGN_OR_RETURN(const Launch launch, detectLaunch());
  GroupOptions options;
  options.watchdogSeconds = watchdogSeconds;
  options.ranks = 0;
  for (const proto::Group &group : program.groups())
    options.ranks += group.device_ids_size();
  return joinProcesses(launch, options);
}

absl::Status runWith(Communicator &communicator, const proto::Executable &program,
                     const RunRequest &request) {
  std::unique_ptr<Client> client = program.target() == "cuda"
                                       ? createCudaClient(request.client, communicator)
                                       : createSharedDtuClient(request.client, communicator);
  if (program.target() != client->target())
    return absl::UnimplementedError(
        absl::StrCat("this runner has no target \"", program.target(), "\""));
  if (communicator.process() == 0 && !program.summary().empty())
    std::fprintf(stderr, "%s\n", program.summary().c_str());
  if (!request.once)
    return train(program, *client, communicator, request.train, stdout, stderr);
  ST_ASSIGN_OR_RETURN(std::string note, runOnce(program, *client, communicator, *request.once));
  std::fputs(note.c_str(), stderr);
  return absl::OkStatus();
}

absl::Status runRequest(RunRequest request, const std::string &binary) {
  ST_ASSIGN_OR_RETURN(std::string payload, readPayload(binary));
  ST_ASSIGN_OR_RETURN(proto::Executable program, parseExecutable(payload));
  payload = std::string();
  if (!request.once && !request.train.timingOnly)
    request.train.heading = printConfiguration(program, request, binary);
  // Creates the folder, as Megatron-LM does. If this fails, the save reports the error.
  std::error_code ignored;
  if (request.isSaveOfBinary)
    std::filesystem::create_directories(std::filesystem::path(request.train.save).parent_path(),
                                        ignored);
  if (!request.replayed.empty())
    ST_RETURN_IF_ERROR(checkReplay(request.train.heading, request.replayed));
  ST_ASSIGN_OR_RETURN(std::unique_ptr<Communicator> communicator,
                      joinOthers(program, request.watchdogSeconds));
  absl::Status status = runWith(*communicator, program, request);
  // After an error the other processes may still wait for this one. So it reports the error without
  // waiting for them.
  if (!status.ok() && communicator->numProcesses() > 1)
    (void)communicator.release();
  return status;
}

// Prints an error in one line, and returns the exit code.
int endWith(absl::Status status, const std::string &tool) {
  if (status.ok() && (std::fflush(stdout) != 0 || std::ferror(stdout)))
    status = absl::UnavailableError("cannot write to standard output");
  if (status.ok())
    return 0;
  // Names may contain control characters; escaping keeps the error on one line.
  std::fprintf(stderr, "%s: error: %s\n", tool.c_str(), escapeControls(status.message()).c_str());
  return 1;
}

absl::StatusOr<int> superviseRequest(RunRequest request, const std::string &binary,
                                     const std::string &tool) {
  ST_ASSIGN_OR_RETURN(const Launch launch, detectLaunch());
  ST_RETURN_IF_ERROR(requireRestartable(launch));
  const auto body = [&](RunProgress &progress) {
    request.train.supervisor = &progress;
    return endWith(runRequest(request, binary), tool);
  };
  return supervise(request.supervise, body, stderr);
}

int run(int argc, char **argv, const std::string &tool) {
  const std::string binary = ownPath();
  const absl::StatusOr<RunRequest> request = parseCommandLine(argc, argv, binary);
  if (!request.ok())
    return endWith(request.status(), tool);
  if (!request->supervise.isEnabled())
    return endWith(runRequest(*request, binary), tool);
  const absl::StatusOr<int> code = superviseRequest(*request, binary, tool);
  return code.ok() ? *code : endWith(code.status(), tool);
}

} // namespace
} // namespace st

int main(int argc, char **argv) {
  st::reserveStandardStreams();
  const std::string name = argc > 0 ? argv[0] : "";
  const std::string tool = st::escapeControls(name.substr(name.find_last_of('/') + 1));
  st::setUpEarlyEnd(tool.c_str());
  const bool wantsHelp =
      std::any_of(argv + std::min(argc, 1), argv + argc,
                  [](const char *argument) { return argument == std::string("--help"); });
  if (wantsHelp)
    st::printHelp(tool);
  return wantsHelp ? st::endWith(absl::OkStatus(), tool) : st::run(argc, argv, tool);
}
