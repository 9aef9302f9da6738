// Small changes to instruction streams, most of which keep a program decodable.
#ifndef ST_TEST_FUZZ_PROGRAMMUTATOR_H
#define ST_TEST_FUZZ_PROGRAMMUTATOR_H

#include "backends/dtu/isa/Isa.h"

#include <random>

namespace st::dtu {

class ProgramMutator {
public:
  explicit ProgramMutator(uint64_t seed) : engine(seed) {}

  /// One field, instruction, stream or size of the program.
  void mutate(Program &program);
  /// Near the value, a power of two or any number.
  int64_t number(int64_t value);
  /// Less than `count`, which is positive.
  size_t below(size_t count) { return engine() % count; }

private:
  void mutateField(Instruction &instruction);
  void moveInstructions(Stream &stream);

  std::mt19937_64 engine;
};

} // namespace st::dtu

#endif // ST_TEST_FUZZ_PROGRAMMUTATOR_H
