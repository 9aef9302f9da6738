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

def VerifyDtuOrder : Pass<"verify-dtu-order", "::mlir::ModuleOp"> {
  let summary = "Proves instruction streams free of deadlock and of races";
  let description = [{
    Needs programs as `convert-to-dtu` leaves them, and changes nothing. For every device it follows
    each task's streams without data and builds what happens before what: program order within an
    instance, semaphores, barriers. It fails with one line

    - where of two accesses to a byte of L1, L2 or the arena by two engines, one of which writes,
      neither happens before the other, transfers under way included: the two instructions, their
      engines and the bytes are named;
    - where an instance waits for ever, or a semaphore or barrier has no fixed set of users, so
      that one run would not stand for all interleavings;
    - where the messages of all devices, in the order that the streams and schedules give them, do
      not all arrive: a device that waits for ever, a receive of another size than its message, a
      message that nobody receives. Sends never wait.

    Runs of a program that differ in nothing but the devices that they talk to are one. At most
    `work` instructions are followed, first one run of each program, then those for other ranks and
    micro-batches; a remark says what was left out.
  }];
  let options = [Option<"work", "work", "int64_t", "1000000000",
                        "most instructions to follow">];
}

#endif // ST_BACKENDS_DTU_CODEGEN_PASSES_TD
