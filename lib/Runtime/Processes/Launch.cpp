#include "lib/Runtime/Processes/MpiLibrary.h"
#include "lib/Support/StatusMacros.h"
#include "st/Runtime/Communicator.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include <cstdlib>

namespace st {
namespace {

constexpr absl::string_view kMpirun = "mpirun", kSrun = "srun", kVariables = "RANK and WORLD_SIZE";

/// Reads a number that a launcher set in the environment.
absl::Status readNumber(const char *name, int64_t minimum, int64_t maximum, int64_t &number) {
  const char *text = std::getenv(name);
  if (text && absl::SimpleAtoi(text, &number) && number >= minimum && number <= maximum)
    return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("expected an integer from ", minimum, " to ", maximum, " in the environment's ",
                   name, ", ", text ? absl::StrCat("found \"", text, "\"") : "which is not set"));
}

absl::StatusOr<Launch> readLaunch(absl::string_view launcher, const char *process,
                                  const char *processes) {
  Launch launch{launcher};
  ST_RETURN_IF_ERROR(readNumber(processes, 1, INT32_MAX, launch.processes));
  ST_RETURN_IF_ERROR(readNumber(process, 0, launch.processes - 1, launch.process));
  return launch;
}

/// Returns true if torchrun itself listens at the port it names.
bool torchrunListens() {
  const char *listens = std::getenv("TORCHELASTIC_USE_AGENT_STORE");
  return listens && absl::string_view(listens) == "True";
}

/// Finds process 0's address in the launcher's variables.
absl::Status findFirst(TcpOptions &options) {
  const char *address = std::getenv("MASTER_ADDR");
  if (!address || !*address)
    return absl::InvalidArgumentError("MASTER_ADDR is not set; expected the host of process 0 in "
                                      "MASTER_ADDR, and one of its free "
                                      "ports in MASTER_PORT");
  options.address = address;
  int64_t port = 0;
  ST_RETURN_IF_ERROR(readNumber("MASTER_PORT", 1, 65535, port));
  options.port = static_cast<int>(port);
  if (!torchrunListens())
    return absl::OkStatus();
  const char *job = std::getenv("TORCHELASTIC_RUN_ID");
  const char *restarts = std::getenv("TORCHELASTIC_RESTART_COUNT");
  options.storeKey = absl::StrCat("st/", job ? job : "", "/", restarts ? restarts : "");
  return absl::OkStatus();
}

/// Returns true if MPI connects the processes that srun started. If it was not, a call of Open MPI
/// would end this process.
bool slurmOffersMpi() {
  // Every Open MPI build finds its peers by PMIx, but only some builds by PMI; then an address is
  // safer.
  const bool offersPmix = std::getenv("PMIX_NAMESPACE");
  const bool offersPmi = std::getenv("PMI_RANK") && !std::getenv("MASTER_ADDR");
  return (offersPmix || offersPmi) && MpiLibrary::open().ok();
}

bool isJoinedByMpi(const Launch &launch) {
  return launch.launcher == kMpirun || (launch.launcher == kSrun && slurmOffersMpi());
}

} // namespace

absl::StatusOr<Launch> detectLaunch() {
  struct Known {
    absl::string_view launcher;
    const char *process, *processes;
  };
  // Slurm sets the variables of a job even in a script that nothing launched; those of a step only
  // for launched processes.
  constexpr Known kKnown[] = {{kMpirun, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                              {kVariables, "RANK", "WORLD_SIZE"},
                              {kSrun, "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}};
  for (const Known &known : kKnown) {
    if (!std::getenv(known.process) || !std::getenv(known.processes))
      continue;
    ST_ASSIGN_OR_RETURN(Launch launch, readLaunch(known.launcher, known.process, known.processes));
    // A launcher that starts one process per machine may start another launcher there.
    if (launch.processes > 1 || known.launcher == kVariables)
      return launch;
  }
  // Otherwise each process would train alone and write the same files.
  const char *process = std::getenv("RANK"), *processes = std::getenv("WORLD_SIZE");
  if (processes && !process && absl::string_view(processes) != "1")
    return absl::InvalidArgumentError(
        absl::StrCat("WORLD_SIZE=", processes, " is in the environment, but RANK is not set"));
  if (process && !processes)
    return absl::InvalidArgumentError(
        absl::StrCat("RANK=", process, " is in the environment, but WORLD_SIZE is not set"));
  return Launch();
}

absl::Status requireRestartable(const Launch &launch) {
  if (launch.processes == 1)
    return absl::OkStatus();
  const std::string started =
      absl::StrCat("--restarts: ", launch.launcher, " started ", launch.processes, " processes");
  if (isJoinedByMpi(launch))
    return absl::FailedPreconditionError(
        absl::StrCat(started, ", which MPI joins only once; expected processes with RANK, "
                              "WORLD_SIZE, MASTER_ADDR and MASTER_PORT"));
  if (torchrunListens())
    return absl::FailedPreconditionError(
        absl::StrCat(started, " by torchrun; use its --max-restarts instead"));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Communicator>> joinProcesses(const Launch &launch,
                                                            const GroupOptions &options) {
  if (launch.processes == 1)
    return createInProcessCommunicator();
  const std::string started =
      absl::StrCat(launch.launcher, " started ", launch.processes, " processes");
  if (launch.processes > options.ranks)
    return absl::InvalidArgumentError(absl::StrCat(started, " for a program of ", options.ranks,
                                                   options.ranks == 1 ? " rank" : " ranks"));
  if (isJoinedByMpi(launch)) {
    ST_ASSIGN_OR_RETURN(std::unique_ptr<Communicator> group, createMpiCommunicator(options));
    // Otherwise each process would train alone and write the same files.
    if (group->numProcesses() != launch.processes)
      return absl::FailedPreconditionError(
          absl::StrCat(started, ", but MPI joined ", group->numProcesses()));
    return group;
  }
  TcpOptions tcp;
  tcp.group = options;
  tcp.process = launch.process;
  tcp.processes = launch.processes;
  if (absl::Status status = findFirst(tcp); !status.ok())
    return absl::InvalidArgumentError(absl::StrCat(
        started, launch.launcher == kSrun ? " that MPI cannot join" : "", ": ", status.message()));
  return createTcpCommunicator(tcp);
}

} // namespace st
