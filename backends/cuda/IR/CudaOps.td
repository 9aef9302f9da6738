// Ops of task functions.

#ifndef CUDA_OPS_TD
#define CUDA_OPS_TD

include "backends/cuda/IR/CudaDialect.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Cuda_Buffer : MemRefRankOf<[F16, BF16, F32, F64], [1]>;
def Cuda_Memory : MemRefRankOf<[I8], [1]>;
def Cuda_Row : MemRefRankOf<[I8], [1]>;

def Cuda_ProductOp : Op<Cuda_Dialect, "product", [AttrSizedOperandSegments, SingleBlock, NoTerminator,
                                                  NoRegionArguments, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "d = f(scale * a * b + c + bias) by one call of cuBLASLt";
  let description = [{
    Shapes: a is m x k, b is k x n, c and d are m x n. bias has n elements and is added to each row. The op computes in
    f32 (f64 for f64) and rounds once. a and b have the same type. d has that type, or f32 if it is a 16-bit float. c
    and bias have the type of d. c and d may be the same buffer.

    f is the `activation`: none; `gelu` in its tanh approximation, which also writes its argument to `aux` if present;
    or `gelu_gradient`, which multiplies by GELU's derivative at `aux`. aux has the layout of d. `sums` receives the
    gradient of a bias: the n sums of b's columns, or the m sums of a's rows if `summed` is `a`. aux and sums have the
    type of d.

    `batch`: the number of products along each batch dimension. One call of cuBLASLt covers the last dimension; the
    others take several calls. With a batch stride of 0 all products share a matrix. Each matrix is contiguous along
    rows or columns, because cuBLASLt accepts only a matrix or its transpose.

    A product with an activation or sums may have a body, which computes the same with a plain product and kernels. The
    runtime decides which of the two runs. In 16 bits the body rounds the product before the activation.

    ```mlir
    cuda.product %x * %w bias %b into %y 4 x 8 x 16 a <16, 1> b <8, 1> d <8, 1>
        : memref<64xf32>, memref<128xf32> bias memref<8xf32> into memref<32xf32>
    cuda.product %x * %w bias %b aux %h into %y 4 x 8 x 16 a <16, 1> b <8, 1> d <8, 1> {activation = #cuda.activation<gelu>}
        : memref<64xf32>, memref<128xf32> bias memref<8xf32> aux memref<32xf32> into memref<32xf32>
    cuda.product %x * %dy sums b %db into %dw 16 x 8 x 4 a <1, 16> b <8, 1> d <8, 1>
        : memref<64xf32>, memref<32xf32> sums memref<8xf32> into memref<128xf32> {
      cuda.product %x * %dy into %dw 16 x 8 x 4 a <1, 16> b <8, 1> d <8, 1>
          : memref<64xf32>, memref<32xf32> into memref<128xf32>
      gpu.launch_func @kernels::@reduce_0 ...
    }
    ```
  }];
  let arguments = (ins Cuda_Buffer:$a, Cuda_Buffer:$b, Optional<Cuda_Buffer>:$c,
                       Optional<Cuda_Buffer>:$bias, Optional<Cuda_Buffer>:$aux,
                       Optional<Cuda_Buffer>:$sums, OptionalAttr<Cuda_OperandAttr>:$summed, Cuda_Buffer:$d, I64Attr:$m, I64Attr:$n, I64Attr:$k,
                       Cuda_MatrixAttr:$a_matrix, Cuda_MatrixAttr:$b_matrix, Cuda_MatrixAttr:$d_matrix,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$batch,
                       DefaultValuedAttr<F64Attr, "1.0">:$scale,
                       DefaultValuedAttr<Cuda_ActivationAttr, "::mlir::cuda::Activation::None">:$activation);
  let regions = (region MaxSizedRegion<1>:$body);
  let assemblyFormat = [{
    $a `*` $b (`plus` $c^)? (`bias` $bias^)? (`aux` $aux^)? (`sums` $summed^ $sums)? `into` $d $m `x` $n `x` $k `a` $a_matrix `b` $b_matrix
    `d` $d_matrix attr-dict `:` type($a) `,` type($b) (`plus` type($c)^)? (`bias` type($bias)^)?
    (`aux` type($aux)^)? (`sums` type($sums)^)? `into` type($d) ($body^)?
  }];
  let hasVerifier = 1;
}

def Cuda_ApproximateOp : Op<Cuda_Dialect, "approximate", [Pure, SameOperandsAndResultType]> {
  let summary = "2^x or 1 / x of f32 by a GPU's instruction";
  let description = [{
    `ex2.approx.ftz.f32` and `rcp.approx.ftz.f32`: the relative error is at most 2.5 x 2^-23 and 2^-23.
    Denormal operands and results become zero. Infinities and NaN follow IEEE 754. The host computes them
    within the same bounds but with different bits.

    ```mlir
    %p = cuda.approximate exp2 %x : f32
    ```
  }];
  let arguments = (ins Cuda_ApproximationAttr:$function, F32:$operand);
  let results = (outs F32:$result);
  let assemblyFormat = "$function $operand attr-dict `:` type($operand)";
}

def Cuda_Semaphores : MemRefRankOf<[I32], [1]>;

def Cuda_TakeTicketOp : Op<Cuda_Dialect, "take_ticket", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "a block's ticket: its number in the order in which blocks start";
  let description = [{
    Each block of a launch takes one ticket, counted from 0. All blocks with smaller tickets have already started. The
    word at `place` must be 0 before the launch. All threads of a block must reach the op. It broadcasts the ticket
    through `shared`, which is memory of the block.

    ```mlir
    %ticket = cuda.take_ticket %semaphores[%place] by %shared
              : memref<1025xi32>, memref<1xi32, #gpu.address_space<workgroup>>
    ```
  }];
  let arguments = (ins Cuda_Semaphores:$semaphores, Index:$place, Cuda_Semaphores:$shared);
  let results = (outs Index:$ticket);
  let assemblyFormat = "$semaphores `[` $place `]` `by` $shared attr-dict `:` type($semaphores) `,` type($shared)";
}

def Cuda_SemaphoreWaitOp : Op<Cuda_Dialect, "semaphore_wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "waits until a semaphore has a value";
  let description = [{
    Waits until the semaphore, the word at `place`, equals `value`, like CUTLASS's `Semaphore::wait`. After the next
    gpu.barrier all threads of the block see the writes of other blocks before the gpu.barrier ahead of their
    `cuda.semaphore_release`. A block may only wait for blocks with smaller tickets (`cuda.take_ticket`), which have
    already started. The host runs blocks sequentially: a block that would wait sets the word `@st_unmet_wait` and
    continues, and the run ends with an error.

    ```mlir
    cuda.semaphore_wait %semaphores[%place], %value : memref<1025xi32>
    ```
  }];
  let arguments = (ins Cuda_Semaphores:$semaphores, Index:$place, Index:$value);
  let assemblyFormat = "$semaphores `[` $place `]` `,` $value attr-dict `:` type($semaphores)";
}

def Cuda_SemaphoreReleaseOp : Op<Cuda_Dialect, "semaphore_release", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "sets a semaphore, for a block that waits for this value";
  let description = [{
    Must follow a gpu.barrier, so that the block that waits for `value` sees all writes of this block's threads.

    ```mlir
    cuda.semaphore_release %semaphores[%place], %value : memref<1025xi32>
    ```
  }];
  let arguments = (ins Cuda_Semaphores:$semaphores, Index:$place, Index:$value);
  let assemblyFormat = "$semaphores `[` $place `]` `,` $value attr-dict `:` type($semaphores)";
}

def Cuda_AttentionOp : Op<Cuda_Dialect, "attention", [AttrSizedOperandSegments, SingleBlock, NoTerminator,
                                                      NoRegionArguments, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "attention or its gradient, by cuDNN or by the kernels in its body";
  let description = [{
    Computes o = softmax(scale * q * k^T + bias) * v, or the gradients dq, dk and dv from do, the gradient of o. The
    gradients do not need o. For each head of each batch, q and o have `rows` rows, k and v have `columns` rows. Rows
    are contiguous: those of q and k have `depth` elements, those of v and o `width`. Strides are in elements, to the
    next batch, head and row; those of the bias are 0 where it does not vary. `group` consecutive heads of q share a head
    of k and v; the gradients dk and dv are those of each head of q. `causal`: row r attends to columns 0 to r
    only. The bias is f32; all other tensors have one 16-bit type. Gradients have the shape of their tensor and separate
    strides. max and sum hold the largest score of each row and the sum of exp(score - max); they are f32 and dense.
    Attention writes them, and the kernels of a gradient read them.

    The body computes the same. The runtime decides which of the two runs.

    ```mlir
    cuda.attention %q * %k * %v into %o 8 x 12 of 512 x 512 depth 64 width 64
        q [393216, 64, 768] k [393216, 64, 768] v [393216, 64, 768] o [393216, 32768, 64] {causal}
        : memref<3145728xbf16>, memref<3145728xbf16>, memref<3145728xbf16> into memref<3145728xbf16> {
      gpu.launch_func @kernels::@attention_0 ...
    }
    ```
  }];
  let arguments = (ins Cuda_Buffer:$q, Cuda_Buffer:$k, Cuda_Buffer:$v, Optional<Cuda_Buffer>:$bias,
                       Optional<Cuda_Buffer>:$o, Optional<Cuda_Buffer>:$max, Optional<Cuda_Buffer>:$sum,
                       Optional<Cuda_Buffer>:$d_o, Optional<Cuda_Buffer>:$d_q, Optional<Cuda_Buffer>:$d_k,
                       Optional<Cuda_Buffer>:$d_v, I64Attr:$batch, I64Attr:$heads, I64Attr:$rows, I64Attr:$columns,
                       I64Attr:$depth, I64Attr:$width, DenseI64ArrayAttr:$q_strides,
                       DenseI64ArrayAttr:$k_strides, DenseI64ArrayAttr:$v_strides,
                       OptionalAttr<DenseI64ArrayAttr>:$o_strides,
                       OptionalAttr<DenseI64ArrayAttr>:$bias_strides,
                       OptionalAttr<DenseI64ArrayAttr>:$d_o_strides,
                       OptionalAttr<DenseI64ArrayAttr>:$d_q_strides,
                       OptionalAttr<DenseI64ArrayAttr>:$d_k_strides,
                       OptionalAttr<DenseI64ArrayAttr>:$d_v_strides,
                       DefaultValuedAttr<F64Attr, "1.0">:$scale, UnitAttr:$causal,
                       DefaultValuedAttr<I64Attr, "1">:$group);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $q `*` $k `*` $v (`plus` $bias^)? (`into` $o^)? (`max` $max^)? (`sum` $sum^)?
    (`gradient` $d_o^ `to` $d_q `,` $d_k `,` $d_v)? $batch `x` $heads `of` $rows `x` $columns
    `depth` $depth `width` $width `q` $q_strides `k` $k_strides `v` $v_strides (`o` $o_strides^)?
    (`bias` $bias_strides^)? (`do` $d_o_strides^ `dq` $d_q_strides `dk` $d_k_strides `dv` $d_v_strides)?
    attr-dict `:` type($q) `,` type($k) `,` type($v) (`plus` type($bias)^)? (`into` type($o)^)?
    (`max` type($max)^)? (`sum` type($sum)^)? (`gradient` type($d_o)^ `to` type($d_q) `,` type($d_k) `,` type($d_v))?
    $body
  }];
  let hasVerifier = 1;
}

def Cuda_WriteIndexOp : Op<Cuda_Dialect, "write_index", [MemoryEffects<[MemWrite]>]> {
  let summary = "writes a number known to the host as an i32";
  let description = "The number is the micro-batch or an entry of the rank table.";
  let arguments = (ins Index:$value, MemRefRankOf<[I32], [1]>:$target);
  let assemblyFormat = "$value `into` $target attr-dict `:` type($target)";
}

def Cuda_TableEntryOp : Op<Cuda_Dialect, "table_entry", [Pure]> {
  let summary = "an entry of the rank's table, which holds values that differ between ranks";
  let arguments = (ins I64Attr:$entry);
  let results = (outs Index:$result);
  let assemblyFormat = "$entry attr-dict";
}

def Cuda_ScratchOp : Op<Cuda_Dialect, "scratch", [Pure]> {
  let summary = "the memory of a rank outside of its arena";
  let results = (outs Cuda_Memory:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def Cuda_CopyRowsOp : Op<Cuda_Dialect, "copy_rows", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "copies rows of bytes";
  let description = "The buffers are the first rows; `from_pitch` and `to_pitch` are bytes between rows.";
  let arguments = (ins Cuda_Row:$from, Cuda_Row:$to, I64Attr:$rows, I64Attr:$from_pitch,
                       I64Attr:$to_pitch);
  let assemblyFormat = [{
    $from `every` $from_pitch `to` $to `every` $to_pitch `rows` $rows attr-dict `:` type($from) `to` type($to)
  }];
}

def Cuda_ExchangeOp : Op<Cuda_Dialect, "exchange", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "sends a piece to each of some ranks, and receives one from each";
  let description = [{
    The members are the ranks in the entries `first` to `first + count - 1` of the rank table. This rank is one of them.
    All members have the same list in the same order. The buffers are the first pieces; piece i begins i * stride bytes
    later. Piece i of `from` goes to member i, and the piece of member i for this rank goes to piece i of `to`. With a
    stride of 0 bytes all members get the same piece. `to` must not overlap sent data. `name` is the collective that
    errors name.
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
  let summary = "sends bytes to the rank in an entry of the table";
  let description = "Sends nothing to rank -1.";
  let arguments = (ins AnyMemRef:$from, I64Attr:$peer, I64Attr:$channel);
  let assemblyFormat = "$from `to` $peer `channel` $channel attr-dict `:` type($from)";
}

def Cuda_ReceiveOp : Op<Cuda_Dialect, "receive", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "receives the next bytes from the rank in an entry of the table";
  let description = "Writes zeros for rank -1.";
  let arguments = (ins AnyMemRef:$to, I64Attr:$peer, I64Attr:$channel);
  let assemblyFormat = "$to `from` $peer `channel` $channel attr-dict `:` type($to)";
}

#endif // CUDA_OPS_TD
