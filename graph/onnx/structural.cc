#include "graph/onnx/structural.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/onnx/run_time/choosing_if.h"
#include "graph/onnx/run_time/loop_signature.h"

namespace lemma {
namespace structural {

absl::Status Unsupported(const onnx::NodeProto& node, absl::string_view reason) {
  return absl::UnimplementedError(absl::StrCat("unsupported: ", node.op_type(), " (", reason, ")"));
}

const onnx::AttributeProto* FindAttribute(const onnx::NodeProto& node, absl::string_view name) {
  for (const auto& attribute : node.attribute()) {
    if (attribute.name() == name) return &attribute;
  }
  return nullptr;
}

const onnx::GraphProto* FindGraph(const onnx::NodeProto& node, absl::string_view name) {
  const onnx::AttributeProto* attribute = FindAttribute(node, name);
  return attribute != nullptr && attribute->has_g() ? &attribute->g() : nullptr;
}

int64_t IntAttribute(const onnx::NodeProto& node, absl::string_view name, int64_t fallback) {
  const onnx::AttributeProto* attribute = FindAttribute(node, name);
  return attribute == nullptr ? fallback : attribute->i();
}

bool HasInput(const onnx::NodeProto& node, int i) {
  return i < node.input_size() && !node.input(i).empty();
}

absl::StatusOr<Value> TensorInput(const onnx::NodeProto& node, const Scope& scope, int i) {
  const Value* value = HasInput(node, i) ? scope.Find(node.input(i)) : nullptr;
  if (value == nullptr || !*value) {
    return absl::InvalidArgumentError(absl::StrCat("input ", i, " must be a tensor"));
  }
  return *value;
}

absl::StatusOr<Tensor> KnownInput(ModelImporter& importer, const onnx::NodeProto& node,
                                  const Scope& scope, int i) {
  auto value = TensorInput(node, scope, i);
  if (!value.ok()) return value.status();
  std::optional<Tensor> known = importer.Known(*value);
  if (known) return *std::move(known);
  return Unsupported(node, absl::StrCat("input ", i, " '", node.input(i), "' must be a constant"));
}

absl::StatusOr<Value> Reshape(ModelImporter& importer, const Value& x, Shape shape) {
  if (x.shape() == shape) return x;
  auto y = importer.Apply("reshape", {x}, {{"shape", std::move(shape)}});
  if (!y.ok()) return y.status();
  return (*y)[0];
}

absl::StatusOr<Value> Stack(ModelImporter& importer, const std::vector<Value>& items,
                            int64_t axis) {
  std::vector<Value> rows;
  for (const Value& item : items) {
    Shape shape = item.shape();
    const int64_t rank = static_cast<int64_t>(shape.size()) + 1;
    if (axis < -rank || axis >= rank) return absl::InvalidArgumentError("axis is out of range");
    if (axis < 0) axis += rank;
    shape.insert(shape.begin() + axis, 1);
    auto row = Reshape(importer, item, shape);
    if (!row.ok()) return row;
    rows.push_back(*std::move(row));
  }
  if (rows.empty()) return absl::InvalidArgumentError("there is nothing to stack");
  if (rows.size() == 1) return rows[0];
  auto y = importer.Apply("concat", std::move(rows), {{"axis", axis}});
  if (!y.ok()) return y.status();
  return (*y)[0];
}

absl::StatusOr<std::vector<Value>> Unstack(ModelImporter& importer, const Value& x, int64_t axis) {
  Shape shape = x.shape();
  const int64_t rank = static_cast<int64_t>(shape.size());
  if (axis < -rank || axis >= rank) return absl::InvalidArgumentError("axis is out of range");
  if (axis < 0) axis += rank;
  const int64_t count = shape[axis];
  std::vector<Value> parts = {x};
  if (count == 0) return std::vector<Value>();
  if (count > 1) {
    auto split = importer.Apply("split", {x}, {{"axis", axis}, {"sizes", Shape(count, 1)}});
    if (!split.ok()) return split;
    parts = *std::move(split);
  }
  shape.erase(shape.begin() + axis);
  for (Value& part : parts) {
    auto item = Reshape(importer, part, shape);
    if (!item.ok()) return item.status();
    part = *std::move(item);
  }
  return parts;
}

Scope Inside(const Scope& scope) {
  Scope inner;
  inner.parent = &scope;
  inner.opsets = scope.opsets;
  inner.depth = scope.depth + 1;
  return inner;
}

void Bind(const std::string& name, const Result& result, Scope* scope) {
  if (result.sequence) {
    scope->sequences[name] = *result.sequence;
  } else {
    scope->values[name] = result.value;
  }
}

}  // namespace structural

namespace {

using namespace structural;  // NOLINT: this file's own helpers, shared with sequences.cc
using Results = absl::StatusOr<std::vector<Result>>;

constexpr int64_t kMaxIterations = 1024;
// Fewer than the nested conditions that RunConditions (runtime/plan/run_conditions.h) finds.
constexpr int kMostNested = 6;

// Whether a symbolic size takes part in the computation of `value`.
bool DependsOnSizes(const Value& value) {
  absl::flat_hash_set<const Node*> seen;
  std::vector<Value> left = {value};
  while (!left.empty()) {
    const Value now = left.back();
    left.pop_back();
    const Node& node = now.node();
    if (!seen.insert(&node).second) continue;
    if (node.has_payload() && node.payload().dtype() == DType::kI64 &&
        node.payload().size() <= kMaxFoldElements && IsSymbolic(node.payload().data<int64_t>())) {
      return true;
    }
    for (const auto& [name, attr] : node.attrs()) {
      const auto* number = std::get_if<int64_t>(&attr);
      const auto* numbers = std::get_if<std::vector<int64_t>>(&attr);
      if ((number != nullptr && IsSymbolic(*number)) ||
          (numbers != nullptr && IsSymbolic(*numbers))) {
        return true;
      }
    }
    left.insert(left.end(), node.inputs().begin(), node.inputs().end());
  }
  return false;
}

// Both branches, and for each result a choice between them. Results whose sizes differ between
// the branches are chosen by an If that is kept. One branch may be wrong at sizes at which it is
// never executed, or have an unknown operator: then it stays what ONNX has, which is an error if it
// is taken (graph/onnx/run_time/call.h).
Results ImportChoice(ModelImporter& importer, const onnx::NodeProto& node, const Scope& scope,
                     const Value& condition) {
  if (condition.type().num_elements() != 1) {
    return absl::InvalidArgumentError("the condition must have one element");
  }
  std::vector<Result> results[2];  // else, then
  absl::Status failed[2];
  const size_t asked = importer.asked_sizes().size();
  for (const bool holds : {false, true}) {
    auto imported =
        importer.TryBranch(*FindGraph(node, BranchAttribute(holds)), scope, {condition, holds});
    failed[holds] = imported.status();
    if (imported.ok()) results[holds] = *std::move(imported);
  }
  const bool asks = importer.asked_sizes().size() > asked;
  if (DependsOnSizes(condition)) importer.ForgetAsked(asked);
  for (const bool holds : {false, true}) {
    if (failed[holds].ok()) continue;
    auto kept = failed[!holds].ok()
                    ? importer.KeepBranch(node, holds, failed[holds], results[!holds], scope)
                    : absl::StatusOr<std::vector<Result>>(failed[holds]);
    if (!kept.ok()) {
      return Unsupported(node, absl::StrCat(BranchAttribute(holds), ": ", failed[holds].message()));
    }
    importer.Note(absl::StrCat(Describe(node), ": ", BranchAttribute(holds),
                               " is an error if it is taken: ", failed[holds].message()));
    results[holds] = *std::move(kept);
  }
  auto scalar = Reshape(importer, condition, {});
  if (!scalar.ok()) return scalar.status();
  if (results[0].size() != results[1].size()) {
    return absl::InvalidArgumentError("the branches differ in the number of results");
  }
  std::vector<size_t> differing;
  for (size_t i = 0; i < results[1].size(); ++i) {
    const Value &then = results[1][i].value, &otherwise = results[0][i].value;
    if (!then || !otherwise) return Unsupported(node, "a branch gives a list");
    if (then.type() == otherwise.type()) continue;
    if (asks || scope.depth >= kMostNested || then.dtype() != otherwise.dtype() ||
        then.type().rank() != otherwise.type().rank()) {
      return Unsupported(node, absl::StrCat("the branches give ", then.type().ToString(), " and ",
                                            otherwise.type().ToString()));
    }
    differing.push_back(i);
  }
  if (importer.SharesOperators(node, scope, condition, results, !differing.empty())) {
    return Unsupported(node, "its branches share operators with those of another If");
  }
  if (!differing.empty()) {
    LEMMA_ASSIGN_OR_RETURN(const std::vector<Value> chosen,
                           importer.KeepChoice(node, *scalar, results, differing, scope));
    for (size_t i = 0; i < differing.size(); ++i) {
      results[1][differing[i]] = results[0][differing[i]] = chosen[i];
    }
  }
  for (size_t i = 0; i < results[1].size(); ++i) {
    Value& then = results[1][i].value;
    const Value& otherwise = results[0][i].value;
    if (then == otherwise) continue;
    auto y = importer.Apply("where", {*scalar, then, otherwise}, {});
    if (!y.ok()) return y.status();
    then = (*y)[0];
  }
  return results[1];
}

// If the condition is known, only that branch is imported.
Results ImportIf(ModelImporter& importer, const onnx::NodeProto& node, const Scope& scope) {
  const onnx::GraphProto* branches[] = {FindGraph(node, BranchAttribute(false)),
                                        FindGraph(node, BranchAttribute(true))};
  const Value* condition = node.input_size() == 1 ? scope.Find(node.input(0)) : nullptr;
  if (condition == nullptr || !*condition || branches[0] == nullptr || branches[1] == nullptr) {
    return absl::InvalidArgumentError("needs a condition and two branches");
  }
  std::optional<Tensor> known = importer.Known(*condition);
  if (!known || known->size() != 1) return ImportChoice(importer, node, scope, *condition);
  Scope inner = Inside(scope);
  return importer.ImportSubgraph(*branches[known->AtInt(0) != 0 ? 1 : 0], &inner);
}

// A value that a loop passes on, by name: a tensor or a sequence.
absl::StatusOr<Result> Carried(const onnx::NodeProto& node, const Scope& scope, int i) {
  if (HasInput(node, i)) {
    if (const auto* sequence = scope.FindSequence(node.input(i))) return Result(*sequence);
  }
  auto value = TensorInput(node, scope, i);
  if (!value.ok()) return value.status();
  return Result(*std::move(value));
}

Value ConstantOf(TensorType type, int64_t value) {
  auto tensor = Tensor::FromInts(std::move(type), {value});
  return tensor.ok() ? Value(Node::Constant(*std::move(tensor)), 0) : Value();
}

// Appends one iteration's collected results, and returns the first `count`.
absl::Status Collect(std::vector<Result> results, size_t count, std::vector<Result>* carried,
                     std::vector<std::vector<Value>>* collected) {
  for (size_t i = count; i < results.size(); ++i) {
    if (results[i].sequence) return absl::InvalidArgumentError("a scan output is a sequence");
    (*collected)[i - count].push_back(results[i].value);
  }
  results.resize(count);
  *carried = std::move(results);
  return absl::OkStatus();
}

// What decides how often the loop is executed: its operand 0 or 1.
absl::StatusOr<Tensor> KnownCount(ModelImporter& importer, const onnx::NodeProto& node,
                                  const Scope& scope, int i) {
  LEMMA_ASSIGN_OR_RETURN(const Value value, TensorInput(node, scope, i));
  if (auto known = importer.KnownForLoop(value)) return *std::move(known);
  return Unsupported(node, "the number of its iterations is not known");
}

// Unrolls the loop; the number of iterations must be known.
Results ImportLoop(ModelImporter& importer, const onnx::NodeProto& node, const Scope& scope) {
  LEMMA_ASSIGN_OR_RETURN(const onnx::GraphProto* body, BodyOf(node));
  LEMMA_ASSIGN_OR_RETURN(const LoopSignature signature, LoopSignatureOf(node));
  int64_t trips = INT64_MAX;
  bool go = true;
  if (HasInput(node, 0)) {
    auto tensor = KnownCount(importer, node, scope, 0);
    if (!tensor.ok()) return tensor.status();
    if (tensor->size() == 1) trips = tensor->AtInt(0);
  }
  if (HasInput(node, 1)) {
    auto tensor = KnownCount(importer, node, scope, 1);
    if (!tensor.ok()) return tensor.status();
    if (tensor->size() == 1) go = tensor->AtInt(0) != 0;
  }
  std::vector<Result> carried;
  for (int i = 2; i < node.input_size(); ++i) {
    auto value = Carried(node, scope, i);
    if (!value.ok()) return value.status();
    carried.push_back(*std::move(value));
  }
  std::vector<std::vector<Value>> collected(signature.outputs.size());
  for (int64_t trip = 0; go && trip < trips; ++trip) {
    if (trip == kMaxIterations) return Unsupported(node, "more than 1024 iterations");
    Scope inner = Inside(scope);
    inner.values[body->input(0).name()] = ConstantOf({DType::kI64, {}}, trip);
    inner.values[body->input(1).name()] = ConstantOf({DType::kBool, {}}, 1);
    for (size_t i = 0; i < carried.size(); ++i) {
      Bind(body->input(static_cast<int>(i) + 2).name(), carried[i], &inner);
    }
    auto results = importer.ImportSubgraph(*body, &inner);
    if (!results.ok()) return results;
    std::optional<Tensor> next = importer.KnownForLoop((*results)[0].value);
    if (!next || next->size() != 1) return Unsupported(node, "a condition that is no constant");
    go = next->AtInt(0) != 0;
    results->erase(results->begin());
    auto status = Collect(*std::move(results), carried.size(), &carried, &collected);
    if (!status.ok()) return status;
  }
  for (const std::vector<Value>& items : collected) {
    if (items.empty()) return Unsupported(node, "a scan output of no iterations");
    auto stacked = Stack(importer, items, 0);
    if (!stacked.ok()) return stacked.status();
    carried.emplace_back(*std::move(stacked));
  }
  return carried;
}

// Unrolls over the elements of the scanned inputs.
Results ImportScan(ModelImporter& importer, const onnx::NodeProto& node, const Scope& scope) {
  LEMMA_ASSIGN_OR_RETURN(const onnx::GraphProto* body, BodyOf(node));
  LEMMA_ASSIGN_OR_RETURN(const LoopSignature signature, LoopSignatureOf(node));
  if (IsLongLoop(importer, node, scope)) {
    return Unsupported(node, "more than 1024 iterations, or an unknown number of them");
  }
  const int states = signature.states;
  std::vector<Result> carried;
  std::vector<std::vector<Value>> elements;
  for (int i = 0; i < node.input_size(); ++i) {
    auto value = TensorInput(node, scope, i);
    if (!value.ok()) return value.status();
    if (i < states) {
      carried.emplace_back(*value);
      continue;
    }
    const LoopSignature::Elements& scanned = signature.scanned[static_cast<size_t>(i - states)];
    auto items = Unstack(importer, *value, scanned.axis);
    if (!items.ok()) return items.status();
    if (scanned.backwards) std::reverse(items->begin(), items->end());
    elements.push_back(*std::move(items));
    if (elements.back().size() != elements[0].size()) {
      return absl::InvalidArgumentError("the scanned inputs differ in length");
    }
  }
  std::vector<std::vector<Value>> collected(signature.outputs.size());
  for (size_t step = 0; step < elements[0].size(); ++step) {
    Scope inner = Inside(scope);
    for (int i = 0; i < node.input_size(); ++i) {
      Bind(body->input(i).name(), i < states ? carried[i] : Result(elements[i - states][step]),
           &inner);
    }
    auto results = importer.ImportSubgraph(*body, &inner);
    if (!results.ok()) return results;
    auto status = Collect(*std::move(results), states, &carried, &collected);
    if (!status.ok()) return status;
  }
  for (size_t i = 0; i < collected.size(); ++i) {
    if (collected[i].empty()) return Unsupported(node, "a scan of nothing");
    if (signature.outputs[i].backwards) std::reverse(collected[i].begin(), collected[i].end());
    auto stacked = Stack(importer, collected[i], signature.outputs[i].axis);
    if (!stacked.ok()) return stacked.status();
    carried.emplace_back(*std::move(stacked));
  }
  return carried;
}

}  // namespace

bool IsLongLoop(ModelImporter& importer, const onnx::NodeProto& node, const Scope& scope) {
  if (!IsLoopOrScan(node, scope.opset())) return false;
  const auto signature = LoopSignatureOf(node);
  if (!signature.ok()) return false;
  if (!signature->is_loop) {
    for (size_t i = 0; i < signature->scanned.size(); ++i) {
      const auto x = TensorInput(node, scope, signature->states + static_cast<int>(i));
      if (!x.ok()) return false;
      const auto axis = AxisIn(signature->scanned[i].axis, x->type().rank());
      if (!axis.ok()) return false;
      const int64_t length = x->shape()[static_cast<size_t>(*axis)];
      if (IsSymbolic(length) || length > kMaxIterations) return true;
    }
    return false;
  }
  for (int i = 0; i < signature->parameters(); ++i) {
    if (HasInput(node, i) && !KnownCount(importer, node, scope, i).ok()) return true;
  }
  if (!HasInput(node, 0)) return false;  // its condition decides
  const auto trips = KnownCount(importer, node, scope, 0);
  return trips->size() == 1 && trips->AtInt(0) > kMaxIterations;
}

StructuralImporter FindStructural(const onnx::NodeProto& node, const Scope& scope) {
  if (node.domain() == "ai.onnx.preview" && node.op_type() == "FlexAttention") {
    return ImportFlexAttention;
  }
  if (!NormalDomain(node.domain()).empty()) return nullptr;
  if (node.op_type() == "If") return ImportIf;
  if (node.op_type() == "Loop") return ImportLoop;
  if (IsLoopOrScan(node, scope.opset())) return ImportScan;
  return FindSequenceImporter(node, scope);
}

}  // namespace lemma
