//===- CollectiveOps.td - Exchange between devices ---------*- tablegen -*-===//
//
// Partitioned programs name groups of replicas by number. The collectives of the st dialect, which
// St's partitioner inserts, name axes of a mesh.
//
//===----------------------------------------------------------------------===//

#ifndef ST_DIALECTS_STABLEHLO_COLLECTIVEOPS_TD
#define ST_DIALECTS_STABLEHLO_COLLECTIVEOPS_TD

include "dialects/StableHLO/StableHLOAttributes.td"

def AllReduceOp : HLO_Op<"all_reduce", [InferTypeOpAdaptor,
                                        SingleBlockImplicitTerminator<"ReturnOp">]> {
  let summary = "Reduction across each group; every member gets the result";
  let arguments = (ins
    Variadic<HLO_Tensor>:$operands,
    I64ElementsAttr:$replica_groups,
    OptionalAttr<HLO_ChannelHandle>:$channel_handle,
    UnitAttr:$use_global_device_ids
  );
  let regions = (region SizedRegion<1>:$computation);
  let results = (outs Variadic<HLO_Tensor>);
  let hasVerifier = 1;
}

def AllGatherOp : HLO_Op<"all_gather"> {
  let summary = "Concatenation across each group";
  let arguments = (ins
    Variadic<HLO_Tensor>:$operands,
    ConfinedAttr<I64Attr, [IntNonNegative]>:$all_gather_dim,
    I64ElementsAttr:$replica_groups,
    OptionalAttr<HLO_ChannelHandle>:$channel_handle,
    UnitAttr:$use_global_device_ids
  );
  let results = (outs Variadic<HLO_Tensor>);
  let hasVerifier = 1;
}

def ReduceScatterOp : HLO_Op<"reduce_scatter", [SingleBlockImplicitTerminator<"ReturnOp">]> {
  let summary = "Reduction across each group; each member gets a slice of the result";
  let arguments = (ins
    HLO_Tensor:$operand,
    ConfinedAttr<I64Attr, [IntNonNegative]>:$scatter_dimension,
    I64ElementsAttr:$replica_groups,
    OptionalAttr<HLO_ChannelHandle>:$channel_handle,
    UnitAttr:$use_global_device_ids
  );
  let regions = (region SizedRegion<1>:$computation);
  let results = (outs HLO_Tensor);
  let hasVerifier = 1;
}

def AllToAllOp : HLO_Op<"all_to_all", [InferTypeOpAdaptor]> {
  let summary = "Exchange of slices within each group";
  let arguments = (ins
    Variadic<HLO_Tensor>:$operands,
    ConfinedAttr<I64Attr, [IntNonNegative]>:$split_dimension,
    ConfinedAttr<I64Attr, [IntNonNegative]>:$concat_dimension,
    ConfinedAttr<I64Attr, [IntPositive]>:$split_count,
    I64ElementsAttr:$replica_groups,
    OptionalAttr<HLO_ChannelHandle>:$channel_handle
  );
  let results = (outs Variadic<HLO_Tensor>);
  let hasVerifier = 1;
}

def CollectivePermuteOp : HLO_Op<"collective_permute", [HLO_SameTypes, InferTypeOpAdaptor]> {
  let summary = "Exchange between pairs; a device that is no target gets zeros";
  let arguments = (ins
    HLO_Tensor:$operand,
    I64ElementsAttr:$source_target_pairs,
    OptionalAttr<HLO_ChannelHandle>:$channel_handle
  );
  let results = (outs HLO_Tensor);
  let hasVerifier = 1;
}

def CollectiveBroadcastOp : HLO_Op<"collective_broadcast", [HLO_SameTypes, InferTypeOpAdaptor]> {
  let summary = "Broadcast of the value of each group's first member to all its members";
  let arguments = (ins
    HLO_Tensor:$operand,
    I64ElementsAttr:$replica_groups,
    OptionalAttr<HLO_ChannelHandle>:$channel_handle
  );
  let results = (outs HLO_Tensor);
  let hasVerifier = 1;
}

class HLO_DeviceIdOp<string mnemonic> : HLO_Op<mnemonic, [Pure, InferTypeOpAdaptor]> {
  let results = (outs HLO_ScalarOf<UI<32>, "32-bit unsigned integer values">);
  let assemblyFormat = "attr-dict `:` type(results)";
}
def PartitionIdOp : HLO_DeviceIdOp<"partition_id"> {
  let summary = "Number of this partition";
}
def ReplicaIdOp : HLO_DeviceIdOp<"replica_id"> {
  let summary = "Number of this replica";
}

#endif // ST_DIALECTS_STABLEHLO_COLLECTIVEOPS_TD
