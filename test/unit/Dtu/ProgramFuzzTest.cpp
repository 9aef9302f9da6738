// Random programs that are almost valid: every program that the validator accepts finishes, faults
// or deadlocks, on data and in time alike, and never accesses foreign memory (checked in the
// address sanitizer's build).
#include "SimulatorFixture.h"

#include "backends/dtu/isa/Fields.h"
#include "backends/dtu/isa/Names.h"
#include "backends/dtu/isa/Validator.h"

#include <random>

namespace st::dtu {
namespace {

/// Fills instructions with small numbers, so that many of them are valid.
class PlausibleFiller {
public:
  explicit PlausibleFiller(uint64_t seed) : engine(seed) {}

  int64_t below(int64_t n) { return static_cast<int64_t>(engine() % static_cast<uint64_t>(n)); }

  void reg(const char *, uint8_t &value) { value = static_cast<uint8_t>(below(8)); }
  void integer(const char *, int64_t &value, int64_t standard) {
    value = below(4) ? standard : below(80);
  }
  void flag(const char *, bool &value) { value = below(2); }
  void bits(const char *, uint64_t &value) { value = engine(); }
  template <typename Enum> void enumeration(const char *, Enum &value, Enum standard) {
    value = below(3) ? standard : static_cast<Enum>(below(enumCount<Enum>()));
  }
  void affine(const char *, Affine &value) {
    value.constant = below(3) ? 0 : 8 * below(20);
    if (below(2))
      value.terms.push_back({static_cast<uint8_t>(below(8)), below(12) ? 8 : -8});
  }
  void address(const char *, Address &value) {
    value.space = static_cast<Space>(below(4));
    affine("", value.offset);
    if (below(3) == 0)
      affine("", value.core);
  }
  void extent(const char *, Extent &value) {
    value.tile = below(9);
    if (below(4) == 0) {
      value.reg = static_cast<uint8_t>(below(8));
      value.limit = below(16);
    }
  }
  void sizes(const char *, std::vector<Extent> &value) {
    value.resize(static_cast<size_t>(dims));
    for (Extent &size : value)
      extent("", size);
  }
  void view(const char *, View &value) {
    address("", value.address);
    for (int64_t i = 0; i < dims; ++i)
      value.strides.push_back(8 * below(10) - (below(8) == 0 ? 16 : 0));
  }
  void operand(const char *, TileOperand &value) {
    address("", value.address);
    value.address.space = Space::L1;
    value.rowStride = below(20) - 2;
    value.colStride = below(3);
    enumeration("", value.type, below(2) ? DType::F32 : type);
  }
  void operands(std::array<TileOperand, 3> &value) {
    for (TileOperand &tile : value)
      operand("", tile);
  }

  Instruction instruction() {
    Instruction result;
    dims = below(4);
    type = static_cast<DType>(below(kNumDTypes));
    // Blocking instructions would stop most programs too early.
    do
      makeInstruction(static_cast<size_t>(below(std::variant_size_v<Instruction>)), result);
    while ((std::holds_alternative<Wait>(result) || std::holds_alternative<Barrier>(result) ||
            std::holds_alternative<Recv>(result) || std::holds_alternative<Send>(result)) &&
           below(12));
    std::visit([&](auto &i) { Fields<std::decay_t<decltype(i)>>::visit(*this, i); }, result);
    return result;
  }

private:
  std::mt19937_64 engine;
  int64_t dims = 1;
  DType type = DType::F32;
};

/// A program of valid instructions, each tried alone first.
Program plausibleProgram(uint64_t seed, const MachineLimits &limits) {
  PlausibleFiller filler(seed);
  Program program;
  program.name = "fuzz";
  program.semaphores = 64;
  program.barriers = 2;
  program.l1Bytes = program.l2Bytes = program.l3Bytes = program.hostBytes = 2048;
  program.tableSize = 4;
  for (Engine engine : {Engine::Core, Engine::Dte, Engine::Tx, Engine::Rx}) {
    Stream &stream = program.streams.emplace_back();
    stream.engine = engine;
    stream.count = 1 + filler.below(2);
    int64_t wanted = 1 + filler.below(8);
    for (int tries = 0; tries < 400 && wanted > 0; ++tries) {
      size_t before = stream.instructions.size();
      stream.instructions.push_back(filler.instruction());
      if (const Loop *loop = std::get_if<Loop>(&stream.instructions.back())) {
        if (loop->step < 1 || loop->limit.constant > 64)
          stream.instructions.back() = Loop();
        stream.instructions.push_back(filler.instruction());
        stream.instructions.push_back(EndLoop());
      }
      if (validate(program, limits).ok())
        --wanted;
      else
        stream.instructions.resize(before);
    }
  }
  return program;
}

TEST(ProgramFuzz, ValidNonsenseNeverCrashes) {
  proto::DtuDescription t10 = *builtinDtuDescription("dtu-t10");
  MachineLimits limits = machineLimits(t10);
  int ran = 0, faulted = 0;
  for (uint64_t seed = 0; seed < 600; ++seed) {
    Program program = plausibleProgram(seed, limits);
    SimulatorOptions options;
    options.hostThreads = 1 + static_cast<int>(seed % 2);
    std::vector<RankConfig> configs = rankConfigs(2, program.l3Bytes, program.hostBytes);
    for (RankConfig &config : configs)
      config.table = {0, 1, 1, 0};
    auto simulator = makeSimulator(configs, options);
    absl::StatusOr<ProgramId> id = simulator->load(program);
    ASSERT_TRUE(id.ok()) << id.status();
    std::vector<RankSchedule> schedules(2, {{*id, 0}, {*id, 1}});
    absl::Status status = simulator->execute(schedules);
    ++(status.ok() ? ran : faulted);
    (void)simulator->time(schedules);
  }
  // Both outcomes occur.
  EXPECT_GT(ran, 5);
  EXPECT_GT(faulted, 5);
}

} // namespace
} // namespace st::dtu
