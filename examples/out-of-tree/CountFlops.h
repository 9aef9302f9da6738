#ifndef EXAMPLE_COUNTFLOPS_H
#define EXAMPLE_COUNTFLOPS_H

/// Registers the pass `example-count-flops`. Call once in a process.
void registerCountFlops();

#endif // EXAMPLE_COUNTFLOPS_H
