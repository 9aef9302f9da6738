// RUN: st-opt --assign-stages --split-input-file --verify-diagnostics %s

// expected-error @+1 {{expected @main of one block, an st.mesh, and st.stages of at least 1; run apply-parallel-config first}}
module {}
