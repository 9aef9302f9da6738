// One op per instruction. The instruction set's Fields.h names the fields; a field with a default
// there is optional here.

#ifndef DTU_OPS_TD
#define DTU_OPS_TD

include "backends/dtu/IR/DtuDialect.td"
include "mlir/IR/BuiltinAttributes.td"

// ---- structure ------------------------------------------------------------------

class Dtu_Op<string mnemonic, list<Trait> traits = []> : Op<Dtu_Dialect, mnemonic, traits>;

def Dtu_ProgramOp : Dtu_Op<"program", [IsolatedFromAbove, NoTerminator, SingleBlock]> {
  let summary = "the code of one task on a cluster";
  let description = [{
    ```mlir
    dtu.program "forward0" semaphores 2 barriers 1 l1 65536 l2 0 l3 4096 table 3 {
      dtu.stream "dte" first 0 count 8 { ... }
      dtu.stream "core" first 0 count 8 { ... }
    }
    ```
    The verifier is the instruction set's own validator, without the limits of a machine.
  }];
  let arguments = (ins StrAttr:$name, I64Attr:$semaphores, I64Attr:$barriers, I64Attr:$l1_bytes,
                       I64Attr:$l2_bytes, I64Attr:$l3_bytes, I64Attr:$table_size,
                       DefaultValuedAttr<I64Attr, "0">:$host_bytes);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $name `semaphores` $semaphores `barriers` $barriers `l1` $l1_bytes `l2` $l2_bytes `l3` $l3_bytes
    (`host` $host_bytes^)? `table` $table_size attr-dict-with-keyword $body
  }];
  let hasRegionVerifier = 1;
}

def Dtu_StreamOp : Dtu_Op<"stream", [HasParent<"ProgramOp">, NoTerminator, SingleBlock]> {
  let summary = "one instruction stream, run by `count` instances of an engine";
  let arguments = (ins StrAttr:$engine, I64Attr:$first, I64Attr:$count);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$engine `first` $first `count` $count attr-dict-with-keyword $body";
}

def Dtu_LabelOp : Dtu_Op<"label"> {
  let summary = "names the following instructions in traces; not an instruction";
  let arguments = (ins StrAttr:$name);
  let assemblyFormat = "$name attr-dict";
}

// An instruction's fields are its attribute dictionary.
class Dtu_Instruction<string mnemonic, list<Trait> traits = []> : Dtu_Op<mnemonic, traits> {
  let assemblyFormat = "attr-dict";
}

// ---- control ----------------------------------------------------------------------

def Dtu_LoopOp : Dtu_Op<"loop", [NoTerminator, SingleBlock]> {
  let summary = "repeats its body while a register counts from start to limit";
  let arguments = (ins I64Attr:$reg, OptionalAttr<Dtu_AffineAttr>:$start,
                       OptionalAttr<Dtu_AffineAttr>:$limit, OptionalAttr<I64Attr>:$step);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "attr-dict `do` $body";
}

def Dtu_IndexOp : Dtu_Instruction<"index"> {
  let summary = "dst = ((value / divide) % modulo) * multiply";
  let arguments = (ins I64Attr:$dst, OptionalAttr<Dtu_AffineAttr>:$value, OptionalAttr<I64Attr>:$divide,
                       OptionalAttr<I64Attr>:$modulo, OptionalAttr<I64Attr>:$multiply);
}

def Dtu_TableOp : Dtu_Instruction<"table"> {
  let summary = "dst = an entry of this rank's table";
  let arguments = (ins I64Attr:$dst, OptionalAttr<Dtu_AffineAttr>:$index);
}

class Dtu_SemaphoreOp<string mnemonic> : Dtu_Instruction<mnemonic> {
  let arguments = (ins OptionalAttr<Dtu_AffineAttr>:$sem, OptionalAttr<I64Attr>:$count);
}
def Dtu_WaitOp : Dtu_SemaphoreOp<"wait"> {
  let summary = "blocks until the semaphore is at least count, and subtracts it";
}
def Dtu_SignalOp : Dtu_SemaphoreOp<"signal"> {
  let summary = "adds count to the semaphore";
}
def Dtu_LoadOp : Dtu_Instruction<"load"> {
  let summary = "dst = the integer at an address";
  let arguments = (ins I64Attr:$dst, Dtu_AddressAttr:$address, OptionalAttr<StrAttr>:$type);
}
def Dtu_LeaveOp : Dtu_Instruction<"leave"> {
  let summary = "leaves the innermost loop if a register holds 0";
  let arguments = (ins OptionalAttr<I64Attr>:$unless);
}
def Dtu_BarrierOp : Dtu_Instruction<"barrier"> {
  let summary = "rendezvous of stream instances";
  let arguments = (ins OptionalAttr<I64Attr>:$id, OptionalAttr<I64Attr>:$participants);
}

// ---- data-transfer engine -----------------------------------------------------------

def Dtu_CopyOp : Dtu_Instruction<"copy"> {
  let summary = "copies a strided view, converting the element type";
  let arguments = (ins Dtu_ViewAttr:$dst, Dtu_ViewAttr:$src, ArrayAttr:$sizes, OptionalAttr<StrAttr>:$to,
                       OptionalAttr<StrAttr>:$from, OptionalAttr<I64Attr>:$multicast);
}
def Dtu_FillOp : Dtu_Instruction<"fill"> {
  let summary = "writes one value over a strided view";
  let arguments = (ins Dtu_ViewAttr:$dst, ArrayAttr:$sizes, OptionalAttr<StrAttr>:$type,
                       OptionalAttr<I64Attr>:$value, OptionalAttr<I64Attr>:$multicast);
}
def Dtu_GatherOp : Dtu_Instruction<"gather"> {
  let summary = "copies the rows of a table selected by an index";
  let arguments = (ins Dtu_AddressAttr:$dst, Dtu_AddressAttr:$table, Dtu_AddressAttr:$index,
                       OptionalAttr<I64Attr>:$dst_stride, OptionalAttr<I64Attr>:$table_stride,
                       Dtu_ExtentAttr:$count, Dtu_ExtentAttr:$elements, OptionalAttr<StrAttr>:$type,
                       OptionalAttr<StrAttr>:$index_type, OptionalAttr<Dtu_AffineAttr>:$base,
                       OptionalAttr<I64Attr>:$rows, OptionalAttr<UnitAttr>:$clamp);
}
def Dtu_ScatterOp : Dtu_Instruction<"scatter"> {
  let summary = "combines rows with the rows of a table selected by an index, in order";
  let arguments = (ins Dtu_AddressAttr:$table, Dtu_AddressAttr:$src, Dtu_AddressAttr:$index,
                       OptionalAttr<I64Attr>:$table_stride, OptionalAttr<I64Attr>:$src_stride,
                       Dtu_ExtentAttr:$count, Dtu_ExtentAttr:$elements, OptionalAttr<StrAttr>:$type,
                       OptionalAttr<StrAttr>:$index_type, OptionalAttr<Dtu_AffineAttr>:$base,
                       OptionalAttr<I64Attr>:$rows, OptionalAttr<StrAttr>:$combine);
}

// ---- cores ----------------------------------------------------------------------------

def Dtu_MatmulOp : Dtu_Instruction<"matmul"> {
  let summary = "tile product on the matrix engine";
  let arguments = (ins Dtu_AddressAttr:$c, Dtu_AddressAttr:$a, Dtu_AddressAttr:$b, Dtu_ExtentAttr:$m,
                       Dtu_ExtentAttr:$n, Dtu_ExtentAttr:$k, OptionalAttr<I64Attr>:$ldc,
                       OptionalAttr<I64Attr>:$lda, OptionalAttr<I64Attr>:$ldb, OptionalAttr<StrAttr>:$type,
                       OptionalAttr<UnitAttr>:$transpose_a, OptionalAttr<UnitAttr>:$transpose_b,
                       OptionalAttr<UnitAttr>:$accumulate, OptionalAttr<I64Attr>:$accumulate_if);
}
def Dtu_VectorOp : Dtu_Instruction<"vector"> {
  let summary = "tile op on the vector engine";
  let arguments = (ins OptionalAttr<StrAttr>:$op, Dtu_OperandAttr:$dst, OptionalAttr<Dtu_OperandAttr>:$a,
                       OptionalAttr<Dtu_OperandAttr>:$b, OptionalAttr<Dtu_OperandAttr>:$c,
                       Dtu_ExtentAttr:$rows, Dtu_ExtentAttr:$cols, OptionalAttr<UnitAttr>:$accumulate,
                       OptionalAttr<Dtu_AffineAttr>:$start, OptionalAttr<I64Attr>:$row_step,
                       OptionalAttr<I64Attr>:$col_step, OptionalAttr<I64Attr>:$value);
}

// ---- links ----------------------------------------------------------------------------

def Dtu_SendOp : Dtu_Instruction<"send"> {
  let summary = "sends a strided view to the rank in a register";
  let arguments = (ins OptionalAttr<I64Attr>:$peer, Dtu_ViewAttr:$src, ArrayAttr:$sizes,
                       OptionalAttr<StrAttr>:$type, OptionalAttr<I64Attr>:$channel);
}
def Dtu_RecvOp : Dtu_Instruction<"recv"> {
  let summary = "receives the next message of a rank, and optionally combines it with the destination";
  let arguments = (ins OptionalAttr<I64Attr>:$peer, Dtu_ViewAttr:$dst, ArrayAttr:$sizes,
                       OptionalAttr<StrAttr>:$type, OptionalAttr<I64Attr>:$channel,
                       OptionalAttr<StrAttr>:$reduce);
}

#endif // DTU_OPS_TD
