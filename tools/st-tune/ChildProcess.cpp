#include "tools/st-tune/ChildProcess.h"

#include "lib/Support/StatusMacros.h"

#include "absl/strings/str_cat.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

using namespace mlir::st;

using Clock = std::chrono::steady_clock;

constexpr double kGraceSeconds = 2;

static double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

static sigset_t endingSignals() {
  sigset_t set;
  sigemptyset(&set);
  for (int signal : {SIGINT, SIGTERM, SIGHUP})
    sigaddset(&set, signal);
  return set;
}

std::string ChildEnd::describe() const {
  if (way == TimedOut)
    return "timed out";
  if (way == Signalled)
    return absl::StrCat("signal ", code, " (", strsignal(code), ")");
  return absl::StrCat("exit status ", code);
}

bool mlir::st::isEndRequested() {
  sigset_t pending;
  sigpending(&pending);
  for (int signal : {SIGINT, SIGTERM, SIGHUP})
    if (sigismember(&pending, signal))
      return true;
  return false;
}

namespace {

/// While it lives, SIGCHLD is blocked and stays pending, and ended children remain until they are
/// waited for.
class ChildSignals {
public:
  ChildSignals() {
    struct sigaction plain = {};
    plain.sa_handler = SIG_DFL;
    sigaction(SIGCHLD, &plain, &action);
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    pthread_sigmask(SIG_BLOCK, &child, &mask);
  }
  ~ChildSignals() {
    sigaction(SIGCHLD, &action, nullptr);
    pthread_sigmask(SIG_SETMASK, &mask, nullptr);
  }
  ChildSignals(const ChildSignals &) = delete;
  ChildSignals &operator=(const ChildSignals &) = delete;

private:
  struct sigaction action;
  sigset_t mask;
};

/// A descriptor that is closed with this object; -1 is none.
struct Descriptor {
  int number = -1;
  Descriptor() = default;
  ~Descriptor() { reset(); }
  Descriptor(const Descriptor &) = delete;
  Descriptor &operator=(const Descriptor &) = delete;
  void reset() {
    if (number >= 0)
      close(std::exchange(number, -1));
  }
};

struct Pipe {
  Descriptor read, write;
  absl::Status open() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
      return absl::UnavailableError(absl::StrCat("cannot create a pipe: ", std::strerror(errno)));
    read.number = ends[0];
    write.number = ends[1];
    return absl::OkStatus();
  }
};

/// The files of a child's standard streams.
struct Streams {
  Descriptor in, out, error;
  absl::Status open(const std::string &outPath, const std::string &errorPath);
};

/// A process that leads a child's process group. It kills the group when this process ends for any
/// reason.
class GroupGuard {
public:
  absl::Status start();
  ~GroupGuard() {
    if (group > 0) {
      kill(-group, SIGKILL);
      waitpid(group, nullptr, 0);
    }
  }
  pid_t getGroup() const { return group; }

private:
  Pipe alive; ///< its write end is open while this process lives
  pid_t group = -1;
};

} // namespace

static absl::Status openFile(const std::string &path, int flags, Descriptor &descriptor) {
  descriptor.number = open(path.c_str(), flags | O_CLOEXEC, 0666);
  if (descriptor.number >= 0)
    return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(path, ": cannot open: ", std::strerror(errno)));
}

absl::Status Streams::open(const std::string &outPath, const std::string &errorPath) {
  constexpr int kWrite = O_WRONLY | O_CREAT | O_TRUNC;
  ST_RETURN_IF_ERROR(openFile("/dev/null", O_RDONLY, in));
  ST_RETURN_IF_ERROR(openFile(outPath, kWrite, out));
  return openFile(errorPath, kWrite, error);
}

static absl::Status cannotFork() {
  return absl::UnavailableError(absl::StrCat("cannot start a process: ", std::strerror(errno)));
}

static void takeAllSignals() {
  sigset_t none;
  sigemptyset(&none);
  pthread_sigmask(SIG_SETMASK, &none, nullptr);
}

absl::Status GroupGuard::start() {
  ST_RETURN_IF_ERROR(alive.open());
  group = fork();
  if (group < 0)
    return cannotFork();
  if (group > 0) {
    setpgid(group, group); // Both processes do this, because either may run first.
    return absl::OkStatus();
  }
  setpgid(0, 0);
  // Closes all descriptors except the read end of the pipe, including locks and the write end.
  dup2(alive.read.number, STDIN_FILENO);
  close_range(STDIN_FILENO + 1, ~0U, 0);
  takeAllSignals();
  for (int signal : {SIGINT, SIGTERM, SIGHUP})
    std::signal(signal, SIG_DFL);
  char byte;
  while (::read(STDIN_FILENO, &byte, 1) < 0 && errno == EINTR)
    ;
  kill(0, SIGKILL);
  _exit(1);
}

/// Runs in the child, where only system calls are safe.
[[noreturn]] static void becomeProgram(char *const *arguments, pid_t group, const Streams &streams,
                                       int failure) {
  setpgid(0, group);
  takeAllSignals();
  if (dup2(streams.in.number, STDIN_FILENO) >= 0 && dup2(streams.out.number, STDOUT_FILENO) >= 0 &&
      dup2(streams.error.number, STDERR_FILENO) >= 0)
    execvp(arguments[0], arguments);
  int reason = errno;
  if (write(failure, &reason, sizeof(reason)) < 0)
    _exit(126);
  _exit(127);
}

/// Waits until the child ends, the limit passes or a terminating signal arrives. Returns true if
/// the child ended.
static bool waitFor(pid_t child, Clock::time_point start, double limitSeconds, bool endsOnSignal,
                    int &status) {
  sigset_t awaited;
  sigemptyset(&awaited);
  if (endsOnSignal)
    awaited = endingSignals();
  sigaddset(&awaited, SIGCHLD);
  while (true) {
    const pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended == child || (ended < 0 && errno != EINTR))
      return true;
    const double left = limitSeconds - secondsSince(start);
    if (left <= 0)
      return false;
    timespec timeout;
    timeout.tv_sec = static_cast<time_t>(left);
    timeout.tv_nsec = static_cast<long>((left - static_cast<double>(timeout.tv_sec)) * 1e9);
    const int signal = sigtimedwait(&awaited, nullptr, &timeout);
    if (signal > 0 && signal != SIGCHLD) {
      raise(signal); // It waits again, until the caller has cleaned up.
      return false;
    }
  }
}

absl::StatusOr<ChildEnd> mlir::st::runChild(const std::vector<std::string> &arguments,
                                            const std::string &outPath,
                                            const std::string &errorPath, double limitSeconds) {
  Streams streams;
  ST_RETURN_IF_ERROR(streams.open(outPath, errorPath));
  std::vector<char *> words;
  for (const std::string &argument : arguments)
    words.push_back(const_cast<char *>(argument.c_str()));
  words.push_back(nullptr);

  const ChildSignals signals;
  GroupGuard guard;
  ST_RETURN_IF_ERROR(guard.start());
  Pipe failure;
  ST_RETURN_IF_ERROR(failure.open());
  const Clock::time_point start = Clock::now();
  const pid_t child = fork();
  if (child < 0)
    return cannotFork();
  if (child == 0)
    becomeProgram(words.data(), guard.getGroup(), streams, failure.write.number);
  setpgid(child, guard.getGroup());
  failure.write.reset();
  int reason = 0, status = 0;
  if (read(failure.read.number, &reason, sizeof(reason)) == sizeof(reason)) {
    waitpid(child, &status, 0);
    return absl::UnavailableError(
        absl::StrCat(arguments[0], ": cannot start: ", std::strerror(reason)));
  }

  ChildEnd end;
  if (!waitFor(child, start, limitSeconds, /*endsOnSignal=*/true, status)) {
    end.way = ChildEnd::TimedOut;
    kill(-guard.getGroup(), SIGTERM);
    if (!waitFor(child, Clock::now(), kGraceSeconds, /*endsOnSignal=*/false, status)) {
      kill(-guard.getGroup(), SIGKILL);
      waitpid(child, &status, 0);
    }
  }
  end.seconds = secondsSince(start);
  if (isEndRequested())
    return absl::CancelledError("interrupted");
  if (end.way == ChildEnd::TimedOut)
    return end;
  end.way = WIFSIGNALED(status) ? ChildEnd::Signalled : ChildEnd::Exited;
  end.code = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
  return end;
}
