// The part of a program that decides in which order its instances send and receive.
#pragma once

#include "backends/dtu/isa/Isa.h"

namespace st::dtu {

/// A copy of a valid program that keeps only the instructions that wait, signal, send or receive,
/// and those that decide whether and how others do. It omits instructions that only access memory,
/// and loops that contain only such instructions. Labels and message addresses are dropped.
Program skeletonOf(const Program &program);

} // namespace st::dtu
