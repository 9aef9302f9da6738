// How a process ends early: nothing half-written stays, and the last line says why.
#ifndef ST_SUPPORT_PROCESSEND_H
#define ST_SUPPORT_PROCESSEND_H

#include <csignal>
#include <string>

namespace st {

/// A file or empty folder that vanishes should a signal or the lack of memory end
/// the process while this object lives. The object itself removes nothing.
class RemovedOnEarlyEnd {
public:
  RemovedOnEarlyEnd() = default;
  explicit RemovedOnEarlyEnd(const std::string &path);
  RemovedOnEarlyEnd(RemovedOnEarlyEnd &&other) noexcept : slot(other.slot) { other.slot = -1; }
  RemovedOnEarlyEnd &operator=(RemovedOnEarlyEnd &&other) noexcept;
  ~RemovedOnEarlyEnd() { forget(); }

  /// The path stays from now on.
  void forget();

private:
  int slot = -1;
};

/// Keeps the signals that end a process waiting while it lives, for steps that
/// belong together.
class SignalsWait {
public:
  SignalsWait();
  ~SignalsWait();
  SignalsWait(const SignalsWait &) = delete;
  SignalsWait &operator=(const SignalsWait &) = delete;

private:
  sigset_t saved;
};

/// What this process or thread is at while the object lives: a line on stderr should endEarly end
/// the process, or SIGTERM, which is how launchers end all processes of which one is lost.
class NotedOnEarlyEnd {
public:
  explicit NotedOnEarlyEnd(const std::string &what);
  ~NotedOnEarlyEnd();
  NotedOnEarlyEnd(const NotedOnEarlyEnd &) = delete;
  NotedOnEarlyEnd &operator=(const NotedOnEarlyEnd &) = delete;

private:
  int slot = -1;
};

/// From now on SIGINT, SIGTERM, SIGHUP and SIGPIPE remove what is noted and then
/// end the process as they would have; one that is ignored stays ignored. A lack
/// of memory, and a mapped file that shrinks, end it with a line on stderr and
/// exit code 1. A file that grows past a limit is an error of its write. Call
/// once, in main; `tool` must outlive the process.
void setUpEarlyEnd(const char *tool);

/// Removes what is noted, prints "<tool>: error: <what>" and ends the process with 1. For where
/// nothing can be trusted any more; makes system calls only.
[[noreturn]] void endEarly(const char *what);

} // namespace st

#endif // ST_SUPPORT_PROCESSEND_H
