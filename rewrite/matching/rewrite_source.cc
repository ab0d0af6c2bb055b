#include "rewrite/matching/rewrite_source.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/text/lexer.h"
#include "rewrite/matching/apply.h"
#include "rewrite/rules/rule_text.h"

namespace lemma {
namespace {

class RuleRewrite : public Rewrite {
 public:
  RuleRewrite(const Substitution& rule, const Match& match, const MatchIndex& index)
      : rule_(rule), match_(match), index_(index) {}

  const std::string& name() const override { return rule_.name; }
  FloatContract contract() const override { return rule_.contract; }
  const ProofRecord& proof() const override { return rule_.proof; }
  int anchor() const override { return match_.anchor; }
  absl::StatusOr<Graph> Apply() const override { return lemma::Apply(rule_, match_, index_); }

  std::string Describe() const override {
    std::vector<std::string> vars;
    for (const Value& v : match_.vars) {
      vars.push_back(
          NameInSteps(index_.graph().LabelOf(v), index_.PositionOf(v.node()), v.output()));
    }
    return lemma::Describe(rule_, vars, match_.symbols);
  }

 private:
  const Substitution& rule_;
  const Match& match_;
  const MatchIndex& index_;
};

bool HoldsFixed(const Match& match, const PreparedRule& rule) {
  if (rule.fixed == nullptr) return false;
  return std::any_of(match.nodes.begin(), match.nodes.end(),
                     [&](const NodePtr& node) { return rule.fixed->contains(node.get()); });
}

}  // namespace

std::string Describe(const Substitution& rule, const std::vector<std::string>& vars,
                     const SymbolValues& symbols) {
  std::string text = absl::StrCat(rule.name, "(");
  for (size_t i = 0; i < vars.size(); ++i) {
    absl::StrAppend(&text, i ? ", " : "", rule.vars[i].name, " = ", vars[i]);
  }
  const char* separator = "; ";
  for (size_t i = 0; i < symbols.size(); ++i) {
    if (!symbols[i]) continue;
    auto value = ToAttrValue(*symbols[i]);
    if (!value) continue;
    absl::StrAppend(&text, std::exchange(separator, ", "), rule.symbols[i].name, " = ",
                    ToString(*value));
  }
  return text + ")";
}

std::string NameInSteps(absl::string_view label, int position, int output) {
  return label.empty() ? absl::StrCat("%", position, ".", output) : text::QuoteName(label);
}

absl::StatusOr<std::unique_ptr<RuleSet>> RuleSet::Create(std::vector<Substitution> rules,
                                                         const RuleSetOptions& options) {
  std::unique_ptr<RuleSet> set(new RuleSet);
  set->rules_ = std::move(rules);
  for (size_t r = 0; r < set->rules_.size(); ++r) {
    LEMMA_ASSIGN_OR_RETURN(Matcher matcher, Matcher::Create(set->rules_[r]));
    auto prepared = std::make_unique<PreparedRule>(std::move(matcher));
    prepared->fixed = options.fixed;
    prepared->is_late = options.late.first <= r && r < options.late.second;
    if (options.records == RecordCheck::kWhenUsed) prepared->coverage.RequireCurrentRecord();
    set->by_op_[&prepared->matcher.anchor_op()].push_back(prepared.get());
    set->prepared_.push_back(std::move(prepared));
  }
  return set;
}

absl::StatusOr<std::unique_ptr<RuleSet>> RuleSet::Load(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::NotFoundError(absl::StrCat(path, ": cannot be read"));
  std::ostringstream text;
  text << file.rdbuf();
  LEMMA_ASSIGN_OR_RETURN(std::vector<Substitution> rules, ParseRules(text.str(), path));
  return Create(std::move(rules));
}

std::vector<const PreparedRule*> RuleSet::Rules() const {
  std::vector<const PreparedRule*> rules;
  for (const auto& prepared : prepared_) rules.push_back(prepared.get());
  return rules;
}

void RuleSet::ForEach(const MatchIndex& index,
                      absl::FunctionRef<bool(const Rewrite&)> visit) const {
  for (int position = 0; position < index.num_nodes(); ++position) {
    const NodePtr& node = index.node(position);
    if (!node->is_op()) continue;
    auto it = by_op_.find(&node->op());
    if (it == by_op_.end()) continue;
    for (const PreparedRule* prepared : it->second) {
      const Matcher& matcher = prepared->matcher;
      bool go_on = matcher.ForEach(index, position, [&](const Match& match) {
        return HoldsFixed(match, *prepared) ||
               !prepared->coverage.Covers(match.symbols, match.dtype) ||
               visit(RuleRewrite(matcher.rule(), match, index));
      });
      if (!go_on) return;
    }
  }
}

}  // namespace lemma
