// The logs and configurations in test/Inputs.
#ifndef ST_TEST_UNIT_FRONTEND_TESTINPUTS_H
#define ST_TEST_UNIT_FRONTEND_TESTINPUTS_H

#include <fstream>
#include <iterator>
#include <string>

/// The content of a file of test/Inputs.
inline std::string readTestInput(const std::string &name) {
  std::ifstream file(ST_SOURCE_DIR "/test/Inputs/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

#endif // ST_TEST_UNIT_FRONTEND_TESTINPUTS_H
