//===- Experts.h - Layers with a mixture of experts -------------*- C++ -*-===//

#ifndef ST_LIB_FRONTEND_EXPERTS_H
#define ST_LIB_FRONTEND_EXPERTS_H

#include "lib/Frontend/ModelBuilder.h"

namespace mlir::st {

/// The names of a layer's parameters, without ".weight". Those of the experts have a `*` instead of
/// the expert's number. `gate` is empty if the inner layers have no gate, or (`joinsGate`) if the
/// first half of the product `up` is the gate.
struct ExpertNames {
  std::string router, gate, up, down;
  bool joinsGate = false;
};

/// Sums over tokens and layers for the routers' losses. The sums of the balance loss have the shape
/// [experts], or [B, experts] if each sequence is balanced separately. Null before the first layer,
/// and for losses that the model does not have.
struct RouterSums {
  Value chosen;        ///< tokens that chose the expert
  Value probabilities; ///< the router's probabilities
  int64_t rows = 0;    ///< tokens, of the batch or a sequence, counted once in each layer
  Value layerLosses;   ///< the sum of the layers' balance losses with `balanceGroup`, a scalar
  Value squares;       ///< log(sum over experts of exp(logit))^2, a scalar
  int64_t layers = 0;
};

/// A mixture of experts of x [B, S, H], as in transformers. Each token chooses the `perToken`
/// experts with the largest probabilities; ties go to the first expert. The result is the sum of
/// their outputs, weighted by the probabilities. Each sequence is routed separately, so the batch
/// can be split. Adds to `sums`.
///
/// With a capacity, an expert takes the first tokens of a sequence that choose it, up to
/// ceil(capacityFactor * perToken * S / experts) of them. For later tokens, this expert's output is
/// zero.
///
/// Without a capacity no token is dropped: see ExpertBlocks in Experts.cpp.
Value buildExperts(ModelBuilder &model, Value x, const ExpertNames &names, RouterSums &sums);

/// experts * sum over experts of (part of the tokens that chose it) * (its mean probability): Fedus
/// et al., "Switch Transformers", 2021, (4). If the sums are per sequence, the mean over the
/// sequences: DeepSeek-AI, "DeepSeek-V3 Technical Report", 2024, 2.1.2.
Value buildBalanceLoss(ModelBuilder &model, const RouterSums &sums);

/// The mean over tokens and layers of log(sum over experts of exp(logit))^2, as in transformers'
/// Switch: Zoph et al., "ST-MoE", 2022, (5).
Value buildZLoss(ModelBuilder &model, const RouterSums &sums);

} // namespace mlir::st

#endif // ST_LIB_FRONTEND_EXPERTS_H
