#include "rewrite/matching/instantiate.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/builder.h"

namespace lemma {
namespace {

constexpr int64_t kLargestConstant = int64_t{1} << 28;  // bytes

absl::Status NoValue(const Term& term) {
  return absl::InvalidArgumentError(absl::StrCat(term.ToString(), " has no value here"));
}

absl::StatusOr<AttrValue> ValueOf(const Term& term, const SymbolValues& symbols) {
  auto value = Evaluate(term, symbols);
  if (!value) return NoValue(term);
  auto constant = ToAttrValue(*value);
  if (!constant) return NoValue(term);
  return *std::move(constant);
}

absl::StatusOr<Shape> ShapeOf(const Term& dims, const SymbolValues& symbols) {
  LEMMA_ASSIGN_OR_RETURN(AttrValue value, ValueOf(dims, symbols));
  auto* shape = std::get_if<Shape>(&value);
  if (shape == nullptr) return NoValue(dims);
  for (int64_t dim : *shape) {
    if (dim < 0) return absl::InvalidArgumentError("a size is negative");
  }
  return std::move(*shape);
}

absl::StatusOr<Value> BuildConstant(const PatternNode& node, const SymbolValues& symbols,
                                    DType common) {
  TensorType type{node.dtype.value_or(common), {}};
  LEMMA_ASSIGN_OR_RETURN(type.shape, ShapeOf(node.dims, symbols));
  if (type.num_bytes() > kLargestConstant) {
    return absl::InvalidArgumentError(absl::StrCat("the constant ", type.ToString(), " is huge"));
  }
  LEMMA_ASSIGN_OR_RETURN(AttrValue fill, ValueOf(node.fill, symbols));
  double value = 0;
  if (auto* integer = std::get_if<int64_t>(&fill)) {
    value = static_cast<double>(*integer);
  } else if (auto* real = std::get_if<double>(&fill)) {
    value = *real;
  } else {
    return NoValue(node.fill);
  }
  LEMMA_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Filled(type, value));
  return Value(Node::Constant(std::move(tensor)), 0);
}

}  // namespace

absl::StatusOr<TensorType> TypeOf(const PatternVar& var, const Assignment& assignment) {
  TensorType type{var.dtype.value_or(assignment.dtype), {}};
  LEMMA_ASSIGN_OR_RETURN(type.shape, ShapeOf(var.dims, assignment.symbols));
  return type;
}

absl::StatusOr<std::vector<Value>> BuildPattern(const Substitution& rule, const Pattern& pattern,
                                                absl::Span<const Value> vars,
                                                const SymbolValues& symbols, DType dtype,
                                                std::vector<NodePtr>* nodes) {
  std::vector<std::vector<Value>> built;
  auto value_of = [&](const PatternValue& v) {
    return v.is_var() ? vars[v.index] : built[v.node][v.index];
  };
  for (const PatternNode& node : pattern.nodes) {
    if (node.op == nullptr) {
      LEMMA_ASSIGN_OR_RETURN(Value constant, BuildConstant(node, symbols, dtype));
      built.push_back({std::move(constant)});
      continue;
    }
    std::vector<Value> inputs;
    for (const PatternValue& input : node.inputs) inputs.push_back(value_of(input));
    Attrs attrs;
    for (const auto& [name, term] : node.attrs) {
      LEMMA_ASSIGN_OR_RETURN(attrs[name], ValueOf(term, symbols));
    }
    LEMMA_ASSIGN_OR_RETURN(std::vector<Value> outputs,
                           ApplyOp(node.op->name, std::move(inputs), std::move(attrs)));
    if (static_cast<int>(outputs.size()) != node.num_outputs()) {
      return absl::InvalidArgumentError(absl::StrCat(rule.name, ": ", node.op->name, " has ",
                                                     outputs.size(), " outputs, the rule names ",
                                                     node.num_outputs()));
    }
    built.push_back(std::move(outputs));
  }
  std::vector<Value> outputs;
  for (const PatternValue& output : pattern.outputs) outputs.push_back(value_of(output));
  if (nodes != nullptr) {
    for (const std::vector<Value>& values : built) nodes->push_back(values[0].node_ptr());
  }
  return outputs;
}

absl::StatusOr<Graph> Instantiate(const Substitution& rule, const Pattern& pattern,
                                  const Assignment& assignment, VarsAs vars_as) {
  GraphBuilder builder(rule.name);
  std::vector<Value> vars;
  for (const PatternVar& var : rule.vars) {
    LEMMA_ASSIGN_OR_RETURN(TensorType type, TypeOf(var, assignment));
    bool is_input = vars_as == VarsAs::kInputs || var.role == VarRole::kAny;
    vars.push_back(is_input ? builder.Input(var.name, std::move(type))
                            : builder.Weight(var.name, std::move(type)));
  }
  LEMMA_ASSIGN_OR_RETURN(std::vector<Value> outputs,
                         BuildPattern(rule, pattern, vars, assignment.symbols, assignment.dtype));
  for (size_t i = 0; i < outputs.size(); ++i) builder.Output(absl::StrCat("y", i), outputs[i]);
  return std::move(builder).Build();
}

}  // namespace lemma
