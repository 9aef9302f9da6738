// Early ends of a process: partial files are removed, and the last line gives the reason.
#ifndef ST_SUPPORT_PROCESSEND_H
#define ST_SUPPORT_PROCESSEND_H

#include <csignal>
#include <string>

namespace st {

/// A file or empty folder that is removed if a signal or exhausted memory ends the process during
/// this object's lifetime. The destructor does not remove it.
class RemovedOnEarlyEnd {
public:
  RemovedOnEarlyEnd() = default;
  explicit RemovedOnEarlyEnd(const std::string &path);
  RemovedOnEarlyEnd(RemovedOnEarlyEnd &&other) noexcept : slot(other.slot), text(other.text) {
    other.slot = -1;
  }
  RemovedOnEarlyEnd &operator=(RemovedOnEarlyEnd &&other) noexcept;
  ~RemovedOnEarlyEnd() { forget(); }

  /// Unregisters the path, so that it is kept. Returns false if an early end has already begun and
  /// removes the path; other threads may still run during an early end.
  bool forget();

private:
  int slot = -1;
  char *text = nullptr; ///< the slot's
};

/// Delays the signals that end a process during its lifetime, so that they do not interrupt a
/// sequence of steps.
class SignalsWait {
public:
  SignalsWait();
  ~SignalsWait();
  SignalsWait(const SignalsWait &) = delete;
  SignalsWait &operator=(const SignalsWait &) = delete;

private:
  sigset_t saved;
};

/// The current activity of this process or thread while the object lives. It is a line on stderr if
/// endEarly or SIGTERM ends the process; launchers send SIGTERM to all processes if one is lost.
class NotedOnEarlyEnd {
public:
  explicit NotedOnEarlyEnd(const std::string &what);
  ~NotedOnEarlyEnd();
  NotedOnEarlyEnd(const NotedOnEarlyEnd &) = delete;
  NotedOnEarlyEnd &operator=(const NotedOnEarlyEnd &) = delete;

private:
  int slot = -1;
};

/// From now on SIGINT, SIGTERM, SIGHUP and SIGPIPE remove the registered files and then end the
/// process as usual; an ignored signal stays ignored. Exhausted memory, and a mapped file that
/// shrinks, end it with a line on stderr and exit code 1. If a file grows past a limit, its write
/// fails. Call once, in main; `tool` must outlive the process.
void setUpEarlyEnd(const char *tool);

/// Removes the registered files, prints "<tool>: error: <what>" and ends the process with 1. For
/// states in which memory may be corrupt; uses system calls only.
[[noreturn]] void endEarly(const char *what);

} // namespace st

#endif // ST_SUPPORT_PROCESSEND_H
