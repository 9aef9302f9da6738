// The skeleton of a program: the instructions that determine the order of its sends and receives.
#pragma once

#include "backends/dtu/isa/Isa.h"

namespace st::dtu {

/// Copies a valid program without the instructions that affect neither waits and signals nor
/// messages. It keeps the control flow and address arithmetic of the others. It omits instructions
/// that only access memory, and loops that contain only such instructions. Labels and message
/// addresses are dropped.
Program skeletonOf(const Program &program);

} // namespace st::dtu
