// The part of a program that its time depends on. It contains neither addresses nor data, so
// programs that do the same work at other addresses have equal forms.
#pragma once

#include "backends/dtu/simulator/Decoded.h"

#include <string>
#include <vector>

namespace st::dtu {

struct TimingForm {
  /// Equal for two programs if their core and dte streams take the same time on any machine, given
  /// equal messages (TaskMessages.h).
  std::string text;
  /// Sizes, trip counts or semaphores of core and dte streams depend on the rank, its table or the
  /// micro-batch, so equal forms do not imply equal times.
  bool variesByRun = false;
  /// The program branches on values that it reads from memory.
  bool readsData = false;
};

TimingForm timingFormOf(const DecodedProgram &program);

/// For each slot of a stream, a key. Two slots have equal keys if they take the same time, use the
/// same channel, take the peer from the same register, and have the same effect on registers that
/// decide something (including peers of messages). For a Table instruction, the texts are equal if
/// the rank tables agree.
std::vector<std::string> slotFormsOf(const DecodedProgram &program, const DecodedStream &stream);

} // namespace st::dtu
