#include "graph/onnx/opsets/version_converter.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace lemma {
namespace {

using onnx::AttributeProto;
using onnx::NodeProto;

// Before set `opset`, these inputs of the operator, from number 1 on, are attributes.
struct MovedInputs {
  int opset;
  std::vector<const char*> names;
};

const MovedInputs* FindMovedInputs(const std::string& op_type) {
  static const auto* moved = new std::map<std::string, MovedInputs>{
      {"Clip", {11, {"min", "max"}}},
      {"Dropout", {12, {"ratio"}}},
      {"Pad", {11, {"pads", "value"}}},
      {"ReduceL1", {18, {"axes"}}},
      {"ReduceL2", {18, {"axes"}}},
      {"ReduceLogSum", {18, {"axes"}}},
      {"ReduceLogSumExp", {18, {"axes"}}},
      {"ReduceMax", {18, {"axes"}}},
      {"ReduceMean", {18, {"axes"}}},
      {"ReduceMin", {18, {"axes"}}},
      {"ReduceProd", {18, {"axes"}}},
      {"ReduceSum", {13, {"axes"}}},
      {"ReduceSumSquare", {18, {"axes"}}},
      {"Slice", {10, {"starts", "ends", "axes"}}},
      {"Split", {13, {"split"}}},
      {"Squeeze", {13, {"axes"}}},
      {"TopK", {10, {"k"}}},
      {"Unsqueeze", {13, {"axes"}}},
      {"Upsample", {9, {"scales"}}},
  };
  auto it = moved->find(op_type);
  return it == moved->end() ? nullptr : &it->second;
}

constexpr int kNegativeAxes = 11;  // the set from which on axes may count from the end

AttributeProto* FindAttribute(NodeProto* node, absl::string_view name) {
  for (auto& attribute : *node->mutable_attribute()) {
    if (attribute.name() == name) return &attribute;
  }
  return nullptr;
}

void RemoveAttribute(NodeProto* node, absl::string_view name) {
  auto* attributes = node->mutable_attribute();
  for (int i = attributes->size() - 1; i >= 0; --i) {
    if (attributes->Get(i).name() == name) attributes->DeleteSubrange(i, 1);
  }
}

std::string StringAttribute(NodeProto* node, absl::string_view name) {
  const AttributeProto* attribute = FindAttribute(node, name);
  return attribute == nullptr ? "" : attribute->s();
}

void SetInts(NodeProto* node, absl::string_view name, const std::vector<int64_t>& values) {
  RemoveAttribute(node, name);
  AttributeProto* attribute = node->add_attribute();
  attribute->set_name(std::string(name));
  attribute->set_type(AttributeProto::INTS);
  for (int64_t value : values) attribute->add_ints(value);
}

void SetConstant(NodeProto* node, const std::string& name, const Tensor& value) {
  if (!IsFloat(value.dtype()) && name != "k") {
    SetInts(node, name, value.ToInts());
    return;
  }
  AttributeProto* attribute = node->add_attribute();
  attribute->set_name(name);
  if (name == "k") {
    attribute->set_type(AttributeProto::INT);
    attribute->set_i(value.AtInt(0));
  } else if (name == "scales") {
    attribute->set_type(AttributeProto::FLOATS);
    for (int64_t i = 0; i < value.size(); ++i) {
      attribute->add_floats(static_cast<float>(value.AtDouble(i)));
    }
  } else {
    attribute->set_type(AttributeProto::FLOAT);
    attribute->set_f(static_cast<float>(value.AtDouble(0)));
  }
}

class Rewriter {
 public:
  Rewriter(int opset, const ConversionContext& context) : opset_(opset), context_(context) {}

  // "" or what the set lacks. Changes the node; nodes to put around it go to before and after.
  std::string Rewrite(NodeProto* node) {
    for (auto step : {&Rewriter::MoveInputs, &Rewriter::MoveAxesToInput, &Rewriter::CountAxes,
                      &Rewriter::Broadcast, &Rewriter::EnlargeEarlier, &Rewriter::NormalizeLast}) {
      if (std::string problem = (this->*step)(node); !problem.empty()) return problem;
    }
    return "";
  }

  std::vector<NodeProto> before, after;

 private:
  std::string MoveInputs(NodeProto* node);
  std::string MoveAxesToInput(NodeProto* node);
  std::string CountAxes(NodeProto* node);
  std::string Broadcast(NodeProto* node);
  std::string EnlargeEarlier(NodeProto* node);
  std::string NormalizeLast(NodeProto* node);

  const int opset_;
  const ConversionContext& context_;
};

std::string Rewriter::MoveInputs(NodeProto* node) {
  const MovedInputs* moved = FindMovedInputs(node->op_type());
  if (moved == nullptr || opset_ >= moved->opset) return "";
  const int count = static_cast<int>(moved->names.size());
  for (int i = 1; i < node->input_size(); ++i) {
    if (node->input(i).empty()) continue;
    const Tensor* value = context_.constant(node->input(i));
    if (i > count) {  // the steps of Slice
      bool ones = value != nullptr && node->op_type() == "Slice";
      for (int64_t k = 0; ones && k < value->size(); ++k) ones = value->AtInt(k) == 1;
      if (!ones) return absl::StrCat("input ", i, " of ", node->op_type());
      continue;
    }
    if (value == nullptr) return absl::StrCat("a computed ", moved->names[i - 1]);
    if (node->op_type() == "TopK" && value->size() == 1 && value->AtInt(0) < 1) return "k = 0";
    if (IsFloat(value->dtype())) {
      for (int64_t k = 0; k < value->size(); ++k) {
        const double real = value->AtDouble(k);
        if (static_cast<double>(static_cast<float>(real)) != real && real == real) {
          return absl::StrCat(moved->names[i - 1], " that is no f32 number");
        }
      }
    }
    SetConstant(node, moved->names[i - 1], *value);
  }
  node->mutable_input()->DeleteSubrange(1, node->input_size() - 1);
  return "";
}

std::string Rewriter::MoveAxesToInput(NodeProto* node) {
  const MovedInputs* moved = FindMovedInputs(node->op_type());
  if (moved == nullptr || opset_ < moved->opset || node->input_size() != 1) return "";
  const AttributeProto* axes = FindAttribute(node, "axes");
  if (axes == nullptr) return "";
  node->add_input(context_.new_constant(
      Tensor::Ints(std::vector<int64_t>(axes->ints().begin(), axes->ints().end()))));
  RemoveAttribute(node, "axes");
  return "";
}

std::string Rewriter::CountAxes(NodeProto* node) {
  if (opset_ >= kNegativeAxes) return "";
  AttributeProto* axes = FindAttribute(node, "axes");
  AttributeProto* axis = FindAttribute(node, "axis");
  std::vector<int64_t*> positions;
  for (int i = 0; axes != nullptr && i < axes->ints_size(); ++i) {
    positions.push_back(axes->mutable_ints()->Mutable(i));
  }
  int64_t single = axis == nullptr ? 0 : axis->i();
  positions.push_back(&single);
  if (std::all_of(positions.begin(), positions.end(), [](int64_t* p) { return *p >= 0; })) {
    return "";
  }
  const TensorType* type = node->input_size() == 0 ? nullptr : context_.type(node->input(0));
  if (type == nullptr) return "an axis that counts from the end";
  int64_t dims = type->rank();
  if (node->op_type() == "Unsqueeze") dims += axes->ints_size();
  if (node->op_type() == "OneHot") dims += 1;
  for (int64_t* position : positions) {
    if (*position < 0) *position += dims;
  }
  if (axis != nullptr) axis->set_i(single);
  return "";
}

// These operators broadcast from set 8 on.
std::string Rewriter::Broadcast(NodeProto* node) {
  static const auto* ops = new std::set<std::string>{"Max", "Mean", "Min", "Sum"};
  if (opset_ >= 8 || ops->count(node->op_type()) == 0) return "";
  const TensorType* first = context_.type(node->input(0));
  for (const std::string& input : node->input()) {
    const TensorType* type = context_.type(input);
    if (type == nullptr || first == nullptr || type->shape != first->shape) {
      return absl::StrCat("a broadcasting ", node->op_type());
    }
  }
  return "";
}

// Resize has its attributes from set 11 on, and its first input but one may be absent from 13 on.
std::string Rewriter::EnlargeEarlier(NodeProto* node) {
  if (node->op_type() != "Resize" || opset_ >= 13) return "";
  if (node->input_size() != 3) return "sizes of Resize";
  if (opset_ >= 11) {
    if (node->input(1).empty()) {
      auto none = Tensor::Allocate({DType::kF32, {0}});
      node->set_input(1, context_.new_constant(*std::move(none)));
    }
    return "";
  }
  if (StringAttribute(node, "coordinate_transformation_mode") != "asymmetric" ||
      StringAttribute(node, "nearest_mode") != "floor" || !node->input(1).empty()) {
    return "this mode of Resize";
  }
  RemoveAttribute(node, "coordinate_transformation_mode");
  RemoveAttribute(node, "nearest_mode");
  node->mutable_input()->DeleteSubrange(1, 1);
  if (opset_ == 10) return "";
  node->set_op_type("Upsample");
  return MoveInputs(node);
}

// Before set 13, these operators normalize over all dimensions from `axis` on.
std::string Rewriter::NormalizeLast(NodeProto* node) {
  static const auto* ops = new std::set<std::string>{"Hardmax", "LogSoftmax", "Softmax"};
  if (opset_ >= 13 || ops->count(node->op_type()) == 0) return "";
  const TensorType* type = context_.type(node->input(0));
  AttributeProto* axis = FindAttribute(node, "axis");
  if (type == nullptr || axis == nullptr) return absl::StrCat("this form of ", node->op_type());
  const int64_t rank = type->rank();
  if (axis->i() < 0) axis->set_i(axis->i() + rank);
  if (axis->i() == rank - 1) return "";
  std::vector<int64_t> perm(static_cast<size_t>(rank));
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[static_cast<size_t>(axis->i())], perm.back());
  axis->set_i(rank - 1);
  auto transpose = [&](const std::string& from, const std::string& to) {
    NodeProto made;
    made.set_op_type("Transpose");
    made.set_name(absl::StrCat("Transpose/", to));
    made.add_input(from);
    made.add_output(to);
    SetInts(&made, "perm", perm);
    return made;
  };
  const std::string in = context_.new_name(), out = context_.new_name();
  before.push_back(transpose(node->input(0), in));
  after.push_back(transpose(out, node->output(0)));
  node->set_input(0, in);
  node->set_output(0, out);
  return "";
}

}  // namespace

ConvertedNode ConvertNode(int opset, NodeProto node, const ConversionContext& context,
                          ElementTypes* types) {
  Rewriter rewriter(opset, context);
  ConvertedNode converted;
  converted.problem = rewriter.Rewrite(&node);
  if (!converted.problem.empty()) return converted;
  converted.nodes = std::move(rewriter.before);
  converted.nodes.push_back(std::move(node));
  for (NodeProto& after : rewriter.after) converted.nodes.push_back(std::move(after));
  for (NodeProto& made : converted.nodes) {
    converted.problem = SchemaProblem(opset, &made, types);
    if (!converted.problem.empty()) {
      converted.nodes.clear();
      return converted;
    }
  }
  return converted;
}

int OpsetFor(int opset, const NodeProto& node, const ConversionContext& context,
             const ElementTypes& types) {
  for (int set = opset; set <= kExportOpset; ++set) {
    ElementTypes copy;
    for (const std::string& input : node.input()) {
      auto type = types.find(input);
      if (type != types.end()) copy.insert(*type);
    }
    if (!ConvertNode(set, node, context, &copy).nodes.empty()) return set;
  }
  return 0;
}

int OpsetOfChange(absl::string_view op_type, int from, int to) {
  // From ONNX's schemas: moved inputs, dropped attributes, changed defaults or meanings.
  static const auto* changes = new std::map<std::string, std::set<int>, std::less<>>{
      {"Attention", {24}},
      {"BatchNormalization", {7, 9, 14}},
      {"Clip", {11}},
      {"DFT", {20}},
      {"Dropout", {7, 12}},
      {"GridSample", {20}},
      {"GroupNormalization", {21}},
      {"Hardmax", {13}},
      {"LogSoftmax", {13}},
      {"Pad", {11}},
      {"Resize", {11, 13}},
      {"RoiAlign", {16}},
      {"Scan", {9}},
      {"Scatter", {11}},
      {"Slice", {10}},
      {"Softmax", {13}},
      {"Split", {13, 18}},
      {"Squeeze", {13}},
      {"TopK", {10}},
      {"Unsqueeze", {13}},
      {"Upsample", {9, 10}},
  };
  std::set<int> sets;
  if (from < kBroadcastOpset && to >= kBroadcastOpset) {
    const std::string name(op_type);
    if (SinceOpset(name, from) != SinceOpset(name, kBroadcastOpset)) sets.insert(kBroadcastOpset);
  }
  if (auto it = changes->find(op_type); it != changes->end()) {
    sets.insert(it->second.begin(), it->second.end());
  }
  if (const MovedInputs* moved = FindMovedInputs(std::string(op_type))) sets.insert(moved->opset);
  auto change = sets.upper_bound(from);
  return change != sets.end() && *change <= to ? *change : 0;
}

}  // namespace lemma
