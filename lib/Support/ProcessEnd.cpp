#include "lib/Support/ProcessEnd.h"

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <new>
#include <pthread.h>
#include <unistd.h>

namespace st {
namespace {

// More than any run has open at once. What finds no slot is not removed.
constexpr int kSlots = 64;

// Whoever takes a pointer out owns the text, so that a signal may come at any time.
std::atomic<char *> paths[kSlots];

const char *toolName = "";

constexpr int kEndingSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};

// Everything below runs in signal handlers: system calls only.

void removeNoted() {
  // A folder was noted before the files in it.
  for (int i = kSlots; i-- > 0;)
    if (const char *path = paths[i].exchange(nullptr))
      if (::unlink(path) != 0)
        ::rmdir(path);
}

void say(const char *text) {
  if (::write(STDERR_FILENO, text, std::strlen(text)) < 0)
    return; // Nobody is left to tell.
}

void onEndingSignal(int number) {
  removeNoted();
  std::signal(number, SIG_DFL);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, number);
  pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  ::raise(number);
}

void onBusError(int) {
  endEarly("a file that is read became shorter, or the host cannot give it memory");
}

} // namespace

void endEarly(const char *what) {
  removeNoted();
  say(toolName);
  say(": error: ");
  say(what);
  say("\n");
  ::_exit(1);
}

RemovedOnEarlyEnd::RemovedOnEarlyEnd(const std::string &path) {
  char *text = ::strdup(path.c_str());
  for (int i = 0; text && i < kSlots; ++i) {
    char *expected = nullptr;
    if (paths[i].compare_exchange_strong(expected, text)) {
      slot = i;
      return;
    }
  }
  std::free(text);
}

RemovedOnEarlyEnd &RemovedOnEarlyEnd::operator=(RemovedOnEarlyEnd &&other) noexcept {
  if (this != &other) {
    forget();
    slot = other.slot;
    other.slot = -1;
  }
  return *this;
}

void RemovedOnEarlyEnd::forget() {
  if (slot >= 0)
    std::free(paths[slot].exchange(nullptr));
  slot = -1;
}

SignalsWait::SignalsWait() {
  sigset_t ending;
  sigemptyset(&ending);
  for (int number : kEndingSignals)
    sigaddset(&ending, number);
  pthread_sigmask(SIG_BLOCK, &ending, &saved);
}

SignalsWait::~SignalsWait() { pthread_sigmask(SIG_SETMASK, &saved, nullptr); }

void setUpEarlyEnd(const char *tool) {
  toolName = tool;
  struct sigaction action = {};
  // One end at a time; the handlers of several signals do not interrupt each other.
  for (int number : kEndingSignals)
    sigaddset(&action.sa_mask, number);
  action.sa_handler = onEndingSignal;
  for (int number : kEndingSignals) {
    struct sigaction before;
    if (::sigaction(number, nullptr, &before) == 0 && before.sa_handler != SIG_IGN)
      ::sigaction(number, &action, nullptr);
  }
  action.sa_handler = onBusError;
  ::sigaction(SIGBUS, &action, nullptr);
  std::signal(SIGXFSZ, SIG_IGN);
  std::set_new_handler([] { endEarly("out of memory"); });
}

} // namespace st
