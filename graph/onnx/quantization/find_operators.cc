#include "graph/onnx/quantization/find_operators.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace lemma {
namespace {

const std::set<std::string>& Products() {
  static const auto* const types = new std::set<std::string>{"Conv", "Gemm", "MatMul"};
  return *types;
}

const std::set<std::string>& Arithmetic() {
  static const auto* const types = new std::set<std::string>{
      "Add", "AveragePool", "Concat", "GlobalAveragePool", "LeakyRelu", "Mul", "Sigmoid"};
  return *types;
}

const std::set<std::string>& Selections() {
  static const auto* const types = new std::set<std::string>{
      "Flatten", "MaxPool", "Pad", "Reshape", "Squeeze", "Transpose", "Unsqueeze"};
  return *types;
}

class Finder {
 public:
  explicit Finder(const ModelIndex& index) : index_(index) {}

  FoundOperators Run() {
    for (int i = 0; i < index_.graph().node_size(); ++i) Visit(i);
    return std::move(found_);
  }

 private:
  void Visit(int position) {
    const onnx::NodeProto& node = index_.graph().node(position);
    if (!CapturedBy(node).empty() || HasSubgraph(node)) {
      return Keep(node, "it has subgraphs, which stay as they are");
    }
    if (!IsOfOnnx(node) || node.output_size() == 0 || node.input_size() == 0) return;
    if (index_.IsConstant(node.output(0))) return;
    QuantizableOp op;
    op.name = NameOf(node);
    op.type = node.op_type();
    op.position = position;
    op.result = node.output(0);
    op.inner = {op.result};
    std::string problem;
    if (Products().count(op.type) > 0) {
      op.role = QuantizedRole::kProduct;
      problem = op.type == "Conv"   ? ReadConv(node, &op)
                : op.type == "Gemm" ? ReadGemm(node, &op)
                                    : ReadMatMul(node, &op);
      if (!problem.empty()) return Keep(node, problem);
      if (!op.weight.empty() && op.weight_operand == 1) FollowNorm(&op);
      if (op.type == "MatMul" && op.channel_axis >= 0) FollowBias(&op);
    } else if (Arithmetic().count(op.type) > 0) {
      op.role = QuantizedRole::kArithmetic;
      op.reads.assign(node.input().begin(), node.input().end());
      if (!AreActivations(op.reads) || node.output_size() != 1) return;
    } else if (Selections().count(op.type) > 0) {
      op.role = QuantizedRole::kSelection;
      op.reads = {node.input(0)};
      if (!AreActivations(op.reads) || node.output_size() != 1) return;
      if (op.type == "Pad" && !PadsWithZeroOrCopies(node)) return;
    } else {
      return;
    }
    if (op.role != QuantizedRole::kSelection) FollowActivation(&op);
    found_.operators.push_back(std::move(op));
  }

  // Every range includes 0, so what a Pad adds has the operand's range if it is 0 or a copy.
  bool PadsWithZeroOrCopies(const onnx::NodeProto& node) const {
    const onnx::AttributeProto* mode = FindAttribute(node, "mode");
    if (mode != nullptr && mode->s() != "constant") return true;
    const std::string number = OptionalInput(node, 2);
    if (number.empty()) return FloatAttribute(node, "value", 0) == 0;
    const auto constant = index_.Constant(number);
    return constant.ok() && constant->size() == 1 && constant->AtDouble(0) == 0;
  }

  static bool HasSubgraph(const onnx::NodeProto& node) {
    return std::any_of(node.attribute().begin(), node.attribute().end(),
                       [](const auto& a) { return a.has_g() || a.graphs_size() > 0; });
  }

  void Keep(const onnx::NodeProto& node, std::string reason) {
    found_.kept.push_back({NameOf(node), node.op_type(), std::move(reason)});
  }

  bool AreActivations(const std::vector<std::string>& names) const {
    return std::none_of(names.begin(), names.end(), [&](const std::string& name) {
      return name.empty() || index_.IsConstant(name);
    });
  }

  static std::string OptionalInput(const onnx::NodeProto& node, int i) {
    return node.input_size() > i ? node.input(i) : "";
  }

  // Why the constant cannot be a weight; "" if it can.
  std::string WeightProblem(const std::string& name) const {
    if (!index_.IsConstant(name)) return absl::StrCat("its weight '", name, "' is not a constant");
    if (index_.ConstantType(name) != onnx::TensorProto::FLOAT) {
      return absl::StrCat("its weight '", name, "' is not of f32");
    }
    if (NumElements(index_.ConstantShape(name)) == 0) return "its weight has no elements";
    return "";
  }

  std::string ReadConv(const onnx::NodeProto& node, QuantizableOp* op) const {
    if (node.input_size() < 2) return "it lacks a weight";
    op->reads = {node.input(0)};
    op->weight = node.input(1);
    op->bias = OptionalInput(node, 2);
    op->channel_axis = 0;
    if (index_.IsConstant(node.input(0))) return "its operand is a constant";
    if (std::string problem = WeightProblem(op->weight); !problem.empty()) return problem;
    const Shape shape = index_.ConstantShape(op->weight);
    if (shape.size() < 3) return "its weight has a rank below 3";
    return BiasProblem(op->bias, shape[0]);
  }

  std::string BiasProblem(const std::string& bias, int64_t channels) const {
    if (bias.empty()) return "";
    if (!index_.IsConstant(bias)) return absl::StrCat("its bias '", bias, "' is not a constant");
    if (index_.ConstantType(bias) != onnx::TensorProto::FLOAT) return "its bias is not of f32";
    const Shape shape = index_.ConstantShape(bias);
    if (shape != Shape{channels}) {
      return absl::StrCat("its bias is ", ToString(shape), ", not a number for each channel");
    }
    return "";
  }

  std::string ReadGemm(const onnx::NodeProto& node, QuantizableOp* op) const {
    if (node.input_size() < 2) return "it lacks a weight";
    if (IntAttribute(node, "transA", 0) != 0) return "transA is set";
    if (FloatAttribute(node, "alpha", 1) != 1) return "alpha is not 1";
    op->reads = {node.input(0)};
    op->weight = node.input(1);
    op->bias = OptionalInput(node, 2);
    if (!op->bias.empty() && FloatAttribute(node, "beta", 1) != 1) return "beta is not 1";
    op->channel_axis = IntAttribute(node, "transB", 0) != 0 ? 0 : 1;
    if (index_.IsConstant(node.input(0))) return "its operand is a constant";
    if (std::string problem = WeightProblem(op->weight); !problem.empty()) return problem;
    const Shape shape = index_.ConstantShape(op->weight);
    if (shape.size() != 2) return "its weight is not a matrix";
    return BiasProblem(op->bias, shape[static_cast<size_t>(op->channel_axis)]);
  }

  std::string ReadMatMul(const onnx::NodeProto& node, QuantizableOp* op) const {
    if (node.input_size() != 2) return "it has not two operands";
    const bool left = index_.IsConstant(node.input(0)), right = index_.IsConstant(node.input(1));
    if (left && right) return "both operands are constants";
    if (!left && !right) {
      op->reads = {node.input(0), node.input(1)};
      return "";
    }
    op->weight_operand = left ? 0 : 1;
    op->reads = {node.input(left ? 1 : 0)};
    op->weight = node.input(op->weight_operand);
    const size_t rank = index_.ConstantShape(op->weight).size();
    if (rank < 2) return "its weight is not a matrix";
    // The left operand's rows, and matrices of a stack, have one scale together.
    if (right && rank == 2) op->channel_axis = 1;
    return WeightProblem(op->weight);
  }

  // A BatchNormalization of constants that only reads this product's result.
  void FollowNorm(QuantizableOp* op) const {
    const int next = index_.OnlyReaderOf(op->result);
    if (next < 0 || op->type != "Conv") return;
    const onnx::NodeProto& norm = index_.graph().node(next);
    if (!IsOfOnnx(norm) || norm.op_type() != "BatchNormalization") return;
    if (norm.input_size() != 5 || norm.input(0) != op->result) return;
    if (IntAttribute(norm, "training_mode", 0) != 0 || IntAttribute(norm, "spatial", 1) != 1)
      return;
    for (int i = 1; i < norm.output_size(); ++i) {
      if (!norm.output(i).empty()) return;
    }
    const Shape channels = {index_.ConstantShape(op->weight)[0]};
    for (int i = 1; i < 5; ++i) {
      if (index_.ConstantType(norm.input(i)) != onnx::TensorProto::FLOAT) return;
      if (index_.ConstantShape(norm.input(i)) != channels) return;
    }
    Follow(next, op);
  }

  // An Add of a number for each channel that only reads this MatMul's result.
  void FollowBias(QuantizableOp* op) const {
    const int next = index_.OnlyReaderOf(op->result);
    if (next < 0) return;
    const onnx::NodeProto& add = index_.graph().node(next);
    if (!IsOfOnnx(add) || add.op_type() != "Add" || add.input_size() != 2) return;
    const int operand = add.input(0) == op->result ? 1 : 0;
    const std::string& bias = add.input(operand);
    const int64_t channels =
        index_.ConstantShape(op->weight)[static_cast<size_t>(op->channel_axis)];
    if (!index_.IsConstant(bias) || !BiasProblem(bias, channels).empty()) return;
    const auto numbers = index_.Constant(bias);
    if (!numbers.ok() || !numbers->IsFinite()) return;  // such as a mask of -infinity
    op->added_bias = bias;
    op->added_operand = operand;
    Follow(next, op);
  }

  void FollowActivation(QuantizableOp* op) const {
    const int next = index_.OnlyReaderOf(op->result);
    if (next < 0) return;
    const onnx::NodeProto& node = index_.graph().node(next);
    if (!IsOfOnnx(node) || (node.op_type() != "Relu" && node.op_type() != "Clip")) return;
    if (node.input(0) == op->result) Follow(next, op);
  }

  void Follow(int position, QuantizableOp* op) const {
    op->followers.push_back(position);
    op->result = index_.graph().node(position).output(0);
    op->inner.push_back(op->result);
  }

  const ModelIndex& index_;
  FoundOperators found_;
};

std::string QuantizedIn(const onnx::GraphProto& graph) {
  for (const auto& node : graph.node()) {
    const std::string& type = node.op_type();
    if (absl::StrContains(type, "QuantizeLinear") || absl::StartsWith(type, "QLinear") ||
        type == "MatMulInteger" || type == "ConvInteger" || type == "MatMulNBits") {
      return absl::StrCat(type, " '", NameOf(node), "'");
    }
    for (const auto& attribute : node.attribute()) {
      std::string inner = attribute.has_g() ? QuantizedIn(attribute.g()) : "";
      if (!inner.empty()) return inner;
    }
  }
  return "";
}

}  // namespace

FoundOperators FindOperators(const ModelIndex& index) { return Finder(index).Run(); }

std::string QuantizedAlready(const onnx::ModelProto& model) { return QuantizedIn(model.graph()); }

}  // namespace lemma
