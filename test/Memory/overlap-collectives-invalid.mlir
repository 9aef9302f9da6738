// RUN: not st-opt --overlap-collectives %s 2>&1 | FileCheck %s

// CHECK: error: st.speed has 2 link_bytes_per_us, expected one for each of 1 axes of the mesh
module attributes {st.speed = #st.speed<flops_per_ns = 1, flops16_per_ns = 1, vector_bytes_per_ns = 1, bytes_per_ns = 1, kernel_ns = 1, link_bytes_per_us = [1, 1], link_ns = 1>} {
  st.mesh @mesh <["tensor"=4], micro=1>
  st.program @group0 stages [0] devices [0, 1, 2, 3] first_rank 0 mesh @mesh {
  }
}
