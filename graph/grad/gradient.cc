#include "graph/grad/gradient.h"

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/builder.h"
#include "graph/grad/precision_role.h"
#include "graph/gradient_builder.h"

namespace lemma {
namespace {

class Differentiator {
 public:
  explicit Differentiator(absl::Span<const Value> parameters)
      : parameters_(parameters.begin(), parameters.end()) {}

  absl::Status Run(absl::Span<const Value> outputs, absl::Span<const Value> seeds) {
    for (const Value& output : outputs) Visit(output.node_ptr());
    Formula f(ApplyOp);
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (seeds[i] && Depends(outputs[i])) Accumulate(f, outputs[i], seeds[i]);
    }
    LEMMA_RETURN_IF_ERROR(f.status());
    for (auto node = order_.rbegin(); node != order_.rend(); ++node) {
      LEMMA_RETURN_IF_ERROR(Propagate(*node));
    }
    return absl::OkStatus();
  }

  // The gradient of `value`, of its type; empty if it is zero.
  Value Of(Formula& f, const Value& value) const { return f.Cast(SumOf(value), value.dtype()); }

 private:
  // Orders nodes after their operands, without recursion: graphs are thousands of nodes deep.
  void Visit(const NodePtr& root) {
    std::vector<std::pair<NodePtr, size_t>> stack = {{root, 0}};
    if (!seen_.insert(root.get()).second) return;
    while (!stack.empty()) {
      auto& [node, next] = stack.back();
      if (next < node->inputs().size()) {
        NodePtr input = node->inputs()[next++].node_ptr();
        if (seen_.insert(input.get()).second) stack.emplace_back(std::move(input), 0);
        continue;
      }
      for (const Value& input : node->inputs()) {
        if (Depends(input)) active_.insert(node.get());
      }
      order_.push_back(node);
      stack.pop_back();
    }
  }

  // Whether a parameter affects `value` in a differentiable way (not only through integers).
  bool Depends(const Value& value) const {
    return IsFloat(value.dtype()) &&
           (active_.count(&value.node()) > 0 || parameters_.count(value) > 0);
  }

  // Adds contributions of several users to a 16-bit value in f32.
  void Accumulate(Formula& f, const Value& value, const Value& gradient) {
    Value& sum = gradients_[value];
    const bool widens = sum && IsHalfFloat(value.dtype());
    sum = widens ? f.Add(f.Cast(sum, DType::kF32), f.Cast(gradient, DType::kF32))
                 : f.Add(sum, gradient);
  }

  // The sum of the contributions: of the value's type or, for a 16-bit value, perhaps of f32.
  Value SumOf(const Value& value) const {
    auto it = gradients_.find(value);
    return it == gradients_.end() ? Value() : it->second;
  }

  // A rounding to 16 bits passes a sum in f32 on as it is.
  bool PassedOn(const NodePtr& node, absl::Status* status) {
    if (!IsHalfFloat(node->type(0).dtype) || parameters_.count(Value(node, 0)) > 0) return false;
    const Value sum = SumOf(Value(node, 0));
    if (!sum || sum.dtype() == node->type(0).dtype || !IsConversion(*node)) return false;
    Formula f(ApplyOp);
    const Value& input = node->inputs()[0];
    Accumulate(f, input, f.Cast(sum, input.dtype()));
    *status = f.status();
    return true;
  }

  absl::Status Propagate(const NodePtr& node) {
    if (active_.count(node.get()) == 0) return absl::OkStatus();
    if (absl::Status status; PassedOn(node, &status)) return status;
    Formula f(ApplyOp);
    std::vector<Value> results;
    bool any = false;
    for (int i = 0; i < node->num_outputs(); ++i) {
      const Value output(node, i);
      results.push_back(parameters_.count(output) > 0 ? Value() : Of(f, output));
      any = any || results.back();
    }
    LEMMA_RETURN_IF_ERROR(f.status());
    if (!any) return absl::OkStatus();
    const OpDef& op = node->op();
    if (!op.gradient) {
      return absl::InvalidArgumentError(
          absl::StrCat("operator ", op.name, " of ", node->inputs()[0].type().ToString(),
                       " is not differentiable, and a parameter reaches the result through it"));
    }
    GradientBuilder form(node, std::move(results), ApplyOp);
    LEMMA_ASSIGN_OR_RETURN(const std::vector<Value> gradients, op.gradient(form));
    LEMMA_RETURN_IF_ERROR(form.status());
    for (size_t i = 0; i < gradients.size(); ++i) {
      const Value& input = node->inputs()[i];
      if (!gradients[i] || !Depends(input)) continue;
      if (gradients[i].type() != input.type()) {
        return absl::InternalError(absl::StrCat("the gradient of ", op.name, " is ",
                                                gradients[i].type().ToString(), " for an input ",
                                                input.type().ToString()));
      }
      Accumulate(form, input, gradients[i]);
    }
    return form.status();
  }

  const absl::flat_hash_set<Value> parameters_;
  absl::flat_hash_set<const Node*> seen_, active_;
  std::vector<NodePtr> order_;  // operands before users
  absl::flat_hash_map<Value, Value> gradients_;
};

// The input or weight of that name; empty if there is none.
Value Named(const Graph& graph, const std::string& name) {
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    if (graph.input_names()[i] == name) return graph.inputs()[i];
  }
  for (const NodePtr& node : graph.nodes()) {
    if (node->kind() == Node::Kind::kWeight && node->name() == name) return Value(node, 0);
  }
  return Value();
}

}  // namespace

absl::StatusOr<std::vector<Value>> Gradient(absl::Span<const Value> outputs,
                                            absl::Span<const Value> seeds,
                                            absl::Span<const Value> parameters) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (seeds[i] && seeds[i].type() != outputs[i].type()) {
      return absl::InvalidArgumentError(absl::StrCat("the gradient given for a ",
                                                     outputs[i].type().ToString(), " is a ",
                                                     seeds[i].type().ToString()));
    }
  }
  Differentiator differentiator(parameters);
  LEMMA_RETURN_IF_ERROR(differentiator.Run(outputs, seeds));
  std::vector<Value> gradients;
  Formula f(ApplyOp);
  for (const Value& parameter : parameters) gradients.push_back(differentiator.Of(f, parameter));
  LEMMA_RETURN_IF_ERROR(f.status());
  return gradients;
}

absl::StatusOr<Graph> GradientGraph(const Graph& graph, int output,
                                    absl::Span<const std::string> names) {
  GraphBuilder builder(absl::StrCat(graph.name(), "_gradient"));
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    builder.Input(graph.input_names()[i], graph.inputs()[i].type());
  }
  const Value& y = graph.outputs()[output];
  Formula f(ApplyOp);
  const Value seed = y.shape().empty()
                         ? f.Scalar(y.dtype(), 1)
                         : builder.Input("d_" + graph.output_names()[output], y.type());
  std::vector<Value> parameters;
  for (const std::string& name : names) {
    parameters.push_back(Named(graph, name));
    if (!parameters.back()) {
      return absl::InvalidArgumentError(
          absl::StrCat("graph ", graph.name(), " has no input or weight ", name));
    }
  }
  LEMMA_ASSIGN_OR_RETURN(const std::vector<Value> gradients, Gradient({y}, {seed}, parameters));
  for (size_t i = 0; i < names.size(); ++i) {
    builder.Output("d_" + names[i], f.OrZeros(gradients[i], parameters[i].type()));
  }
  LEMMA_RETURN_IF_ERROR(f.status());
  return std::move(builder).Build();
}

}  // namespace lemma
