// Lists of tensors. Their lengths are known at import, so only their elements remain in the graph.
// An optional value is the value itself, if there is one.
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/onnx/structural.h"

namespace lemma {
namespace {

using namespace structural;  // NOLINT: helpers shared with structural.cc
using Results = absl::StatusOr<std::vector<Result>>;

Results One(Result result) { return std::vector<Result>{std::move(result)}; }

absl::StatusOr<std::vector<Value>> SequenceInput(const onnx::NodeProto& node, const Scope& scope,
                                                 int i) {
  const auto* sequence = HasInput(node, i) ? scope.FindSequence(node.input(i)) : nullptr;
  if (sequence == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("input ", i, " must be a sequence"));
  }
  return *sequence;
}

// Input `i` as a position in [0, count); a negative one counts from the end; `fallback` if absent.
absl::StatusOr<int64_t> Position(ModelImporter& importer, const onnx::NodeProto& node,
                                 const Scope& scope, int i, int64_t count, int64_t fallback) {
  if (!HasInput(node, i)) return fallback;
  auto tensor = KnownInput(importer, node, scope, i);
  if (!tensor.ok()) return tensor.status();
  int64_t position = tensor->size() == 1 ? tensor->AtInt(0) : count;
  if (position < 0) position += count;
  if (position < 0 || position >= count) {
    return absl::InvalidArgumentError(absl::StrCat("position out of a sequence of ", count));
  }
  return position;
}

Results ImportEmpty(ModelImporter&, const onnx::NodeProto&, const Scope&) {
  return One(Result(std::vector<Value>()));
}

Results ImportConstruct(ModelImporter&, const onnx::NodeProto& node, const Scope& scope) {
  std::vector<Value> items;
  for (int i = 0; i < node.input_size(); ++i) {
    auto item = TensorInput(node, scope, i);
    if (!item.ok()) return item.status();
    items.push_back(*std::move(item));
  }
  return One(std::move(items));
}

Results ImportInsert(ModelImporter& importer, const onnx::NodeProto& node, const Scope& scope) {
  auto items = SequenceInput(node, scope, 0);
  if (!items.ok()) return items.status();
  auto item = TensorInput(node, scope, 1);
  if (!item.ok()) return item.status();
  const int64_t count = static_cast<int64_t>(items->size());
  int64_t at = count;
  if (HasInput(node, 2)) {
    auto tensor = KnownInput(importer, node, scope, 2);
    if (!tensor.ok()) return tensor.status();
    at = tensor->size() == 1 ? tensor->AtInt(0) : count;
    if (at < 0) at += count;
  }
  if (at < 0 || at > count) return absl::InvalidArgumentError("the position is out of range");
  items->insert(items->begin() + at, *std::move(item));
  return One(*std::move(items));
}

Results ImportErase(ModelImporter& importer, const onnx::NodeProto& node, const Scope& scope) {
  auto items = SequenceInput(node, scope, 0);
  if (!items.ok()) return items.status();
  const int64_t count = static_cast<int64_t>(items->size());
  auto at = Position(importer, node, scope, 1, count, count - 1);
  if (!at.ok()) return at.status();
  if (*at < 0) return absl::InvalidArgumentError("the sequence is empty");
  items->erase(items->begin() + *at);
  return One(*std::move(items));
}

Results ImportAt(ModelImporter& importer, const onnx::NodeProto& node, const Scope& scope) {
  auto items = SequenceInput(node, scope, 0);
  if (!items.ok()) return items.status();
  const int64_t count = static_cast<int64_t>(items->size());
  auto at = Position(importer, node, scope, 1, count, -1);
  if (!at.ok()) return at.status();
  if (*at < 0) return absl::InvalidArgumentError("input 1 is missing");
  return One((*items)[*at]);
}

Results ImportLength(ModelImporter&, const onnx::NodeProto& node, const Scope& scope) {
  auto items = SequenceInput(node, scope, 0);
  if (!items.ok()) return items.status();
  auto length = Tensor::FromInts({DType::kI64, {}}, {static_cast<int64_t>(items->size())});
  if (!length.ok()) return length.status();
  return One(Value(Node::Constant(*std::move(length)), 0));
}

Results ImportConcat(ModelImporter& importer, const onnx::NodeProto& node, const Scope& scope) {
  auto items = SequenceInput(node, scope, 0);
  if (!items.ok()) return items.status();
  if (items->empty()) return absl::InvalidArgumentError("the sequence is empty");
  const int64_t axis = IntAttribute(node, "axis", 0);
  if (IntAttribute(node, "new_axis", 0) != 0) {
    auto stacked = Stack(importer, *items, axis);
    if (!stacked.ok()) return stacked.status();
    return One(*std::move(stacked));
  }
  auto joined = importer.Apply("concat", *std::move(items), {{"axis", axis}});
  if (!joined.ok()) return joined.status();
  return One((*joined)[0]);
}

Results ImportSplit(ModelImporter& importer, const onnx::NodeProto& node, const Scope& scope) {
  auto x = TensorInput(node, scope, 0);
  if (!x.ok()) return x.status();
  const int64_t rank = x->type().rank();
  int64_t axis = IntAttribute(node, "axis", 0);
  if (axis < -rank || axis >= rank) return absl::InvalidArgumentError("axis is out of range");
  if (axis < 0) axis += rank;
  const int64_t size = x->shape()[axis];
  Shape sizes;
  if (!HasInput(node, 1)) {
    if (IntAttribute(node, "keepdims", 1) == 0) {
      auto items = Unstack(importer, *x, axis);
      if (!items.ok()) return items.status();
      return One(*std::move(items));
    }
    sizes.assign(size, 1);
  } else {
    auto split = KnownInput(importer, node, scope, 1);
    if (!split.ok()) return split.status();
    sizes = split->ToInts();
    if (split->type().rank() == 0) {  // parts of this size; the last one has the remainder
      const int64_t part = split->AtInt(0);
      if (part < 1) return absl::InvalidArgumentError("the parts are empty");
      sizes.clear();
      for (int64_t rest = size; rest > 0; rest -= part) sizes.push_back(std::min(part, rest));
    }
  }
  auto parts = importer.Apply("split", {*x}, {{"axis", axis}, {"sizes", sizes}});
  if (!parts.ok()) return parts.status();
  return One(*std::move(parts));
}

Results ImportIdentity(ModelImporter&, const onnx::NodeProto& node, const Scope& scope) {
  auto items = SequenceInput(node, scope, 0);
  if (!items.ok()) return items.status();
  return One(*std::move(items));
}

// What an optional holds: a list or a tensor.
Results ImportOptional(ModelImporter&, const onnx::NodeProto& node, const Scope& scope) {
  if (!HasInput(node, 0)) return Unsupported(node, "an optional that holds nothing");
  if (const auto* items = scope.FindSequence(node.input(0))) return One(Result(*items));
  auto value = TensorInput(node, scope, 0);
  if (!value.ok()) return value.status();
  return One(*std::move(value));
}

Results ImportHasElement(ModelImporter&, const onnx::NodeProto& node, const Scope& scope) {
  const Value* value = HasInput(node, 0) ? scope.Find(node.input(0)) : nullptr;
  const bool has = HasInput(node, 0) &&
                   ((value != nullptr && *value) || scope.FindSequence(node.input(0)) != nullptr);
  auto tensor = Tensor::FromInts({DType::kBool, {}}, {has ? 1 : 0});
  if (!tensor.ok()) return tensor.status();
  return One(Value(Node::Constant(*std::move(tensor)), 0));
}

// Applies the body to each element of the first input, and of every other input that is a sequence.
Results ImportMap(ModelImporter& importer, const onnx::NodeProto& node, const Scope& scope) {
  const onnx::GraphProto* body = FindGraph(node, "body");
  auto first = SequenceInput(node, scope, 0);
  if (!first.ok()) return first.status();
  if (body == nullptr || body->input_size() != node.input_size()) {
    return absl::InvalidArgumentError("the body's inputs do not fit");
  }
  std::vector<std::vector<Value>> outputs(body->output_size());
  for (size_t step = 0; step < first->size(); ++step) {
    Scope inner = Inside(scope);
    for (int i = 0; i < node.input_size(); ++i) {
      const auto* items = scope.FindSequence(node.input(i));
      if (items != nullptr && step >= items->size()) {
        return absl::InvalidArgumentError("the sequences differ in length");
      }
      auto value = items != nullptr ? (*items)[step] : TensorInput(node, scope, i);
      if (!value.ok()) return value.status();
      inner.values[body->input(i).name()] = *std::move(value);
    }
    auto results = importer.ImportSubgraph(*body, &inner);
    if (!results.ok()) return results;
    for (size_t i = 0; i < outputs.size(); ++i) outputs[i].push_back((*results)[i].value);
  }
  return std::vector<Result>(outputs.begin(), outputs.end());
}

}  // namespace

StructuralImporter FindSequenceImporter(const onnx::NodeProto& node, const Scope& scope) {
  static const auto* table = new std::map<std::string, StructuralImporter>{
      {"SequenceEmpty", ImportEmpty},
      {"SequenceConstruct", ImportConstruct},
      {"SequenceInsert", ImportInsert},
      {"SequenceErase", ImportErase},
      {"SequenceAt", ImportAt},
      {"SequenceLength", ImportLength},
      {"ConcatFromSequence", ImportConcat},
      {"SplitToSequence", ImportSplit},
      {"SequenceMap", ImportMap},
      {"Optional", ImportOptional},
      {"OptionalGetElement", ImportOptional},
      {"OptionalHasElement", ImportHasElement},
  };
  if (node.op_type() == "Identity" && HasInput(node, 0) && scope.FindSequence(node.input(0))) {
    return ImportIdentity;
  }
  auto it = table->find(node.op_type());
  return it == table->end() ? nullptr : it->second;
}

}  // namespace lemma
