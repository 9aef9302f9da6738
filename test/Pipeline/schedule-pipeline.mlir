// RUN: st-opt --schedule-pipeline=kind=1f1b %s | FileCheck %s --check-prefix=1F1B
// RUN: st-opt --schedule-pipeline=kind=gpipe %s | FileCheck %s --check-prefix=GPIPE
// RUN: st-opt --schedule-pipeline %s | FileCheck %s --check-prefix=SEQUENTIAL

module {
  st.mesh @mesh <[], micro=4>
  st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
    st.buffer @stash0 "stash" slots 1 : tensor<2xf32>
    st.buffer @early "stash" slots 1 : tensor<2xf32>
    st.task @statistics0 statistics stage 0 (%mb) {
      %0 = stablehlo.constant dense<1.0> : tensor<2xf32>
      st.write %0 to @early[%mb] : tensor<2xf32>
    }
    st.task @totals totals stage 0 (%mb) {
    }
    st.task @forward0 forward stage 0 (%mb) {
      %0 = st.read @early[%mb] : tensor<2xf32>
      st.write %0 to @stash0[%mb] : tensor<2xf32>
      st.send %0 to @group1 channel 0 : tensor<2xf32>
    }
    st.task @backward0 backward stage 0 (%mb) {
      %0 = st.read @stash0[%mb] : tensor<2xf32>
      %1 = st.recv from @group1 channel 1 : tensor<2xf32>
    }
    st.task @update update stage 0 (%mb) {
    }
  }
  st.program @group1 stages [1] devices [1] first_rank 1 mesh @mesh {
    st.buffer @stash0 "stash" slots 1 : tensor<2xf32>
    st.task @forward1 forward stage 1 (%mb) {
      %0 = st.recv from @group0 channel 0 : tensor<2xf32>
      st.write %0 to @stash0[%mb] : tensor<2xf32>
    }
    st.task @backward1 backward stage 1 (%mb) {
      %0 = st.read @stash0[%mb] : tensor<2xf32>
      st.send %0 to @group0 channel 1 : tensor<2xf32>
    }
  }
}

// 1F1B-LABEL: st.program @group0
// 1F1B: st.buffer @stash0 "stash" slots 2
// 1F1B: st.buffer @early "stash" slots 4
// 1F1B: st.schedule "1f1b" [@statistics0 0, @statistics0 1, @statistics0 2, @statistics0 3, @totals 0,
// 1F1B-SAME: @forward0 0, @forward0 1, @backward0 0, @forward0 2, @backward0 1, @forward0 3, @backward0 2, @backward0 3, @update 0]
// 1F1B-LABEL: st.program @group1
// 1F1B: st.buffer @stash0 "stash" slots 1
// 1F1B: st.schedule "1f1b" [@forward1 0, @backward1 0, @forward1 1, @backward1 1, @forward1 2, @backward1 2, @forward1 3, @backward1 3]

// GPIPE-LABEL: st.program @group0
// GPIPE: st.buffer @stash0 "stash" slots 4
// GPIPE: st.schedule "gpipe" [{{.*}}@forward0 0, @forward0 1, @forward0 2, @forward0 3, @backward0 0, @backward0 1, @backward0 2, @backward0 3, @update 0]
// GPIPE-LABEL: st.program @group1
// GPIPE: st.buffer @stash0 "stash" slots 4

// SEQUENTIAL-LABEL: st.program @group0
// SEQUENTIAL: st.buffer @stash0 "stash" slots 1
// SEQUENTIAL: st.schedule "sequential" [{{.*}}@forward0 0, @backward0 0, @forward0 1, @backward0 1,
