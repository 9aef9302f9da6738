// From planned programs to instruction streams.

#ifndef ST_BACKENDS_DTU_CODEGEN_PASSES_TD
#define ST_BACKENDS_DTU_CODEGEN_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertToDtu : Pass<"convert-to-dtu", "::mlir::ModuleOp"> {
  let summary = "Turns every task into one dtu.program";
  let description = [{
    Needs planned programs: kernels, collectives and transfers whose values have
    `st.addresses`, storage with addresses. Leaves in each task a `dtu.program` and
    on each program its rank table and constants (`dtu.rank_table`,
    `dtu.table_size`, `dtu.constants`).

    The machine is the module's `st.target` (a description that is built in), or
    the text of a description in the module's `dtu.description`; without either it
    is dtu-t10. An op for which there is no code is an error that names it.

    ```mlir
    st.task @forward0 forward stage 0 (%mb) {
      %0 = st.read @x {st.addresses = [#st.address<offset = 0>]} : tensor<64xf32>
      %1 = st.kernel "loop" (%a = %0 : tensor<64xf32>) -> tensor<64xf32>
           attributes {st.addresses = [#st.address<offset = 256>]} {
        %2 = stablehlo.negate %a : tensor<64xf32>
        st.yield %2 : tensor<64xf32>
      }
      st.write %1 to @y : tensor<64xf32>
    }
    // after
    st.task @forward0 forward stage 0 (%mb) {
      dtu.program "forward0" ... {
        dtu.stream "dte" first 0 count 8 { ... }
        dtu.stream "core" first 0 count 8 { ... }
      }
    }
    ```
  }];
  let statistics = [Statistic<"numInstructions", "instructions", "Instructions generated">];
  let dependentDialects = ["::mlir::dtu::DtuDialect", "::mlir::st::StDialect",
                           "::mlir::stablehlo::StableHLODialect"];
}

#endif // ST_BACKENDS_DTU_CODEGEN_PASSES_TD
