// What of a program its time depends on. Addresses and data do not count, so programs that do the
// same work in other places of memory have one form.
#pragma once

#include "backends/dtu/simulator/Decoded.h"

#include <string>
#include <vector>

namespace st::dtu {

struct TimingForm {
  /// Equal for two programs if any machine runs their core and dte streams in the same time, given
  /// that their messages are alike too (TaskMessages.h).
  std::string text;
  /// Sizes, trips or semaphores of core and dte streams follow from the rank, its table or the
  /// micro-batch, so that the form says less than their time.
  bool variesByRun = false;
  /// It branches on what it reads from memory.
  bool readsData = false;
};

TimingForm timingFormOf(const DecodedProgram &program);

/// Of each slot of a stream a text that is equal for two slots if they take the same time and do
/// the same to the registers that decide something, peers of messages among them; of a table, if
/// the rank tables agree.
std::vector<std::string> slotFormsOf(const DecodedProgram &program, const DecodedStream &stream);

} // namespace st::dtu
