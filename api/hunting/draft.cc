#include "api/hunting/draft.h"

#include <cstring>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "graph/builder.h"
#include "runtime/reference/all_values.h"

namespace lemma::hunt {
namespace {

// By step and by leaf: whether an output depends on it.
struct Used {
  std::vector<bool> steps, leaves;
};

Used UsedIn(const Draft& draft) {
  Used used = {std::vector<bool>(draft.steps.size()), std::vector<bool>(draft.leaves.size())};
  const auto mark = [&](const Draft::Ref& ref) {
    (ref.step < 0 ? used.leaves[ref.number] : used.steps[ref.step]) = true;
  };
  for (const Draft::Ref& output : draft.outputs) mark(output);
  for (size_t s = draft.steps.size(); s-- > 0;) {
    if (!used.steps[s]) continue;
    for (const Draft::Ref& operand : draft.steps[s].operands) mark(operand);
  }
  return used;
}

}  // namespace

std::optional<Draft> Draft::FromSubject(const Subject& subject) {
  const auto values = AllValues(subject.graph, subject.inputs);
  if (!values.ok()) return std::nullopt;
  Draft draft;
  draft.opset = subject.opset;
  absl::flat_hash_map<Value, Ref> refs;
  for (const NodePtr& node : subject.graph.nodes()) {
    if (!node->is_op()) {
      const Value leaf(node, 0);
      refs[leaf] = draft.AddLeaf(node->kind(), values->at(leaf));
      continue;
    }
    Step step;
    step.op = &node->op();
    step.attrs = node->attrs();
    for (const Value& v : node->inputs()) step.operands.push_back(refs.at(v));
    for (int k = 0; k < node->num_outputs(); ++k) {
      const Value result(node, k);
      step.results.push_back(values->at(result));
      refs[result] = {static_cast<int>(draft.steps.size()), k};
    }
    draft.steps.push_back(std::move(step));
  }
  for (const Value& v : subject.graph.outputs()) draft.outputs.push_back(refs.at(v));
  return draft;
}

std::optional<Subject> Draft::Build() const {
  const Used used = UsedIn(*this);
  GraphBuilder builder("model");
  Subject subject;
  subject.opset = opset;
  std::vector<Value> built_leaves(leaves.size());
  std::vector<std::vector<Value>> built_steps(steps.size());
  int names = 0;
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (!used.leaves[i]) continue;
    const Leaf& leaf = leaves[i];
    if (leaf.kind == Node::Kind::kInput) {
      built_leaves[i] = builder.Input(absl::StrCat("x", names++), leaf.value.type());
      subject.inputs.push_back(leaf.value);
    } else if (leaf.kind == Node::Kind::kWeight) {
      built_leaves[i] = builder.Weight(absl::StrCat("w", names++), leaf.value);
    } else {
      built_leaves[i] = builder.Constant(leaf.value);
    }
  }
  const auto value_of = [&](const Ref& ref) {
    return ref.step < 0 ? built_leaves[ref.number] : built_steps[ref.step][ref.number];
  };
  for (size_t s = 0; s < steps.size(); ++s) {
    if (!used.steps[s]) continue;
    std::vector<Value> operands;
    for (const Ref& operand : steps[s].operands) operands.push_back(value_of(operand));
    auto results = builder.Ops(steps[s].op->name, std::move(operands), steps[s].attrs);
    if (!results.ok()) return std::nullopt;
    built_steps[s] = *std::move(results);
  }
  for (size_t o = 0; o < outputs.size(); ++o) {
    if (outputs[o].step >= 0 &&
        outputs[o].number >= static_cast<int>(built_steps[outputs[o].step].size())) {
      return std::nullopt;
    }
    builder.Output(absl::StrCat("y", o), value_of(outputs[o]));
  }
  auto graph = std::move(builder).Build();
  if (!graph.ok()) return std::nullopt;
  subject.graph = *std::move(graph);
  return subject;
}

void Draft::Replace(const Ref& from, const Ref& to) {
  const auto replace = [&](Ref* ref) {
    if (*ref == from) *ref = to;
  };
  for (Step& step : steps) {
    for (Ref& operand : step.operands) replace(&operand);
  }
  for (Ref& output : outputs) replace(&output);
}

Draft::Ref Draft::AddLeaf(Node::Kind kind, Tensor value) {
  leaves.push_back({kind, std::move(value)});
  return {-1, static_cast<int>(leaves.size()) - 1};
}

Tensor Cropped(const Tensor& tensor, const Shape& shape) {
  const TensorType type{tensor.dtype(), shape};
  Tensor result = *Tensor::Allocate(type);
  const auto size = static_cast<size_t>(SizeOf(tensor.dtype()));
  const std::vector<int64_t> strides = RowMajorStrides(tensor.shape());
  const auto* from = static_cast<const char*>(tensor.raw());
  auto* to = static_cast<char*>(result.mutable_raw());
  for (int64_t i = 0; i < result.size(); ++i) {
    int64_t rest = i, position = 0;
    for (size_t d = shape.size(); d-- > 0; rest /= shape[d]) {
      position += rest % shape[d] * strides[d];
    }
    std::memcpy(to + static_cast<size_t>(i) * size, from + static_cast<size_t>(position) * size,
                size);
  }
  return result;
}

}  // namespace lemma::hunt
