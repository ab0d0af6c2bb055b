#include "pet/rule.h"

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "rewrite/matching/match.h"
#include "rewrite/rules/proof_check.h"

namespace lemma::pet {
namespace {

class RuleMaker {
 public:
  absl::StatusOr<Substitution> Run(std::string name, const Graph& source, const Graph& target) {
    rule_.name = std::move(name);
    rule_.contract = FloatContract::kReassociates;
    for (const Value& v : source.inputs()) AddVariable(v, VarRole::kAny);
    for (const NodePtr& node : source.nodes()) {
      if (node->kind() == Node::Kind::kWeight) AddVariable(Value(node, 0), VarRole::kWeight);
    }
    LEMMA_ASSIGN_OR_RETURN(rule_.source, PatternOf(source));
    LEMMA_ASSIGN_OR_RETURN(rule_.target, PatternOf(target));
    return std::move(rule_);
  }

 private:
  static Term ListOf(const Shape& shape) { return Term::Of(AttrValue(shape)); }

  void AddVariable(const Value& v, VarRole role) {
    vars_[v] = {-1, static_cast<int>(rule_.vars.size())};
    PatternVar var;
    var.name = absl::StrCat("x", rule_.vars.size());
    var.role = role;
    var.dtype = v.dtype();
    var.dims = ListOf(v.shape());
    rule_.vars.push_back(std::move(var));
  }

  absl::StatusOr<Pattern> PatternOf(const Graph& graph) {
    Pattern pattern;
    absl::flat_hash_map<Value, PatternValue> values = vars_;
    for (const NodePtr& node : graph.nodes()) {
      if (values.contains(Value(node, 0))) continue;
      PatternNode made;
      if (node->kind() == Node::Kind::kConstant && IsUniform(node->payload())) {
        made.dtype = node->type(0).dtype;
        made.dims = ListOf(node->type(0).shape);
        made.fill = Term::Real(node->payload().AtDouble(0));
      } else if (!node->is_op()) {
        return absl::InvalidArgumentError("a constant of several values");
      } else {
        made.op = &node->op();
        for (const Value& v : node->inputs()) made.inputs.push_back(values.at(v));
        for (const AttrSpec& spec : node->op().attrs) {
          made.attrs.emplace_back(spec.name, Term::Of(node->attrs().at(spec.name)));
        }
      }
      for (int i = 0; i < node->num_outputs(); ++i) {
        values[Value(node, i)] = {static_cast<int>(pattern.nodes.size()), i};
        made.output_names.push_back(
            absl::StrCat("t", pattern.nodes.size(), i ? "_" : "", i ? absl::StrCat(i) : ""));
      }
      pattern.nodes.push_back(std::move(made));
    }
    for (const Value& v : graph.outputs()) pattern.outputs.push_back(values.at(v));
    return pattern;
  }

  Substitution rule_;
  absl::flat_hash_map<Value, PatternValue> vars_;
};

}  // namespace

absl::StatusOr<Substitution> GroundRule(std::string name, const Graph& source,
                                        const Graph& target) {
  return RuleMaker().Run(std::move(name), source, target);
}

absl::StatusOr<Substitution> ProvedGroundRule(std::string name, const Graph& source,
                                              const Graph& target, std::string detail) {
  LEMMA_ASSIGN_OR_RETURN(Substitution rule, GroundRule(std::move(name), source, target));
  rule.proof.verdict = ProofRecord::Verdict::kProved;
  rule.proof.contract = rule.contract;
  rule.proof.id = CurrentProofId(rule);
  rule.proof.detail = std::move(detail);
  if (rule.proof.id.empty()) return absl::InvalidArgumentError("the rule cannot be stated");
  return rule;
}

}  // namespace lemma::pet
