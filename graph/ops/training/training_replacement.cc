#include "graph/ops/training/training_replacement.h"

#include "graph/ops/random/dropout.h"

namespace lemma {
namespace {

TrainingReplacement BatchNormForm(Formula& f, const Node& node, const std::vector<Value>& inputs,
                                  double momentum) {
  const std::vector<Value> out = f.Ops("batch_norm_training", {inputs[0], inputs[1], inputs[2]},
                                       {{"epsilon", node.Float("epsilon")}});
  if (out.empty()) return {};
  auto blend = [&](const Value& old, const Value& now) {
    return f.Add(f.Mul(old, momentum), f.Mul(now, 1 - momentum));
  };
  return {{out[0]}, {{3, blend(inputs[3], out[1])}, {4, blend(inputs[4], out[2])}}};
}

}  // namespace

std::optional<TrainingReplacement> ReplacementInTraining(Formula& f, const Node& node,
                                                         const std::vector<Value>& inputs,
                                                         const TrainingContext& context) {
  if (node.IsOp("batch_norm")) return BatchNormForm(f, node, inputs, context.momentum);
  if (node.IsOp("dropout")) {
    return TrainingReplacement{
        {ops::Dropout(f, inputs[0], node.Float("ratio"), context.seed(), context.salt)}, {}};
  }
  return std::nullopt;
}

}  // namespace lemma
