// Ops of task functions.

#ifndef CUDA_OPS_TD
#define CUDA_OPS_TD

include "backends/cuda/IR/CudaDialect.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Cuda_Buffer : MemRefRankOf<[F16, BF16, F32, F64], [1]>;
def Cuda_Memory : MemRefRankOf<[I8], [1]>;
def Cuda_Row : MemRefRankOf<[I8], [1]>;

def Cuda_ProductOp : Op<Cuda_Dialect, "product", [AttrSizedOperandSegments,
                                                  MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "d = f(scale * a * b + c + bias), as one call of cuBLASLt computes it";
  let description = [{
    a: m x k, b: k x n, d and c: m x n, bias: n, added to each row. All is computed in f32 (of f64 in
    f64) and rounded once. a and b have one type; d has it too or, of 16-bit floats, f32; c and bias have
    d's. c may be the same buffer as d.

    f is the `activation`: none; `gelu`, as its tanh approximation, of what is also written to `aux` if that
    is there; or `gelu_gradient`, a multiplication with GELU's derivative at `aux`. aux is laid out as d. `sums`: all
    rows of b added up, n numbers, or where `summed` is `a` all columns of a, m numbers: a bias' gradient. Both are of
    d's type.

    `batch`: how many products, along each dimension of it. cuBLASLt takes one dimension, the last; for
    the others it is called again. A batch stride of 0 is the same matrix for all. In each
    matrix neighbours are along one side, so that cuBLASLt takes it as it is or transposed.

    ```mlir
    cuda.product %x * %w bias %b into %y 4 x 8 x 16 a <16, 1> b <8, 1> d <8, 1>
        : memref<64xf32>, memref<128xf32> bias memref<8xf32> into memref<32xf32>
    cuda.product %x * %w bias %b aux %h into %y 4 x 8 x 16 a <16, 1> b <8, 1> d <8, 1> {activation = #cuda.activation<gelu>}
        : memref<64xf32>, memref<128xf32> bias memref<8xf32> aux memref<32xf32> into memref<32xf32>
    cuda.product %x * %dy sums b %db into %dw 16 x 8 x 4 a <1, 16> b <8, 1> d <8, 1>
        : memref<64xf32>, memref<32xf32> sums memref<8xf32> into memref<128xf32>
    ```
  }];
  let arguments = (ins Cuda_Buffer:$a, Cuda_Buffer:$b, Optional<Cuda_Buffer>:$c,
                       Optional<Cuda_Buffer>:$bias, Optional<Cuda_Buffer>:$aux,
                       Optional<Cuda_Buffer>:$sums, OptionalAttr<Cuda_OperandAttr>:$summed, Cuda_Buffer:$d, I64Attr:$m, I64Attr:$n, I64Attr:$k,
                       Cuda_MatrixAttr:$a_matrix, Cuda_MatrixAttr:$b_matrix, Cuda_MatrixAttr:$d_matrix,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$batch,
                       DefaultValuedAttr<F64Attr, "1.0">:$scale,
                       DefaultValuedAttr<Cuda_ActivationAttr, "::mlir::cuda::Activation::None">:$activation);
  let assemblyFormat = [{
    $a `*` $b (`plus` $c^)? (`bias` $bias^)? (`aux` $aux^)? (`sums` $summed^ $sums)? `into` $d $m `x` $n `x` $k `a` $a_matrix `b` $b_matrix
    `d` $d_matrix attr-dict `:` type($a) `,` type($b) (`plus` type($c)^)? (`bias` type($bias)^)?
    (`aux` type($aux)^)? (`sums` type($sums)^)? `into` type($d)
  }];
  let hasVerifier = 1;
}

def Cuda_WriteIndexOp : Op<Cuda_Dialect, "write_index", [MemoryEffects<[MemWrite]>]> {
  let summary = "writes a number that the host knows as an i32";
  let description = "The number is the micro-batch or an entry of the rank table.";
  let arguments = (ins Index:$value, MemRefRankOf<[I32], [1]>:$target);
  let assemblyFormat = "$value `into` $target attr-dict `:` type($target)";
}

def Cuda_TableEntryOp : Op<Cuda_Dialect, "table_entry", [Pure]> {
  let summary = "a number of the rank's table, by which ranks of a group differ";
  let arguments = (ins I64Attr:$entry);
  let results = (outs Index:$result);
  let assemblyFormat = "$entry attr-dict";
}

def Cuda_ScratchOp : Op<Cuda_Dialect, "scratch", [Pure]> {
  let summary = "the memory that a rank has beside its arena";
  let results = (outs Cuda_Memory:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def Cuda_CopyRowsOp : Op<Cuda_Dialect, "copy_rows", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "copies rows of bytes";
  let description = "The buffers are their first rows; `from_pitch` and `to_pitch`: bytes to the next.";
  let arguments = (ins Cuda_Row:$from, Cuda_Row:$to, I64Attr:$rows, I64Attr:$from_pitch,
                       I64Attr:$to_pitch);
  let assemblyFormat = [{
    $from `every` $from_pitch `to` $to `every` $to_pitch `rows` $rows attr-dict `:` type($from) `to` type($to)
  }];
}

def Cuda_ExchangeOp : Op<Cuda_Dialect, "exchange", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "hands a piece to each of some ranks, and takes one from each";
  let description = [{
    Entries `first` to `first + count - 1` of the rank table name the members, of whom the rank is one; they are the same,
    in the same order, for each of them. The buffers are the first pieces: piece i of `from` begins i times `every`
    bytes further and goes to member i, whose piece for this rank comes to piece i of `to`. Every 0 bytes: all get the
    same one. Nothing of `to` is sent. `name` is the collective that errors speak of.
  }];
  let arguments = (ins Cuda_Row:$from, I64Attr:$from_stride, Cuda_Row:$to, I64Attr:$to_stride, I64Attr:$first,
                       I64Attr:$count, StrAttr:$name);
  let assemblyFormat = [{
    $name $from `every` $from_stride `to` $to `every` $to_stride `among` $first `count` $count attr-dict
    `:` type($from) `to` type($to)
  }];
  let extraClassDeclaration = "int64_t getBytes() { return getFrom().getType().getNumElements(); }";
}

def Cuda_SendOp : Op<Cuda_Dialect, "send", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "hands bytes to the rank that an entry of the table names";
  let description = "To rank -1 nothing is sent.";
  let arguments = (ins AnyMemRef:$from, I64Attr:$peer, I64Attr:$channel);
  let assemblyFormat = "$from `to` $peer `channel` $channel attr-dict `:` type($from)";
}

def Cuda_ReceiveOp : Op<Cuda_Dialect, "receive", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "takes the next bytes from the rank that an entry of the table names";
  let description = "From rank -1 come zeros.";
  let arguments = (ins AnyMemRef:$to, I64Attr:$peer, I64Attr:$channel);
  let assemblyFormat = "$to `from` $peer `channel` $channel attr-dict `:` type($to)";
}

#endif // CUDA_OPS_TD
