// Small machines and programs for tests of the simulator.
#pragma once

#include "backends/dtu/isa/Text.h"
#include "backends/dtu/simulator/Simulator.h"
#include "lib/Timing/DtuDescription.h"

#include "absl/strings/str_cat.h"

#include <gtest/gtest.h>

#include <cstring>

namespace st::dtu {

inline Program parseOrDie(const std::string &text) {
  absl::StatusOr<Program> program = parseProgram(text);
  EXPECT_TRUE(program.ok()) << program.status() << "\n" << text;
  return program.ok() ? *program : Program();
}

inline std::unique_ptr<Simulator> makeSimulator(std::vector<RankConfig> ranks,
                                                SimulatorOptions options = {}) {
  auto simulator = Simulator::create(*builtinDtuDescription("dtu-t10"), std::move(ranks), options);
  EXPECT_TRUE(simulator.ok()) << simulator.status();
  return simulator.ok() ? std::move(*simulator) : nullptr;
}

/// `count` ranks on the first clusters of T10, each with an arena of `bytes`, and of `hostBytes` on
/// the host.
inline std::vector<RankConfig> rankConfigs(int64_t count, int64_t bytes, int64_t hostBytes = 0) {
  std::vector<RankConfig> ranks;
  for (int64_t i = 0; i < count; ++i) {
    RankConfig config;
    config.deviceId = i / 4 * 5 + i % 4;
    config.rankInGroup = i;
    config.arenaBytes = bytes;
    config.hostBytes = hostBytes;
    ranks.push_back(config);
  }
  return ranks;
}

/// One core instruction between a copy of L3 [0, bytes) into L1 and one of all of L1 back to it.
inline Program coreProgram(const std::string &instruction, int64_t bytes) {
  return parseOrDie(absl::StrCat(
      "program \"core\" semaphores=2 barriers=0 l1=", bytes, " l2=0 l3=", bytes, " table=0 {\n",
      "stream dte first=0 count=1 {\n copy dst=L1[0]{1} src=L3[0]{1} sizes=[", bytes,
      "] to=ui8 from=ui8\n signal sem=0\n wait sem=1\n copy dst=L3[0]{1} src=L1[0]{1} sizes=[",
      bytes, "] to=ui8 from=ui8\n}\n", "stream core first=0 count=1 {\n wait sem=0\n ", instruction,
      "\n signal sem=1\n}\n}\n"));
}

/// A program that is one instruction stream on one engine.
inline Program streamProgram(const std::string &engine, const std::string &body, int64_t bytes) {
  return parseOrDie(
      absl::StrCat("program \"p\" semaphores=8 barriers=4 l1=65536 l2=65536 l3=", bytes,
                   " table=0 {\nstream ", engine, " first=0 count=1 {\n", body, "\n}\n}\n"));
}

/// Runs a program on one rank whose arena begins as `memory`, which then holds the result.
template <typename T>
absl::Status runOn(const Program &program, std::vector<T> &memory, SimulatorOptions options = {}) {
  auto simulator =
      makeSimulator(rankConfigs(1, static_cast<int64_t>(memory.size() * sizeof(T))), options);
  absl::StatusOr<ProgramId> id = simulator->load(program);
  if (!id.ok())
    return id.status();
  std::memcpy(simulator->memory(0), memory.data(), memory.size() * sizeof(T));
  absl::Status status = simulator->execute({{{*id, 0}}});
  std::memcpy(memory.data(), simulator->memory(0), memory.size() * sizeof(T));
  return status;
}

} // namespace st::dtu
