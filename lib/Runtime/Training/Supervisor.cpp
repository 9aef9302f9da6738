#include "lib/Runtime/Training/Supervisor.h"

#include "absl/strings/str_cat.h"
#include "lib/Support/StatusMacros.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstring>
#include <iterator>
#include <new>
#include <string>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

namespace st {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kPassedOn[] = {SIGTERM, SIGINT, SIGUSR1, SIGHUP};

double secondsSince(Clock::time_point time) {
  return std::chrono::duration<double>(Clock::now() - time).count();
}

// During its lifetime the supervisor's signals are blocked, so that sigtimedwait receives them.
class BlockedSignals {
public:
  BlockedSignals() {
    sigemptyset(&answered);
    sigaddset(&answered, SIGCHLD);
    for (int number : kPassedOn)
      sigaddset(&answered, number);
    ::sigprocmask(SIG_BLOCK, &answered, &before);
  }
  ~BlockedSignals() { restore(); }
  void restore() const { ::sigprocmask(SIG_SETMASK, &before, nullptr); }

  // The next signal, or 0 after a timeout.
  int wait() const {
    constexpr timespec kWhile = {0, 100'000'000};
    return std::max(0, ::sigtimedwait(&answered, nullptr, &kWhile));
  }

private:
  sigset_t answered, before;
};

// The exit status of a child.
struct Ending {
  int status = 0; // as waitpid returns it
  bool isStuck = false;

  bool isDone() const { return WIFEXITED(status) && WEXITSTATUS(status) == 0; }
  int exitCode() const {
    constexpr int kBySignal = 128; // the shell's convention
    return WIFEXITED(status) ? WEXITSTATUS(status) : kBySignal + WTERMSIG(status);
  }
  std::string describe() const {
    if (WIFEXITED(status))
      return absl::StrCat("ended with exit code ", WEXITSTATUS(status));
    const char *name = ::sigabbrev_np(WTERMSIG(status));
    return absl::StrCat("was ended by ", name ? absl::StrCat("SIG", name) : "a signal");
  }
};

class Supervisor {
public:
  Supervisor(const SuperviseOptions &options, RunProgress &run, std::FILE *progress)
      : options(options), run(run), progress(progress) {}

  absl::StatusOr<int> supervise(absl::FunctionRef<int(RunProgress &)> body);

private:
  absl::StatusOr<Ending> runOnce(absl::FunctionRef<int(RunProgress &)> body);
  Ending watch(pid_t child);
  bool mayRestart(const Ending &ending);
  bool waitBeforeRestart() const;
  void print(const std::string &text) const {
    std::fprintf(progress, "supervisor: %s\n", text.c_str());
    std::fflush(progress);
  }

  const SuperviseOptions &options;
  RunProgress &run;
  std::FILE *progress;
  BlockedSignals signals;
  bool isStopping = false;
  int64_t children = 0, furthest = 0, failures = 0;
};

absl::StatusOr<int> Supervisor::supervise(absl::FunctionRef<int(RunProgress &)> body) {
  while (true) {
    ST_ASSIGN_OR_RETURN(const Ending ending, runOnce(body));
    if (ending.isDone() || !mayRestart(ending) || !waitBeforeRestart())
      return ending.exitCode();
  }
}

absl::StatusOr<Ending> Supervisor::runOnce(absl::FunctionRef<int(RunProgress &)> body) {
  run.steps = 0;
  ++children;
  std::fflush(nullptr);
  const pid_t parent = ::getpid(), child = ::fork();
  if (child < 0)
    return absl::UnavailableError(
        absl::StrCat("--restarts: cannot start a process: ", std::strerror(errno)));
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    signals.restore();
    if (::getppid() != parent)
      ::raise(SIGTERM);
    std::exit(body(run));
  }
  return watch(child);
}

Ending Supervisor::watch(pid_t child) {
  Ending ending;
  int64_t steps = 0;
  Clock::time_point lastStep = Clock::now();
  while (true) {
    const int number = signals.wait();
    if (::waitpid(child, &ending.status, WNOHANG) == child)
      return ending;
    if (number != 0 && number != SIGCHLD) {
      isStopping = true;
      ::kill(child, number);
    }
    if (run.steps != steps) {
      steps = run.steps;
      lastStep = Clock::now();
    }
    if (options.stepSeconds > 0 && !ending.isStuck &&
        secondsSince(lastStep) > options.stepSeconds) {
      ending.isStuck = true;
      print(absl::StrCat("no step was completed for ", options.stepSeconds,
                         " s (--step-timeout): the run is killed"));
      ::kill(child, SIGKILL);
    }
  }
}

bool Supervisor::mayRestart(const Ending &ending) {
  const bool isError = WIFEXITED(ending.status);
  if (isStopping || (isError && children == 1 && run.steps == 0))
    return false;
  failures = run.step > furthest ? 1 : failures + 1;
  furthest = std::max(furthest, run.step.load());
  const std::string what =
      absl::StrCat("the run ", ending.describe(), " after step ", run.step.load());
  if (failures > options.restarts) {
    print(absl::StrCat(what, "; it was lost ", failures,
                       " times in succession without a step later than ", furthest,
                       " (--restarts=", options.restarts, "): not started again"));
    return false;
  }
  print(absl::StrCat(what, "; it is started again, ", failures, " of ", options.restarts,
                     " times without a later step"));
  return true;
}

// Waits until the other processes of the run have noticed that this one was lost. Returns false if
// a signal ends the wait.
bool Supervisor::waitBeforeRestart() const {
  constexpr double kMaxSeconds = 30;
  const double seconds =
      std::min(kMaxSeconds, std::pow(2.0, static_cast<double>(failures - 1)) / 2);
  const Clock::time_point start = Clock::now();
  while (secondsSince(start) < seconds)
    if (const int number = signals.wait(); number != 0 && number != SIGCHLD)
      return false;
  return true;
}

} // namespace

absl::Status checkSuperviseOptions(const SuperviseOptions &options) {
  if (options.restarts < 0)
    return absl::InvalidArgumentError(
        absl::StrCat("--restarts=", options.restarts, ": expected 0 or more"));
  if (!(options.stepSeconds >= 0) || !std::isfinite(options.stepSeconds))
    return absl::InvalidArgumentError(
        absl::StrCat("--step-timeout=", options.stepSeconds, ": expected seconds from 0"));
  if (options.stepSeconds > 0 && !options.isEnabled())
    return absl::InvalidArgumentError(
        "--step-timeout needs --restarts: only the supervisor of restarted runs watches the steps");
  return absl::OkStatus();
}

absl::StatusOr<int> supervise(const SuperviseOptions &options,
                              absl::FunctionRef<int(RunProgress &)> body, std::FILE *progress) {
  void *shared = ::mmap(nullptr, sizeof(RunProgress), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED)
    return absl::UnavailableError(
        absl::StrCat("--restarts: cannot share memory: ", std::strerror(errno)));
  RunProgress &run = *new (shared) RunProgress();
  const absl::StatusOr<int> code = Supervisor(options, run, progress).supervise(body);
  ::munmap(shared, sizeof(RunProgress));
  return code;
}

} // namespace st
