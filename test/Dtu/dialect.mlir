// Every instruction as IR: the parser reads what the printer writes.
// RUN: st-opt %s | st-opt | FileCheck %s
// RUN: st-opt --mlir-print-op-generic %s | st-opt | FileCheck %s

// CHECK: dtu.program "all" semaphores 16 barriers 1 l1 65536 l2 4096 l3 1048576 table 3 {
dtu.program "all" semaphores 16 barriers 1 l1 65536 l2 4096 l3 1048576 table 3 {
  // CHECK: dtu.stream "dte" first 0 count 8 {
  dtu.stream "dte" first 0 count 8 {
    // CHECK: dtu.label "load"
    dtu.label "load"
    // CHECK: dtu.loop {limit = #dtu.affine<4>, reg = 4 : i64, start = #dtu.affine<1 * r1>, step = 8 : i64} do {
    dtu.loop {reg = 4, start = #dtu.affine<1 * r1>, limit = #dtu.affine<4>, step = 8} do {
      // CHECK: dtu.index {divide = 2 : i64, dst = 5 : i64, modulo = 3 : i64, multiply = 64 : i64, value = #dtu.affine<1 * r4>}
      dtu.index {dst = 5, value = #dtu.affine<1 * r4>, divide = 2, modulo = 3, multiply = 64}
      dtu.table {dst = 6, index = #dtu.affine<2>}
      // CHECK: dtu.copy {dst = #dtu.view<L1[0] core 1 * r1 strides [512, 4]>, sizes = [#dtu.extent<64>, #dtu.extent<128, 1024 - r4>], src = #dtu.view<L3[4096 + 4 * r5] strides [4096, 4]>}
      dtu.copy {dst = #dtu.view<L1[0] core 1 * r1 strides [512, 4]>, src = #dtu.view<L3[4096 + 4 * r5] strides [4096, 4]>,
                sizes = [#dtu.extent<64>, #dtu.extent<128, 1024 - r4>]}
      // CHECK: dtu.fill {dst = #dtu.view<L2[0] strides [2]>, sizes = [#dtu.extent<16>], type = "bf16", value = 16256 : i64}
      dtu.fill {dst = #dtu.view<L2[0] strides [2]>, sizes = [#dtu.extent<16>], type = "bf16", value = 16256}
      // CHECK: dtu.gather {{.*}}clamp
      dtu.gather {dst = #dtu.address<L1[0]>, table = #dtu.address<L3[0]>, index = #dtu.address<L3[65536]>,
                  dst_stride = 256, table_stride = 256, count = #dtu.extent<8>, elements = #dtu.extent<64>, rows = 100, clamp}
      dtu.scatter {table = #dtu.address<L3[0]>, src = #dtu.address<L3[131072]>, index = #dtu.address<L3[65536]>,
                       table_stride = 256, src_stride = 256, count = #dtu.extent<8>, elements = #dtu.extent<64>,
                       index_type = "i64", base = #dtu.affine<50 * r3>, rows = 50}
      // CHECK: dtu.signal {sem = #dtu.affine<1 * r1>}
      dtu.signal {sem = #dtu.affine<1 * r1>}
    }
    // CHECK: dtu.barrier {participants = 8 : i64}
    dtu.barrier {participants = 8}
  }
  // CHECK: dtu.stream "core" first 0 count 8 {
  dtu.stream "core" first 0 count 8 {
    dtu.wait {sem = #dtu.affine<1 * r1>}
    // CHECK: dtu.matmul {a = #dtu.address<L1[0]>, {{.*}}k = #dtu.extent<32>, {{.*}}transpose_b
    dtu.matmul {c = #dtu.address<L1[32768]>, a = #dtu.address<L1[0]>, b = #dtu.address<L1[4096]>, m = #dtu.extent<16>,
                n = #dtu.extent<16>, k = #dtu.extent<32>, ldc = 16, lda = 32, ldb = 32, transpose_b}
    // CHECK: dtu.vector {a = #dtu.operand<f32 L1[32768] rows 16 cols 1>, {{.*}}op = "mul"
    dtu.vector {op = "mul", dst = #dtu.operand<f32 L1[0] rows 16 cols 1>, a = #dtu.operand<f32 L1[32768] rows 16 cols 1>,
                b = #dtu.operand<f32 L1[64] rows 0 cols 0>, rows = #dtu.extent<16>, cols = #dtu.extent<16>}
  }
  dtu.stream "tx" first 0 count 1 {
    dtu.index {dst = 4, value = #dtu.affine<8 + 1 * r3>}
    // CHECK: dtu.send {channel = 2 : i64, peer = 4 : i64
    dtu.send {peer = 4, src = #dtu.view<L3[0] strides [4]>, sizes = [#dtu.extent<64>], channel = 2}
  }
  dtu.stream "rx" first 0 count 1 {
    dtu.index {dst = 4, value = #dtu.affine<-8 + 1 * r3>}
    // CHECK: dtu.recv {{.*}}reduce = "sum"
    dtu.recv {peer = 4, dst = #dtu.view<L3[0] strides [4]>, sizes = [#dtu.extent<64>], reduce = "sum"}
  }
}
