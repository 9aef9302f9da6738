// The fields of each instruction, stated once. The binary form writes them in this order; the text
// form prints them in this order as key=value. Readers and writers of both forms are visitors over
// visitFields, so they cannot disagree.
#pragma once

#include "backends/dtu/isa/Isa.h"

namespace st::dtu {

/// Mnemonic and fields of one instruction. The opcode of the binary form is the
/// instruction's index in the variant Instruction.
template <typename I> struct Fields;

#define ST_DTU_FIELDS(Type, text, ...)                                                             \
  template <> struct Fields<Type> {                                                                \
    static constexpr const char *mnemonic = text;                                                  \
    template <typename Visitor, typename I> static void visit(Visitor &v, I &i) { __VA_ARGS__ }    \
  }

ST_DTU_FIELDS(Loop, "loop", {
  v.reg("reg", i.reg);
  v.affine("start", i.start);
  v.affine("limit", i.limit);
  v.integer("step", i.step, 1);
});
ST_DTU_FIELDS(EndLoop, "end", {});
ST_DTU_FIELDS(Index, "index", {
  v.reg("dst", i.dst);
  v.affine("value", i.value);
  v.integer("divide", i.divide, 1);
  v.integer("modulo", i.modulo, 0);
  v.integer("multiply", i.multiply, 1);
});
ST_DTU_FIELDS(Table, "table", {
  v.reg("dst", i.dst);
  v.affine("index", i.index);
});
ST_DTU_FIELDS(Wait, "wait", {
  v.affine("sem", i.semaphore);
  v.integer("count", i.count, 1);
});
ST_DTU_FIELDS(Signal, "signal", {
  v.affine("sem", i.semaphore);
  v.integer("count", i.count, 1);
});
ST_DTU_FIELDS(Barrier, "barrier", {
  v.integer("id", i.id, 0);
  v.integer("participants", i.participants, 1);
});
ST_DTU_FIELDS(Copy, "copy", {
  v.view("dst", i.dst);
  v.view("src", i.src);
  v.sizes("sizes", i.sizes);
  v.enumeration("to", i.dstType, DType::F32);
  v.enumeration("from", i.srcType, DType::F32);
  v.integer("multicast", i.multicast, 1);
});
ST_DTU_FIELDS(Fill, "fill", {
  v.view("dst", i.dst);
  v.sizes("sizes", i.sizes);
  v.enumeration("type", i.type, DType::F32);
  v.bits("value", i.value);
  v.integer("multicast", i.multicast, 1);
});
ST_DTU_FIELDS(Gather, "gather", {
  v.address("dst", i.dst);
  v.address("table", i.table);
  v.address("index", i.index);
  v.integer("dst_stride", i.dstStride, 0);
  v.integer("table_stride", i.tableStride, 0);
  v.extent("count", i.count);
  v.extent("elements", i.rowElements);
  v.enumeration("type", i.type, DType::F32);
  v.enumeration("index_type", i.indexType, DType::I32);
  v.affine("base", i.base);
  v.integer("rows", i.rows, 0);
  v.flag("clamp", i.clamp);
});
ST_DTU_FIELDS(Scatter, "scatter", {
  v.address("table", i.table);
  v.address("src", i.src);
  v.address("index", i.index);
  v.integer("table_stride", i.tableStride, 0);
  v.integer("src_stride", i.srcStride, 0);
  v.extent("count", i.count);
  v.extent("elements", i.rowElements);
  v.enumeration("type", i.type, DType::F32);
  v.enumeration("index_type", i.indexType, DType::I32);
  v.affine("base", i.base);
  v.integer("rows", i.rows, 0);
  v.enumeration("combine", i.combine, Reduce::Sum);
});
ST_DTU_FIELDS(Matmul, "matmul", {
  v.address("c", i.c);
  v.address("a", i.a);
  v.address("b", i.b);
  v.extent("m", i.m);
  v.extent("n", i.n);
  v.extent("k", i.k);
  v.integer("ldc", i.ldc, 0);
  v.integer("lda", i.lda, 0);
  v.integer("ldb", i.ldb, 0);
  v.enumeration("type", i.type, DType::F32);
  v.flag("transpose_a", i.transposeA);
  v.flag("transpose_b", i.transposeB);
  v.flag("accumulate", i.accumulate);
  v.reg("accumulate_if", i.accumulateReg);
});
ST_DTU_FIELDS(Vector, "vector", {
  v.enumeration("op", i.op, VectorOp::Copy);
  v.operand("dst", i.dst);
  v.operands(i.src);
  v.extent("rows", i.rows);
  v.extent("cols", i.cols);
  v.flag("accumulate", i.accumulate);
  v.affine("start", i.start);
  v.integer("row_step", i.rowStep, 0);
  v.integer("col_step", i.colStep, 0);
  v.bits("value", i.value);
});
ST_DTU_FIELDS(Send, "send", {
  v.reg("peer", i.peer);
  v.view("src", i.src);
  v.sizes("sizes", i.sizes);
  v.enumeration("type", i.type, DType::F32);
  v.integer("channel", i.channel, 0);
});
ST_DTU_FIELDS(Recv, "recv", {
  v.reg("peer", i.peer);
  v.view("dst", i.dst);
  v.sizes("sizes", i.sizes);
  v.enumeration("type", i.type, DType::F32);
  v.integer("channel", i.channel, 0);
  v.enumeration("reduce", i.reduce, Reduce::None);
});
ST_DTU_FIELDS(Load, "load", {
  v.reg("dst", i.dst);
  v.address("address", i.address);
  v.enumeration("type", i.type, DType::I64);
});
ST_DTU_FIELDS(Leave, "leave", { v.reg("unless", i.unless); });

#undef ST_DTU_FIELDS

/// Mnemonic of an instruction, by its index in the variant.
inline const char *mnemonic(const Instruction &instruction) {
  return std::visit([](const auto &i) { return Fields<std::decay_t<decltype(i)>>::mnemonic; },
                    instruction);
}

/// Makes the alternative of Instruction with this index, default-initialised.
template <size_t N = 0> bool makeInstruction(size_t index, Instruction &out) {
  if constexpr (N < std::variant_size_v<Instruction>) {
    if (index == N) {
      out.emplace<N>();
      return true;
    }
    return makeInstruction<N + 1>(index, out);
  } else {
    return false;
  }
}

} // namespace st::dtu
