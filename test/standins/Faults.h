// Failures that tests request from the driver's stand-in, and the number of calls of its functions.
//
//   ST_STANDIN_FAIL    failures separated by commas, each as NAME:N:ERROR. NAME is a function of
//                      the driver, whose N-th call returns the error and does nothing, or a kernel,
//                      whose N-th run (in any launch or graph) fails: as on a GPU, only a later
//                      call reports it, and then every call for that GPU fails. N counts from 1;
//                      "all" is every time. ERROR is a number of cuda.h; for a kernel -1 means
//                      that it never ends. Functions of the other libraries fail in the same way,
//                      with their own numbers. Three names are no functions: for "capability" the
//                      number replaces the GPUs' 90; for "epilogueE" it is the status of requests
//                      for an algorithm with cuBLASLt's epilogue E; for "product" it replaces the
//                      last element of results.
//   ST_STANDIN_COUNTS  a file for the number of calls of each function, written when the process
//                      ends: one line per function with its name and number
#ifndef ST_TEST_STANDINS_FAULTS_H
#define ST_TEST_STANDINS_FAULTS_H

#include <atomic>
#include <cstdint>
#include <string>

namespace standin {

/// Replaces the failures, in the syntax of ST_STANDIN_FAIL, and restarts the counts at 1.
void planFailures(const std::string &text);

/// Counts a use of a function or kernel; returns the error that was requested for it, or 0.
int findFailure(const std::string &name);

/// Instead of an error: the kernel never ends.
constexpr int kNeverEnds = -1;

/// Number of calls of a function.
int64_t countCalls(const std::string &function);

/// A function of the driver: one static object each.
class Function {
public:
  explicit Function(const char *name);

  /// A call begins. A result other than 0 is the error that it returns.
  int call() {
    ++calls;
    return findFailure(name);
  }

  const char *const name;
  std::atomic<int64_t> calls{0};
};

} // namespace standin

#endif // ST_TEST_STANDINS_FAULTS_H
