// What of a program says in which order its instances send and receive.
#pragma once

#include "backends/dtu/isa/Isa.h"

namespace st::dtu {

/// A valid program without the instructions that neither wait, signal, send, receive nor decide
/// whether and how others do: what touches memory alone is left out, and so are loops around
/// nothing else. Labels and the addresses of messages are not kept.
Program skeletonOf(const Program &program);

} // namespace st::dtu
