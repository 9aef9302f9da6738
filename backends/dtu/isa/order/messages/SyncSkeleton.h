// The part of a program that decides in which order its instances send and receive.
#pragma once

#include "backends/dtu/isa/Isa.h"

namespace st::dtu {

/// A copy of a valid program without the instructions that neither wait, signal, send, receive nor
/// decide whether and how others do: instructions that only access memory, and loops around nothing
/// else. Labels and message addresses are dropped.
Program skeletonOf(const Program &program);

} // namespace st::dtu
