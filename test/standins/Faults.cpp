#include "test/standins/Faults.h"

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <sstream>
#include <vector>

namespace standin {
namespace {

struct Failure {
  std::string name;
  int64_t number; ///< 0: every time
  int error;
  int64_t seen = 0;
};

class Plan {
public:
  Plan() {
    if (const char *text = std::getenv("ST_STANDIN_FAIL"))
      read(text);
  }

  void read(const std::string &text) {
    std::lock_guard<std::mutex> lock(mutex);
    failures.clear();
    std::istringstream parts(text);
    for (std::string part; std::getline(parts, part, ',');) {
      const size_t last = part.rfind(':');
      const size_t first =
          last == std::string::npos || last == 0 ? last : part.rfind(':', last - 1);
      if (last == std::string::npos || first == std::string::npos) {
        std::fprintf(stderr, "ST_STANDIN_FAIL: %s: expected NAME:N:ERROR\n", part.c_str());
        std::abort();
      }
      failures.push_back({part.substr(0, first), std::atol(part.c_str() + first + 1),
                          std::atoi(part.c_str() + last + 1)});
    }
    isEmpty = failures.empty();
  }

  int find(const std::string &name) {
    std::lock_guard<std::mutex> lock(mutex);
    for (Failure &failure : failures)
      if (failure.name == name && (++failure.seen == failure.number || failure.number == 0))
        return failure.error;
    return 0;
  }

  std::atomic<bool> isEmpty{true};

private:
  std::mutex mutex;
  std::vector<Failure> failures;
};

Plan &plan() {
  static Plan created;
  return created;
}

class Functions {
public:
  ~Functions() {
    const char *path = std::getenv("ST_STANDIN_COUNTS");
    std::FILE *file = path ? std::fopen(path, "w") : nullptr;
    if (!file)
      return;
    for (const Function *function : known)
      std::fprintf(file, "%s %lld\n", function->name,
                   static_cast<long long>(function->calls.load()));
    std::fclose(file);
  }

  void add(const Function *function) {
    std::lock_guard<std::mutex> lock(mutex);
    known.push_back(function);
  }

  int64_t count(const std::string &name) {
    std::lock_guard<std::mutex> lock(mutex);
    for (const Function *function : known)
      if (name == function->name)
        return function->calls;
    return 0;
  }

private:
  std::mutex mutex;
  std::vector<const Function *> known;
};

Functions &functions() {
  static Functions created;
  return created;
}

} // namespace

Function::Function(const char *name) : name(name) { functions().add(this); }

void planFailures(const std::string &text) { plan().read(text); }

int findFailure(const std::string &name) { return plan().isEmpty ? 0 : plan().find(name); }

int64_t countCalls(const std::string &function) { return functions().count(function); }

} // namespace standin
