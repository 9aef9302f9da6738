// Failures that are planted into the stand-ins, to test what names them: scripts/gpu-check.sh.
//
//   ST_STANDIN_FAULTS  "NAME=NUMBER[@CALL],…": the function of that name returns the number, from its CALL-th call on (1).
//
// These are no functions, and their number says more: "kernel" is the error that a launched kernel has (700: an illegal
// address; 0: it never ends), "result" is what the last element of each product becomes, "largest" is the most MiB
// that one allocation may have, "epilogue" is one of cuBLASLt that no algorithm is for, "capability" is the GPU's, as 70.
#ifndef ST_TEST_STANDINS_FAULTS_H
#define ST_TEST_STANDINS_FAULTS_H

#include <cstdlib>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace standin {

/// The number of a planted failure that this call meets; nothing: none. Each library counts its own calls.
inline std::optional<long> findFault(const std::string &name) {
  static std::mutex mutex;
  static std::map<std::string, long> calls;
  const char *planted = std::getenv("ST_STANDIN_FAULTS");
  const std::string text = planted ? "," + std::string(planted) : "";
  const size_t begin = text.find("," + name + "=");
  if (begin == std::string::npos)
    return std::nullopt;
  char *end = nullptr;
  const long number = std::strtol(text.c_str() + begin + name.size() + 2, &end, 10);
  const long first = *end == '@' ? std::strtol(end + 1, nullptr, 10) : 1;
  std::lock_guard<std::mutex> lock(mutex);
  return ++calls[name] >= first ? std::optional<long>(number) : std::nullopt;
}

} // namespace standin

/// At the begin of a function: returns the number that is planted for it.
#define ST_STANDIN_MAY_FAIL(name)                                                                  \
  if (std::optional<long> fault = ::standin::findFault(#name))                                     \
    return static_cast<int>(*fault);

#endif // ST_TEST_STANDINS_FAULTS_H
