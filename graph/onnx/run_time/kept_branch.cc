// Ifs that are kept: with a branch that cannot be imported, or to choose between results of
// different sizes.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/onnx/convert.h"
#include "graph/onnx/importer.h"
#include "graph/onnx/node_order.h"
#include "graph/onnx/opaque.h"
#include "graph/onnx/run_time/choosing_if.h"
#include "graph/onnx/structural.h"
#include "graph/sizes/symbolic_size.h"

namespace lemma {
namespace {

constexpr int kConstantOfShapeSince = 9;

bool CanBeZeros(const TensorType& type) { return !IsOpaque(type.dtype) && !IsSymbolic(type.shape); }

// Whether one of the two is taken whenever what is around both is executed.
bool AreBothSides(const std::vector<BranchSide>& a, const std::vector<BranchSide>& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end() - 1, b.begin()) &&
         a.back().condition == b.back().condition && a.back().holds != b.back().holds;
}

// Symbolic sizes stay unknown.
void SetType(const TensorType& type, onnx::ValueInfoProto* info) {
  auto* tensor = info->mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(ToOnnxType(type.dtype));
  tensor->mutable_shape();
  for (int64_t size : type.shape) {
    auto* dim = tensor->mutable_shape()->add_dim();
    if (!IsSymbolic(size)) dim->set_dim_value(size);
  }
}

// A node of `branch` with one attribute, "value".
onnx::NodeProto* AddNode(onnx::GraphProto* branch, const char* op_type, const Tensor& value,
                         std::string output) {
  onnx::NodeProto* node = branch->add_node();
  node->set_op_type(op_type);
  node->add_output(std::move(output));
  onnx::AttributeProto* attribute = node->add_attribute();
  attribute->set_name("value");
  attribute->set_type(onnx::AttributeProto::TENSOR);
  *attribute->mutable_t() = ToProto("", value);
  return node;
}

// A branch whose results are zeros.
absl::StatusOr<onnx::GraphProto> Zeros(const std::vector<TensorType>& types) {
  onnx::GraphProto branch;
  branch.set_name("zeros");
  for (size_t i = 0; i < types.size(); ++i) {
    const std::string shape = absl::StrCat("shape", i), output = absl::StrCat("zeros", i);
    LEMMA_ASSIGN_OR_RETURN(Tensor zero, Tensor::Filled({types[i].dtype, {1}}, 0));
    AddNode(&branch, "Constant", Tensor::Ints(types[i].shape), shape);
    AddNode(&branch, "ConstantOfShape", zero, output)->add_input(shape);
    onnx::ValueInfoProto* info = branch.add_output();
    info->set_name(output);
    SetType(types[i], info);
  }
  return branch;
}

}  // namespace

absl::StatusOr<std::vector<Result>> ModelImporter::TryBranch(const onnx::GraphProto& branch,
                                                             const Scope& scope,
                                                             const BranchSide& side) {
  const size_t opaque = result_.opaque.size();
  const auto draws = draws_;
  const auto makers = makers_;
  Scope inner;
  inner.parent = &scope;
  inner.opsets = scope.opsets;
  inner.depth = scope.depth + 1;
  sides_.push_back(side);
  auto results = ImportSubgraph(branch, &inner);
  sides_.pop_back();
  if (!results.ok()) {
    result_.opaque.resize(opaque);
    draws_ = draws;
    makers_ = makers;
  }
  return results;
}

bool ModelImporter::SharesOperators(const onnx::NodeProto& node, const Scope& scope,
                                    const Value& condition, const std::vector<Result> (&results)[2],
                                    bool chooses_size) {
  absl::flat_hash_set<Value> outer;
  for (const std::string& name : NamesRead(node)) {
    const Value* value = scope.Find(name);
    if (value != nullptr && *value) outer.insert(*value);
  }
  const auto begins_with = [](const std::vector<BranchSide>& all,
                              const std::vector<BranchSide>& first) {
    return all.size() >= first.size() && std::equal(first.begin(), first.end(), all.begin());
  };
  bool shares = false;
  for (const bool holds : {false, true}) {
    Place place{sides_, chooses_size};
    place.sides.push_back({condition, holds});
    std::vector<Value> open;
    for (const Result& result : results[holds]) open.push_back(result.value);
    absl::flat_hash_set<Value> seen;
    while (!open.empty()) {
      const Value value = open.back();
      open.pop_back();
      if (!value || outer.contains(value) || !value.node().is_op() || !seen.insert(value).second) {
        continue;
      }
      const auto [known, is_new] = places_.emplace(&value.node(), place);
      if (is_new) placed_.push_back(value);
      const std::vector<BranchSide>& other = known->second.sides;
      if (!begins_with(other, place.sides) && !begins_with(place.sides, other) &&
          !AreBothSides(other, place.sides)) {
        shares = shares || chooses_size || known->second.chooses_size;
      }
      // What is inside an inner If has been visited.
      if (!is_new && other.size() > place.sides.size()) continue;
      for (const Value& input : value.node().inputs()) open.push_back(input);
    }
  }
  return shares;
}

bool ModelImporter::DeclaresTypes(const onnx::NodeProto& node, bool holds,
                                  const std::vector<Result>& other, const Scope& scope) {
  const auto* branch = structural::FindAttribute(node, BranchAttribute(holds));
  if (branch == nullptr || branch->g().output_size() != static_cast<int>(other.size()))
    return false;
  Scope inner;
  inner.parent = &scope;
  for (const auto& output : branch->g().output()) inner.declared[output.name()] = &output.type();
  for (size_t i = 0; i < other.size(); ++i) {
    const auto type = DeclaredType(inner, branch->g().output(static_cast<int>(i)).name());
    if (!type || !other[i].value || *type != other[i].value.type()) return false;
  }
  return true;
}

absl::StatusOr<std::vector<Result>> ModelImporter::KeepBranch(const onnx::NodeProto& node,
                                                              bool holds,
                                                              const absl::Status& failed,
                                                              const std::vector<Result>& other,
                                                              const Scope& scope) {
  // A branch that is wrong at all sizes of the graph has no results. Another one, such as a branch
  // with an operator that Lemma or an import for all sizes lacks, may have other sizes.
  const bool never_runs = absl::IsInvalidArgument(failed) && DimsReadBy(node, scope).empty();
  if (!never_runs && !DeclaresTypes(node, holds, other, scope)) {
    return absl::UnimplementedError("the sizes of its results are not known");
  }
  if (MayDraw(node, functions_)) {
    return absl::UnimplementedError("it may draw random numbers");
  }
  std::vector<TensorType> types, present;
  for (size_t i = 0; i < other.size(); ++i) {
    if (!other[i].value) return absl::UnimplementedError("a branch gives a list");
    types.push_back(other[i].value.type());
    const bool is_read =
        static_cast<int>(i) < node.output_size() && !node.output(static_cast<int>(i)).empty();
    if (is_read) present.push_back(types.back());
  }
  onnx::NodeProto kept = node;
  // The other branch is written elsewhere.
  const bool is_short =
      scope.opset() >= kConstantOfShapeSince && std::all_of(types.begin(), types.end(), CanBeZeros);
  for (auto& attribute : *kept.mutable_attribute()) {
    if (!is_short || attribute.name() != BranchAttribute(!holds)) continue;
    LEMMA_ASSIGN_OR_RETURN(*attribute.mutable_g(), Zeros(types));
  }
  LEMMA_ASSIGN_OR_RETURN(std::vector<Value> values, MakeOpaque(kept, scope, std::move(present)));
  // A result that nothing reads is whatever the other branch gives.
  std::vector<Result> results = other;
  for (size_t i = 0; i < values.size() && i < results.size(); ++i) {
    if (values[i]) results[i] = values[i];
  }
  return results;
}

// Its names do not depend on the model, so that equal choices are equal nodes.
absl::StatusOr<Value> ModelImporter::KeepChoice(const std::string& output, const Value& condition,
                                                const Value& then, const Value& otherwise,
                                                TensorType type, const Scope& scope) {
  Scope inner = structural::Inside(scope);
  onnx::NodeProto choice;
  choice.set_op_type("If");
  choice.add_input("condition");
  choice.add_output(output);
  inner.values["condition"] = condition;
  for (const bool holds : {true, false}) {
    const char* name = BranchAttribute(holds);
    const Value& value = holds ? then : otherwise;
    inner.values[name] = value;
    onnx::GraphProto* branch = AddBranch(holds, &choice);
    branch->set_name(name);
    SetType(value.type(), AddPassedOn(name, "passed_on", branch));
  }
  LEMMA_ASSIGN_OR_RETURN(const std::vector<Value> values,
                         MakeOpaque(choice, inner, {std::move(type)}));
  return values[0];
}

absl::StatusOr<std::vector<Value>> ModelImporter::KeepChoice(
    const onnx::NodeProto& node, const Value& condition, const std::vector<Result> (&results)[2],
    const std::vector<size_t>& differing, const Scope& scope) {
  if (MayDraw(node, functions_)) {
    return absl::UnimplementedError("it may draw random numbers");
  }
  // The types are those that the whole If would have.
  const OpaqueNode whole = PackOpaque(node, scope.opsets, functions_, "");
  std::vector<Value> read;
  for (const std::string& name : whole.inputs) {
    const Value* value = scope.Find(name);
    if (value == nullptr || !*value) {
      return absl::UnimplementedError(absl::StrCat("its input '", name, "' is no tensor"));
    }
    read.push_back(*value);
  }
  LEMMA_ASSIGN_OR_RETURN(const std::vector<TensorType> whole_types,
                         TypesOfOutputs(node, scope, whole, read));
  std::vector<Value> values;
  size_t present = 0;
  for (size_t i = 0; i < results[0].size(); ++i) {
    const bool is_read =
        static_cast<int>(i) < node.output_size() && !node.output(static_cast<int>(i)).empty();
    const bool differs = std::find(differing.begin(), differing.end(), i) != differing.end();
    if (differs && is_read) {
      LEMMA_ASSIGN_OR_RETURN(
          const Value value,
          KeepChoice(node.output(static_cast<int>(i)), condition, results[1][i].value,
                     results[0][i].value, whole_types[present], scope));
      values.push_back(value);
    } else if (differs) {  // nothing reads it, so it may be what one branch gives
      values.push_back(results[1][i].value);
    }
    present += is_read ? 1 : 0;
  }
  return values;
}

}  // namespace lemma
