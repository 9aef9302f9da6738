#include "lib/Support/ProcessEnd.h"

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <new>
#include <pthread.h>
#include <sys/uio.h>
#include <unistd.h>

namespace st {
namespace {

// More paths than any run has open at a time. A path without a free slot is not removed.
constexpr int kSlots = 64;

// Code that exchanges a pointer for null owns its text, so a signal may arrive at any time.
std::atomic<char *> paths[kSlots];

// Slots for notes on the current activity. Notes without a free slot are dropped.
std::atomic<char *> notes[kSlots];

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

/// Prints "<tool>: error: <what>" and a line's end in one write, because another thread may end the
/// process at any time.
void printError(const char *kind, const char *what) {
  const char *const parts[] = {toolName, ": error: ", kind, what, "\n"};
  struct iovec pieces[std::size(parts)];
  for (size_t i = 0; i < std::size(parts); ++i)
    pieces[i] = {const_cast<char *>(parts[i]), std::strlen(parts[i])};
  if (::writev(STDERR_FILENO, pieces, std::size(parts)) < 0)
    return; // There is nothing to report the error to.
}

void printNotes() {
  for (std::atomic<char *> &slot : notes)
    if (const char *what = slot.exchange(nullptr))
      printError("ended early: ", what);
}

void onEndingSignal(int number) {
  if (number == SIGTERM)
    printNotes();
  removeNoted();
  std::signal(number, SIG_DFL);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, number);
  pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  ::raise(number);
}

void onBusError(int) {
  endEarly("a file became shorter while it was read, or the host has no memory for it");
}

struct Note {
  int slot; ///< -1: none was free
  char *text;
};

/// Puts a copy of a text into a free slot.
Note note(std::atomic<char *> (&slots)[kSlots], const std::string &what) {
  char *text = ::strdup(what.c_str());
  for (int i = 0; text && i < kSlots; ++i) {
    char *expected = nullptr;
    if (slots[i].compare_exchange_strong(expected, text))
      return {i, text};
  }
  std::free(text);
  return {-1, nullptr};
}

} // namespace

NotedOnEarlyEnd::NotedOnEarlyEnd(const std::string &what) : slot(note(notes, what).slot) {}

NotedOnEarlyEnd::~NotedOnEarlyEnd() {
  if (slot >= 0)
    std::free(notes[slot].exchange(nullptr));
}

void endEarly(const char *what) {
  removeNoted();
  printError("", what);
  printNotes();
  ::_exit(1);
}

RemovedOnEarlyEnd::RemovedOnEarlyEnd(const std::string &path) {
  const Note created = note(paths, path);
  slot = created.slot;
  text = created.text;
}

RemovedOnEarlyEnd &RemovedOnEarlyEnd::operator=(RemovedOnEarlyEnd &&other) noexcept {
  if (this != &other) {
    forget();
    slot = other.slot;
    text = other.text;
    other.slot = -1;
  }
  return *this;
}

bool RemovedOnEarlyEnd::forget() {
  if (slot < 0)
    return true;
  char *expected = text;
  const bool isKept = paths[slot].compare_exchange_strong(expected, nullptr);
  // An early exit does not free the notes that it prints, so no other note has this address.
  if (isKept)
    std::free(text);
  slot = -1;
  return isKept;
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
  // The handlers of different signals do not interrupt each other.
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
