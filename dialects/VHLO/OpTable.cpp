#include "dialects/VHLO/OpTable.h"

#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace mlir::vhlo;

#define CONVOLUTION_PARTS                                                                          \
  "input_batch_dimension:part input_feature_dimension:part input_spatial_dimensions:part "         \
  "kernel_input_feature_dimension:part kernel_output_feature_dimension:part "                      \
  "kernel_spatial_dimensions:part "

static constexpr OpRow kOps[] = {
    {"builtin.module", "builtin.module", "sym_name:optional sym_visibility:optional"},
    {"builtin.unrealized_conversion_cast", "", ""},
    {"sdy.manual_computation", "sdy.manual_computation", "in_shardings manual_axes out_shardings"},
    {"sdy.mesh", "sdy.mesh", "mesh sym_name"},
    {"sdy.propagation_barrier", "sdy.propagation_barrier", "allowed_direction:direction"},
    {"sdy.reshard", "sdy.reshard", "sharding"},
    {"sdy.return", "sdy.return", ""},
    {"sdy.sharding_constraint", "sdy.sharding_constraint", "sharding"},
    {"sdy.sharding_group", "sdy.sharding_group", "group_id"},
    {"vhlo.abs_v1", "stablehlo.abs", ""},
    {"vhlo.add_v1", "stablehlo.add", ""},
    {"vhlo.after_all_v1", "stablehlo.constant", ""},
    {"vhlo.all_gather_v1", "stablehlo.all_gather",
     "all_gather_dim channel_id:channel replica_groups use_global_device_ids:flag?"},
    {"vhlo.all_gather_v2", "stablehlo.all_gather",
     "all_gather_dim channel_id:channel replica_groups use_global_device_ids:flag?"},
    {"vhlo.all_reduce_v1", "stablehlo.all_reduce",
     "channel_id:channel replica_groups use_global_device_ids:flag?"},
    {"vhlo.all_reduce_v2", "stablehlo.all_reduce",
     "channel_id:channel replica_groups use_global_device_ids:flag?"},
    {"vhlo.all_to_all_v1", "stablehlo.all_to_all",
     "channel_id:channel concat_dimension replica_groups split_count split_dimension"},
    {"vhlo.all_to_all_v2", "stablehlo.all_to_all",
     "channel_id:channel concat_dimension replica_groups split_count split_dimension"},
    {"vhlo.and_v1", "stablehlo.and", ""},
    {"vhlo.atan2_v1", "stablehlo.atan2", ""},
    {"vhlo.batch_norm_grad_v1", "stablehlo.batch_norm_grad", "epsilon feature_index"},
    {"vhlo.batch_norm_inference_v1", "stablehlo.batch_norm_inference", "epsilon feature_index"},
    {"vhlo.batch_norm_training_v1", "stablehlo.batch_norm_training", "epsilon feature_index"},
    {"vhlo.bitcast_convert_v1", "stablehlo.bitcast_convert", ""},
    {"vhlo.broadcast_in_dim_v1", "stablehlo.broadcast_in_dim", "broadcast_dimensions:dims"},
    {"vhlo.call_v1", "func.call", "callee:symbol"},
    {"vhlo.case_v1", "stablehlo.case", ""},
    {"vhlo.cbrt_v1", "stablehlo.cbrt", ""},
    {"vhlo.cbrt_v2", "stablehlo.cbrt", "result_accuracy?"},
    {"vhlo.ceil_v1", "stablehlo.ceil", ""},
    {"vhlo.cholesky_v1", "stablehlo.cholesky", "lower?"},
    {"vhlo.clamp_v1", "stablehlo.clamp", ""},
    {"vhlo.collective_broadcast_v1", "stablehlo.collective_broadcast",
     "channel_id:channel replica_groups"},
    {"vhlo.collective_permute_v1", "stablehlo.collective_permute",
     "channel_id:channel source_target_pairs"},
    {"vhlo.compare_v1", "stablehlo.compare", "compare_type? comparison_direction"},
    {"vhlo.complex_v1", "stablehlo.complex", ""},
    {"vhlo.composite_v1", "stablehlo.composite",
     "composite_attributes? decomposition:symbol name version?"},
    {"vhlo.composite_v2", "stablehlo.composite",
     "composite_attributes? decomposition:symbol name version?"},
    {"vhlo.concatenate_v1", "stablehlo.concatenate", "dimension"},
    {"vhlo.constant_v1", "stablehlo.constant", "value"},
    {"vhlo.convert_v1", "stablehlo.convert", ""},
    {"vhlo.convolution_v1", "stablehlo.convolution",
     "batch_group_count feature_group_count " CONVOLUTION_PARTS
     "lhs_dilation:dims? output_batch_dimension:part output_feature_dimension:part "
     "output_spatial_dimensions:part padding? precision_config? rhs_dilation:dims? "
     "window_reversal:bools? window_strides:dims?"},
    {"vhlo.cosine_v1", "stablehlo.cosine", ""},
    {"vhlo.cosine_v2", "stablehlo.cosine", "result_accuracy?"},
    {"vhlo.count_leading_zeros_v1", "stablehlo.count_leading_zeros", ""},
    {"vhlo.create_token_v1", "stablehlo.constant", ""},
    {"vhlo.custom_call_v1", "stablehlo.custom_call",
     "api_version? backend_config? call_target_name called_computations:symbols? "
     "has_side_effect? operand_layouts output_operand_aliases? result_layouts"},
    {"vhlo.divide_v1", "stablehlo.divide", ""},
    {"vhlo.dot_general_v1", "stablehlo.dot_general",
     "lhs_batching_dimensions:part lhs_contracting_dimensions:part precision_config? "
     "rhs_batching_dimensions:part rhs_contracting_dimensions:part"},
    {"vhlo.dot_general_v2", "stablehlo.dot_general",
     "accumulation_type:part allow_imprecise_accumulation:part lhs_batching_dimensions:part "
     "lhs_component_count:part lhs_contracting_dimensions:part lhs_precision_type:part "
     "num_primitive_operations:part precision_config? rhs_batching_dimensions:part "
     "rhs_component_count:part rhs_contracting_dimensions:part rhs_precision_type:part"},
    {"vhlo.dynamic_slice_v1", "stablehlo.dynamic_slice", "slice_sizes:dims"},
    {"vhlo.dynamic_update_slice_v1", "stablehlo.dynamic_update_slice", ""},
    {"vhlo.exponential_minus_one_v1", "stablehlo.exponential_minus_one", ""},
    {"vhlo.exponential_minus_one_v2", "stablehlo.exponential_minus_one", "result_accuracy?"},
    {"vhlo.exponential_v1", "stablehlo.exponential", ""},
    {"vhlo.exponential_v2", "stablehlo.exponential", "result_accuracy?"},
    {"vhlo.fft_v1", "stablehlo.fft", "fft_length:dims fft_type"},
    {"vhlo.floor_v1", "stablehlo.floor", ""},
    {"vhlo.func_v1", "func.func", "arg_attrs? function_type res_attrs? sym_name sym_visibility?"},
    {"vhlo.gather_v1", "stablehlo.gather",
     "collapsed_slice_dims:part index_vector_dim:part indices_are_sorted? offset_dims:part "
     "slice_sizes:dims start_index_map:part"},
    {"vhlo.gather_v2", "stablehlo.gather",
     "collapsed_slice_dims:part index_vector_dim:part indices_are_sorted? offset_dims:part "
     "operand_batching_dims:part slice_sizes:dims start_index_map:part "
     "start_indices_batching_dims:part"},
    {"vhlo.get_tuple_element_v1", "stablehlo.get_tuple_element", "index"},
    {"vhlo.if_v1", "stablehlo.if", ""},
    {"vhlo.imag_v1", "stablehlo.imag", ""},
    {"vhlo.iota_v1", "stablehlo.iota", "iota_dimension"},
    {"vhlo.is_finite_v1", "stablehlo.is_finite", ""},
    {"vhlo.log_plus_one_v1", "stablehlo.log_plus_one", ""},
    {"vhlo.log_plus_one_v2", "stablehlo.log_plus_one", "result_accuracy?"},
    {"vhlo.log_v1", "stablehlo.log", ""},
    {"vhlo.log_v2", "stablehlo.log", "result_accuracy?"},
    {"vhlo.logistic_v1", "stablehlo.logistic", ""},
    {"vhlo.logistic_v2", "stablehlo.logistic", "result_accuracy?"},
    {"vhlo.map_v1", "stablehlo.map", "dimensions:dims"},
    {"vhlo.maximum_v1", "stablehlo.maximum", ""},
    {"vhlo.minimum_v1", "stablehlo.minimum", ""},
    {"vhlo.multiply_v1", "stablehlo.multiply", ""},
    {"vhlo.negate_v1", "stablehlo.negate", ""},
    {"vhlo.not_v1", "stablehlo.not", ""},
    {"vhlo.optimization_barrier_v1", "stablehlo.optimization_barrier", ""},
    {"vhlo.or_v1", "stablehlo.or", ""},
    {"vhlo.pad_v1", "stablehlo.pad",
     "edge_padding_high:dims edge_padding_low:dims interior_padding:dims"},
    {"vhlo.partition_id_v1", "stablehlo.partition_id", ""},
    {"vhlo.popcnt_v1", "stablehlo.popcnt", ""},
    {"vhlo.power_v1", "stablehlo.power", ""},
    {"vhlo.real_v1", "stablehlo.real", ""},
    {"vhlo.reduce_precision_v1", "stablehlo.reduce_precision", "exponent_bits mantissa_bits"},
    {"vhlo.reduce_scatter_v1", "stablehlo.reduce_scatter",
     "channel_id:channel replica_groups scatter_dimension use_global_device_ids:flag?"},
    {"vhlo.reduce_v1", "stablehlo.reduce", "dimensions:dims"},
    {"vhlo.reduce_window_v1", "stablehlo.reduce_window",
     "base_dilations:dims? padding? window_dilations:dims? window_dimensions:dims "
     "window_strides:dims?"},
    {"vhlo.remainder_v1", "stablehlo.remainder", ""},
    {"vhlo.replica_id_v1", "stablehlo.replica_id", ""},
    {"vhlo.reshape_v1", "stablehlo.reshape", ""},
    {"vhlo.return_v1", "", ""},
    {"vhlo.reverse_v1", "stablehlo.reverse", "dimensions:dims"},
    {"vhlo.rng_bit_generator_v1", "stablehlo.rng_bit_generator", "rng_algorithm"},
    {"vhlo.round_nearest_afz_v1", "stablehlo.round_nearest_afz", ""},
    {"vhlo.round_nearest_even_v1", "stablehlo.round_nearest_even", ""},
    {"vhlo.rsqrt_v1", "stablehlo.rsqrt", ""},
    {"vhlo.rsqrt_v2", "stablehlo.rsqrt", "result_accuracy?"},
    {"vhlo.scatter_v1", "stablehlo.scatter",
     "index_vector_dim:part indices_are_sorted? inserted_window_dims:part "
     "scatter_dims_to_operand_dims:part unique_indices? update_window_dims:part"},
    {"vhlo.scatter_v2", "stablehlo.scatter",
     "index_vector_dim:part indices_are_sorted? input_batching_dims:part "
     "inserted_window_dims:part scatter_dims_to_operand_dims:part "
     "scatter_indices_batching_dims:part unique_indices? update_window_dims:part"},
    {"vhlo.select_and_scatter_v1", "stablehlo.select_and_scatter",
     "padding? window_dimensions:dims? window_strides:dims?"},
    {"vhlo.select_v1", "stablehlo.select", ""},
    {"vhlo.shift_left_v1", "stablehlo.shift_left", ""},
    {"vhlo.shift_right_arithmetic_v1", "stablehlo.shift_right_arithmetic", ""},
    {"vhlo.shift_right_logical_v1", "stablehlo.shift_right_logical", ""},
    {"vhlo.sign_v1", "stablehlo.sign", ""},
    {"vhlo.sine_v1", "stablehlo.sine", ""},
    {"vhlo.sine_v2", "stablehlo.sine", "result_accuracy?"},
    {"vhlo.slice_v1", "stablehlo.slice", "limit_indices:dims start_indices:dims strides:dims"},
    {"vhlo.sort_v1", "stablehlo.sort", "dimension is_stable?"},
    {"vhlo.sqrt_v1", "stablehlo.sqrt", ""},
    {"vhlo.sqrt_v2", "stablehlo.sqrt", "result_accuracy?"},
    {"vhlo.subtract_v1", "stablehlo.subtract", ""},
    {"vhlo.tan_v1", "stablehlo.tan", ""},
    {"vhlo.tan_v2", "stablehlo.tan", "result_accuracy?"},
    {"vhlo.tanh_v1", "stablehlo.tanh", ""},
    {"vhlo.tanh_v2", "stablehlo.tanh", "result_accuracy?"},
    {"vhlo.transpose_v1", "stablehlo.transpose", "permutation:dims"},
    {"vhlo.triangular_solve_v1", "stablehlo.triangular_solve",
     "left_side lower transpose_a unit_diagonal"},
    {"vhlo.tuple_v1", "stablehlo.tuple", ""},
    {"vhlo.while_v1", "stablehlo.while", ""},
    {"vhlo.xor_v1", "stablehlo.xor", ""},
};

#undef CONVOLUTION_PARTS

const OpRow *mlir::vhlo::findOp(StringRef name) {
  static const auto *table = [] {
    auto *rows = new llvm::StringMap<const OpRow *>;
    for (const OpRow &row : kOps)
      rows->try_emplace(row.name, &row);
    return rows;
  }();
  return table->lookup(name);
}
