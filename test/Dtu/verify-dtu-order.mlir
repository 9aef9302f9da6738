// Emitted streams are proven; with one wait, signal or meeting less they are not.
//
// RUN: split-file %s %t
// RUN: st-opt --convert-to-dtu %t/step.mlir -o %t.dtu.mlir
// RUN: st-opt --verify-dtu-order %t.dtu.mlir | diff - %t.dtu.mlir
// RUN: not st-opt --verify-dtu-order %t/step.mlir 2>&1 | FileCheck %s --check-prefix=EARLY
// RUN: sed '0,/dtu.barrier/{/dtu.barrier/d}' %t.dtu.mlir | not st-opt --verify-dtu-order 2>&1 | FileCheck %s --check-prefix=MEETING
// RUN: sed '0,/dtu.wait/{/dtu.wait/d}' %t.dtu.mlir | not st-opt --verify-dtu-order 2>&1 | FileCheck %s --check-prefix=WAIT
// RUN: sed '0,/dtu.signal/{/dtu.signal/d}' %t.dtu.mlir | not st-opt --verify-dtu-order 2>&1 | FileCheck %s --check-prefix=SIGNAL
// RUN: sed '0,/dtu.recv/{/dtu.recv/d}' %t.dtu.mlir | not st-opt --verify-dtu-order 2>&1 | FileCheck %s --check-prefix=RECEIVE
// RUN: st-opt --verify-dtu-order=work=10 %t.dtu.mlir 2>&1 >/dev/null | FileCheck %s --check-prefix=WORK

// EARLY: verify-dtu-order: {{.*}}expected
// MEETING: error: group "group0", rank 0, micro-batch 0: program 'forward0', {{.*}} on dte {{[0-9]}}: {{reads|writes}} bytes {{.*}} and nothing says which is first
// WAIT: error: group "group0", rank 0, micro-batch 0: program 'forward0', {{.*}} and nothing says which is first
// SIGNAL: error: group "group0", rank 0, micro-batch 0: waits for ever: program 'forward0', {{.*}} on
// RECEIVE: error: {{.*}}
// WORK: remark: of {{[0-9]+}} runs of programs that differ 0 were proven free of races, and messages were not; verify-dtu-order with more work proves the others

//--- step.mlir
