#include "lib/Driver/ErrorHandlers.h"

#include "lib/Support/ProcessEnd.h"
#include "llvm/Support/ErrorHandling.h"

#include <csignal>
#include <cstring>
#include <exception>
#include <pthread.h>
#include <sys/mman.h>

static char *stackLow = nullptr;
static struct sigaction previousActions[NSIG];

static void onBadAlloc(void *, const char *, bool) { ::st::endEarly("out of memory"); }

static void onFatalError(void *, const char *reason, bool) {
  // The first line has the reason.
  static char line[512];
  size_t length = std::strcspn(reason, "\n");
  if (length >= sizeof(line))
    length = sizeof(line) - 1;
  std::memcpy(line, reason, length);
  ::st::endEarly(line);
}

static void onTerminate() { ::st::endEarly("the system refuses a thread or another resource"); }

/// A page fault just below the lowest address of the stack.
static bool isStackOverflow(int signal, const siginfo_t *info) {
  constexpr ptrdiff_t reach = 1 << 20;
  const char *address = static_cast<const char *>(info->si_addr);
  return signal == SIGSEGV && stackLow && address < stackLow + reach && address > stackLow - reach;
}

// When memory is exhausted, code that does not check allocations crashes, or a stack cannot
// grow.
static bool isMemoryExhausted() {
  constexpr size_t bytes = 8 << 20;
  void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED || munmap(memory, bytes) != 0;
}

static void onSignal(int signal, siginfo_t *info, void *) {
  if (isStackOverflow(signal, info))
    ::st::endEarly("the input nests too deeply: the stack is exhausted");
  if (isMemoryExhausted())
    ::st::endEarly("out of memory");
  // Otherwise restores the previous action; the faulting instruction runs again.
  sigaction(signal, &previousActions[signal], nullptr);
  if (signal == SIGABRT)
    raise(signal);
}

static void installSignalHandlers() {
  pthread_attr_t attributes;
  void *low = nullptr;
  size_t size = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    if (pthread_attr_getstack(&attributes, &low, &size) == 0)
      stackLow = static_cast<char *>(low);
    pthread_attr_destroy(&attributes);
  }
  stack_t current;
  if (sigaltstack(nullptr, &current) == 0 && (current.ss_flags & SS_DISABLE)) {
    constexpr size_t bytes = 1 << 16;
    void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    stack_t stack = {memory, 0, bytes};
    if (memory == MAP_FAILED || sigaltstack(&stack, nullptr) != 0)
      return;
  }
  struct sigaction action = {};
  action.sa_sigaction = onSignal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (int signal : {SIGSEGV, SIGABRT, SIGFPE, SIGILL, SIGTRAP})
    sigaction(signal, &action, &previousActions[signal]);
}

void mlir::st::installErrorHandlers(const char *tool) {
  ::st::setUpEarlyEnd(tool);
  llvm::install_bad_alloc_error_handler(onBadAlloc);
  llvm::install_fatal_error_handler(onFatalError);
  std::set_terminate(onTerminate);
  installSignalHandlers();
}
