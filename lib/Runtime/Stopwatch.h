// The time since an object was created.
#ifndef ST_RUNTIME_STOPWATCH_H
#define ST_RUNTIME_STOPWATCH_H

#include <chrono>

namespace st {

class Stopwatch {
public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

private:
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
};

} // namespace st

#endif // ST_RUNTIME_STOPWATCH_H
