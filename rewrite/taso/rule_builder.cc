#include "rewrite/taso/rule_builder.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "graph/op_table.h"
#include "rewrite/rules/term.h"

namespace lemma::taso {

std::vector<Parts> NoParts(const Idx& dims) {
  std::vector<Parts> parts;
  for (const IndexExpr& dim : dims) parts.push_back({dim, {}});
  return parts;
}

TypedValue RuleBuilder::AddVariable(std::string name, std::string batch, Idx dims) {
  std::vector<Parts> parts = NoParts(dims);
  variables_.push_back({std::move(name), std::move(batch), std::move(dims), std::move(parts)});
  return variables_.back();
}

TypedValue RuleBuilder::NewValue(std::string batch, Idx dims) {
  std::vector<Parts> parts = NoParts(dims);
  return {absl::StrCat("t", ++values_), std::move(batch), std::move(dims), std::move(parts)};
}

absl::StatusOr<std::vector<TypedValue>> RuleBuilder::Apply(absl::string_view op,
                                                           const std::vector<TypedValue>& inputs,
                                                           ExprAttrs attrs) {
  Node node;
  node.op = FindOp(op);
  node.attrs = attrs;
  std::vector<ExprType> types;
  std::string batch;
  for (const TypedValue& input : inputs) {
    node.inputs.push_back(input.name);
    types.push_back({input.dtype, input.dims});
    if (batch.empty()) batch = input.batch;
  }
  LEMMA_ASSIGN_OR_RETURN(attrs, CompleteExprAttrs(*node.op, std::move(attrs)));
  LEMMA_ASSIGN_OR_RETURN(OpMeaning meaning, Define(*node.op, std::move(types), attrs));
  for (const Guard& guard : meaning.requirements) LEMMA_RETURN_IF_ERROR(sizes_.Assume(guard));
  std::vector<TypedValue> outputs;
  for (TensorId id : meaning.definition.outputs) {
    auto [dtype, dims] = meaning.definition.TypeOf(id);
    for (IndexExpr& dim : dims) {
      LEMMA_ASSIGN_OR_RETURN(dim, sizes_.Normalized(dim));
    }
    outputs.push_back(NewValue(batch, std::move(dims)));
    outputs.back().dtype = dtype;
    node.outputs.push_back(outputs.back().name);
  }
  nodes_[static_cast<int>(side_)].push_back(std::move(node));
  return outputs;
}

absl::StatusOr<TypedValue> RuleBuilder::ApplyOne(absl::string_view op,
                                                 const std::vector<TypedValue>& inputs,
                                                 ExprAttrs attrs) {
  LEMMA_ASSIGN_OR_RETURN(std::vector<TypedValue> outputs, Apply(op, inputs, std::move(attrs)));
  return outputs[0];
}

TypedValue RuleBuilder::Constant(ScalarExpr fill, std::string batch, Idx dims) {
  TypedValue value = NewValue(std::move(batch), std::move(dims));
  Node node;
  node.fill = std::move(fill);
  node.batch = value.batch;
  node.dims = value.dims;
  node.outputs = {value.name};
  nodes_[static_cast<int>(side_)].push_back(std::move(node));
  return value;
}

absl::Status RuleBuilder::AddOutput(const TypedValue& source, const TypedValue& target) {
  if (source.rank() != target.rank() || source.batch != target.batch) {
    return absl::InvalidArgumentError(absl::StrCat(
        "an output of rank ", source.rank(), " would be replaced by one of rank ", target.rank()));
  }
  for (int d = 0; d < source.rank(); ++d) {
    LEMMA_RETURN_IF_ERROR(sizes_.Equate(source.dims[d], target.dims[d], true));
  }
  outputs_[0].push_back(source.name);
  outputs_[1].push_back(target.name);
  return absl::OkStatus();
}

std::string RuleBuilder::TextOf(const ExprAttr& attr) {
  if (auto constant = ToAttrValue(attr)) return ToString(*constant);
  if (auto* index = std::get_if<IndexExpr>(&attr)) return sizes_.Text(*index);
  if (auto* list = std::get_if<Idx>(&attr)) return TextOf("", *list);
  if (auto* real = std::get_if<ScalarExpr>(&attr); real->kind() == ScalarExpr::Kind::kParam) {
    return real->name();
  }
  return "?";
}

std::string RuleBuilder::TextOf(const std::string& batch, const Idx& dims) {
  std::vector<std::string> items;
  if (!batch.empty()) items.push_back(batch + "..");
  for (const IndexExpr& dim : dims) items.push_back(sizes_.Text(dim));
  return absl::StrCat("[", absl::StrJoin(items, ", "), "]");
}

std::string RuleBuilder::TextOf(const Node& node) {
  std::string text = absl::StrCat("  ", absl::StrJoin(node.outputs, ", "), " = ");
  if (node.op == nullptr) {
    return absl::StrCat(text, "constant ", TextOf(node.batch, node.dims), " fill ",
                        TextOf(ExprAttr(node.fill)), "\n");
  }
  absl::StrAppend(&text, node.op->name, "(", absl::StrJoin(node.inputs, ", "), ")");
  std::vector<std::string> attrs;
  for (const AttrSpec& spec : node.op->attrs) {
    auto it = node.attrs.find(spec.name);
    if (it != node.attrs.end()) {
      attrs.push_back(absl::StrCat(spec.name, " = ", TextOf(it->second)));
    }
  }
  if (!attrs.empty()) absl::StrAppend(&text, " {", absl::StrJoin(attrs, ", "), "}");
  return text + "\n";
}

std::string RuleBuilder::TextOfSide(Side side) {
  const int i = static_cast<int>(side);
  std::set<std::string> used(outputs_[i].begin(), outputs_[i].end());
  for (const Node& node : nodes_[i]) used.insert(node.inputs.begin(), node.inputs.end());
  std::string text = "{\n";
  for (Node& node : nodes_[i]) {
    // An unused output among several gets no name. An operator without any used output keeps its
    // names: the reader of rules then reports it.
    if (node.outputs.size() > 1) {
      for (std::string& name : node.outputs) {
        if (used.count(name) == 0) name = "_";
      }
    }
    text += TextOf(node);
  }
  return absl::StrCat(text, "  return ", absl::StrJoin(outputs_[i], ", "), "\n}");
}

absl::StatusOr<std::string> RuleBuilder::TextOfConditions() {
  std::vector<std::string> conditions;
  auto add = [&](std::string condition) {
    if (std::find(conditions.begin(), conditions.end(), condition) == conditions.end()) {
      conditions.push_back(std::move(condition));
    }
  };
  for (const Size& zero : sizes_.Unsolved()) {
    const auto [left, right] = sizes_.Sides(zero);
    add(absl::StrCat(sizes_.Text(left), " = ", sizes_.Text(right)));
  }
  for (const auto& [a, b] : at_most_) {
    auto x = sizes_.Value(a), y = sizes_.Value(b);
    if (!x || !y) continue;
    if (auto room = (*y - *x).AsConst()) {
      if (*room >= 0) continue;
      return absl::InvalidArgumentError(
          absl::StrCat(sizes_.Text(*x), " is more than ", sizes_.Text(*y)));
    }
    const auto [less, more] = sizes_.Sides(*y - *x);
    add(absl::StrCat(sizes_.Text(less), " <= ", sizes_.Text(more)));
  }
  return absl::StrJoin(conditions, ", ");
}

absl::StatusOr<std::string> RuleBuilder::Text(absl::string_view name, absl::string_view doc) {
  sizes_.Close();
  std::vector<std::string> variables;
  for (const TypedValue& v : variables_) {
    variables.push_back(absl::StrCat(v.name, ": ", TextOf(v.batch, v.dims)));
  }
  const std::string source = TextOfSide(Side::kSource), target = TextOfSide(Side::kTarget);
  LEMMA_ASSIGN_OR_RETURN(std::string conditions, TextOfConditions());
  return absl::StrCat("# ", doc, "\nrule ", name, "(", absl::StrJoin(variables, ", "),
                      ") reassociates", conditions.empty() ? "" : " where ", conditions, " ",
                      source, " => ", target, "\n");
}

}  // namespace lemma::taso
