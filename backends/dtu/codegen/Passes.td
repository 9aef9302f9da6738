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

    The device is the module's `st.target` (a built-in description), or the text of a description in
    the module's `dtu.description`; without either it is dtu-t10. An unsupported op is an error that
    names it.

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
  let summary = "Proves that instruction streams have no deadlocks and no races";
  let description = [{
    Needs the programs of `convert-to-dtu`, and changes nothing. For every device it executes each
    task's streams without data and builds the happens-before relation of program order within an
    instance, semaphores and barriers. It fails with a one-line error if

    - two engines access the same byte of L1, L2 or the arena, one of them writes, and neither
      access (including pending transfers) happens before the other; the error names the two
      instructions, their engines and the bytes;
    - an instance waits forever, or a semaphore or barrier has no fixed set of users, so that one
      run would not represent all interleavings;
    - the messages of all devices, in the order of the streams and schedules, do not all arrive: a
      device waits forever, a receive has a different size than its message, or a message has no
      receiver. Sends never wait.

    Runs of a program that differ only in their peer devices count as one. The pass executes at most
    `work` instructions, first one run of each program, then those of other ranks and micro-batches;
    a remark says what it omitted.
  }];
  let options = [Option<"work", "work", "int64_t", "1000000000",
                        "largest number of instructions to execute">];
}

#endif // ST_BACKENDS_DTU_CODEGEN_PASSES_TD
