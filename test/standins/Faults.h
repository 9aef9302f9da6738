// Failures that tests ask of the driver's stand-in, and how often its functions were called.
//
//   ST_STANDIN_FAIL    what fails, separated by commas, each as NAME:N:ERROR. NAME is a function of
//                      the driver, whose N-th call returns the error and does nothing, or a kernel,
//                      whose N-th run (of whatever launch or graph) fails: as on a GPU nobody is
//                      told before a later call, and from then on every call for that GPU fails.
//                      N counts from 1; "all" is every time. ERROR is a number of cuda.h, and of a
//                      kernel -1 that it never ends. Functions of the other libraries fail in the
//                      same way, with their own numbers. Three names are of no function: of
//                      "capability" the number is what GPUs have in the place of 90; of
//                      "epilogueE" it is the status where an algorithm is asked for with cuBLASLt's
//                      epilogue E; of "product" it is what the last element of results becomes.
//   ST_STANDIN_COUNTS  a file for the number of calls of each function, written when the process
//                      ends: a line with name and number for each
#ifndef ST_TEST_STANDINS_FAULTS_H
#define ST_TEST_STANDINS_FAULTS_H

#include <atomic>
#include <cstdint>
#include <string>

namespace standin {

/// Replaces what fails, in the syntax of ST_STANDIN_FAIL, and counts from 1 again.
void planFailures(const std::string &text);

/// Counts a use of a function or kernel; the error that was planned for it, or 0.
int findFailure(const std::string &name);

/// In the place of an error: the kernel never ends.
constexpr int kNeverEnds = -1;

/// How often a function was called.
int64_t countCalls(const std::string &function);

/// A function of the driver: one static object each.
class Function {
public:
  explicit Function(const char *name);

  /// A call begins. Other than 0: it returns this error.
  int call() {
    ++calls;
    return findFailure(name);
  }

  const char *const name;
  std::atomic<int64_t> calls{0};
};

} // namespace standin

#endif // ST_TEST_STANDINS_FAULTS_H
