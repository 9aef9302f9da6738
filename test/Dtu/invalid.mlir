// RUN: st-opt %s -split-input-file -verify-diagnostics

dtu.program "engine" semaphores 0 barriers 0 l1 0 l2 0 l3 0 table 0 {
  // expected-error @+1 {{has unknown engine 'gpu'}}
  dtu.stream "gpu" first 0 count 1 {
  }
}

// -----

dtu.program "register" semaphores 0 barriers 0 l1 0 l2 0 l3 0 table 0 {
  dtu.stream "core" first 0 count 1 {
    // expected-error @+1 {{names register r99, expected r0 to r31}}
    dtu.index {dst = 99}
  }
}

// -----

dtu.program "name" semaphores 0 barriers 0 l1 64 l2 0 l3 0 table 0 {
  dtu.stream "core" first 0 count 1 {
    // expected-error @+1 {{has unknown name 'squish'}}
    dtu.vector {op = "squish", dst = #dtu.operand<f32 L1[0] rows 1 cols 1>, rows = #dtu.extent<1>, cols = #dtu.extent<1>}
  }
}

// -----

// The instruction set's validator checks whole programs.
// expected-error @+1 {{is not valid: program 'range', stream 0 (core), instruction 0}}
dtu.program "range" semaphores 0 barriers 0 l1 64 l2 0 l3 0 table 0 {
  dtu.stream "core" first 0 count 1 {
    dtu.vector {op = "fill", dst = #dtu.operand<f32 L1[0] rows 16 cols 1>, rows = #dtu.extent<2>, cols = #dtu.extent<16>}
  }
}

// -----

dtu.program "stray" semaphores 0 barriers 0 l1 0 l2 0 l3 0 table 0 {
  dtu.stream "core" first 0 count 1 {
    // expected-error @+1 {{is not an instruction of a dtu.stream}}
    builtin.module {}
  }
}

// -----

dtu.program "body" semaphores 0 barriers 0 l1 0 l2 0 l3 0 table 0 {
  // expected-error @+1 {{is not allowed directly in a dtu.program}}
  dtu.label "lost"
}
