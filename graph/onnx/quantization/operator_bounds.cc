// How errors of operands reach the results of operators.
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "graph/onnx/convert.h"
#include "graph/onnx/quantization/model_impl.h"

namespace lemma {
namespace {

// For each channel of the output, the sums of |ŵ| and of |ŵ - w|; the largest of
// magnitude · sum |ŵ - w| + error · sum |ŵ|.
//   sum ŵ·x̂ - sum w·x = sum (ŵ - w)·x + sum ŵ·(x̂ - x)
double WeightedError(const ProductWeights& weights, int summed_from, int summed_to,
                     double magnitude, double error) {
  // Elements of one sum: those that agree in all axes outside of [summed_from, summed_to).
  int64_t inner = 1, summed = 1;
  const auto rank = static_cast<int>(weights.shape.size());
  for (int i = summed_from; i < summed_to; ++i) summed *= weights.shape[static_cast<size_t>(i)];
  for (int i = summed_to; i < rank; ++i) inner *= weights.shape[static_cast<size_t>(i)];
  const std::vector<float>& rounded = weights.rounded;
  std::map<int64_t, double> sums;
  double largest = 0;
  for (size_t i = 0; i < rounded.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    const int64_t sum = at / (inner * summed) * inner + at % inner;
    const auto w = static_cast<double>(rounded[i]);
    const double here = magnitude * std::abs(w - weights.weight[i]) + error * std::abs(w);
    largest = std::max(largest, sums[sum] += here);
  }
  return largest;
}

// The axes of the weight that are summed over, as [first, last).
std::pair<int, int> SummedAxes(const QuantizableOp& op, size_t rank) {
  const auto axes = static_cast<int>(rank);
  if (op.type == "Conv") return {1, axes};
  if (op.type == "Gemm") return {1 - op.channel_axis, 2 - op.channel_axis};
  return op.weight_operand == 0 ? std::pair(axes - 1, axes) : std::pair(axes - 2, axes - 1);
}

}  // namespace

std::optional<double> QuantizableModel::ErrorBound(int position,
                                                   const std::vector<double>& magnitudes,
                                                   const std::vector<double>& errors,
                                                   const ProductWeights& weights,
                                                   int64_t terms) const {
  const QuantizableOp& op = impl_->operators[static_cast<size_t>(position)];
  const double largest = *std::max_element(errors.begin(), errors.end());
  const auto product = [&] {
    return magnitudes[0] * errors[1] + magnitudes[1] * errors[0] + errors[0] * errors[1];
  };
  if (op.role == QuantizedRole::kSelection) return largest;
  if (op.role == QuantizedRole::kProduct) {
    if (op.weight.empty()) return static_cast<double>(terms) * product();
    const auto [from, to] = SummedAxes(op, weights.shape.size());
    return WeightedError(weights, from, to, magnitudes[0], errors[0]) + weights.bias_error();
  }
  const onnx::NodeProto& node = impl_->proto.graph().node(op.position);
  if (op.type == "Add") return errors[0] + errors[1];
  if (op.type == "Mul") return product();
  if (op.type == "Sigmoid") return largest / 4;  // its slope is at most 1/4
  if (op.type == "LeakyRelu") {
    const double slope = static_cast<double>(FloatAttribute(node, "alpha", 0.01F));
    return largest * std::max(1.0, std::abs(slope));
  }
  // A mean of operands, or one of them.
  if (op.type == "AveragePool" || op.type == "GlobalAveragePool" || op.type == "Concat") {
    return largest;
  }
  return std::nullopt;
}

double QuantizableModel::LargestSum(int position, const std::vector<double>& magnitudes,
                                    const ProductWeights& weights, int64_t terms) const {
  const QuantizableOp& op = impl_->operators[static_cast<size_t>(position)];
  if (op.weight.empty()) return static_cast<double>(terms) * magnitudes[0] * magnitudes[1];
  const auto [from, to] = SummedAxes(op, weights.shape.size());
  return WeightedError(weights, from, to, 0, magnitudes[0]);
}

absl::StatusOr<ImportedModel> QuantizableModel::ImportProduct(int position, const TensorType& left,
                                                              const TensorType& right) const {
  const QuantizableOp& op = impl_->operators[static_cast<size_t>(position)];
  onnx::ModelProto model;
  model.set_ir_version(impl_->proto.ir_version());
  *model.mutable_opset_import() = impl_->proto.opset_import();
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.set_name("product");
  onnx::NodeProto& node = *graph.add_node();
  node = impl_->proto.graph().node(op.position);
  node.clear_input();
  for (const auto& [name, type] : {std::pair("left", &left), std::pair("right", &right)}) {
    node.add_input(name);
    auto* input = graph.add_input();
    input->set_name(name);
    auto* tensor = input->mutable_type()->mutable_tensor_type();
    tensor->set_elem_type(ToOnnxType(type->dtype));
    tensor->mutable_shape();
    for (const int64_t size : type->shape) tensor->mutable_shape()->add_dim()->set_dim_value(size);
  }
  graph.add_output()->set_name(node.output(0));
  return ImportProto(&model, impl_->path, impl_->folder, {});
}

}  // namespace lemma
