#include "rewrite/rules/canonical_text.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace lemma {
namespace {

// Numbers variables, symbols and nodes in the order in which a walk from the outputs meets them.
class CanonicalWriter {
 public:
  explicit CanonicalWriter(const Substitution& rule)
      : rule_(rule), symbols_(rule.symbols.size(), -1), vars_(rule.vars.size(), -1) {}

  std::string Write() {
    absl::StrAppend(&text_, Name(rule_.contract), ";");
    for (const Pattern* pattern : {&rule_.source, &rule_.target}) {
      nodes_.assign(pattern->nodes.size(), -1);
      num_nodes_ = 0;
      for (const PatternValue& output : pattern->outputs) {
        Visit(*pattern, output);
        absl::StrAppend(&text_, "return ", TextOf(output), ";");
      }
    }
    std::vector<std::string> conditions;
    for (const Comparison& c : rule_.where) {
      std::string lhs = TextOf(c.lhs);
      conditions.push_back(absl::StrCat(lhs, Name(c.relation), TextOf(c.rhs), ";"));
    }
    if (rule_.bound) conditions.push_back(absl::StrCat("within ", TextOf(*rule_.bound), ";"));
    std::sort(conditions.begin(), conditions.end());
    for (const std::string& condition : conditions) text_ += condition;
    return std::move(text_);
  }

 private:
  static int NumberOf(int* number, int* next) {
    if (*number < 0) *number = (*next)++;
    return *number;
  }

  std::string TextOf(const Term& term) {
    switch (term.kind()) {
      case Term::Kind::kInt:
      case Term::Kind::kReal:
      case Term::Kind::kString:
        return term.ToString();
      case Term::Kind::kSymbol:
        return absl::StrCat("s", NumberOf(&symbols_[term.symbol()], &num_symbols_), ":",
                            Name(rule_.symbols[term.symbol()].kind));
      case Term::Kind::kList:
      case Term::Kind::kCall:
        break;
    }
    const bool is_call = term.kind() == Term::Kind::kCall;
    std::string text = is_call ? absl::StrCat(Info(term.fn()).name, "(") : "[";
    for (size_t i = 0; i < term.args().size(); ++i) {
      absl::StrAppend(&text, TextOf(term.args()[i]), !is_call && term.IsSplice(i) ? ".." : "", ",");
    }
    return text + (is_call ? ")" : "]");
  }

  std::string TextOf(const PatternValue& value) const {
    return value.is_var() ? absl::StrCat("v", vars_[value.index])
                          : absl::StrCat("n", nodes_[value.node], ".", value.index);
  }

  // The operators that compute the value, without names.
  std::string ShapeOf(const Pattern& pattern, const PatternValue& value) const {
    if (value.is_var()) return absl::StrCat("v", rule_.vars[value.index].role);
    const PatternNode& node = pattern.nodes[value.node];
    std::string text = absl::StrCat(node.op == nullptr ? "fill" : node.op->name, value.index, "(");
    std::vector<std::string> operands;
    for (const PatternValue& input : node.inputs) operands.push_back(ShapeOf(pattern, input));
    if (Commutes(node) && operands[1] < operands[0]) std::swap(operands[0], operands[1]);
    for (const std::string& operand : operands) absl::StrAppend(&text, operand, ",");
    return text + ")";
  }

  static bool Commutes(const PatternNode& node) {
    return node.op != nullptr && node.op->commutative && node.inputs.size() >= 2;
  }

  void Visit(const Pattern& pattern, const PatternValue& value) {
    if (value.is_var()) return VisitVar(value.index);
    if (nodes_[value.node] >= 0) return;
    const PatternNode& node = pattern.nodes[value.node];
    std::vector<PatternValue> operands = node.inputs;
    if (Commutes(node) && ShapeOf(pattern, operands[1]) < ShapeOf(pattern, operands[0])) {
      std::swap(operands[0], operands[1]);
    }
    for (const PatternValue& operand : operands) Visit(pattern, operand);
    const int number = NumberOf(&nodes_[value.node], &num_nodes_);
    absl::StrAppend(&text_, "n", number, "=");
    if (node.op == nullptr) {
      AddType("fill", node.dtype, node.dims);
      absl::StrAppend(&text_, TextOf(node.fill));
    } else {
      absl::StrAppend(&text_, node.op->name, "/", node.num_outputs(), "(");
    }
    for (const PatternValue& operand : operands) absl::StrAppend(&text_, TextOf(operand), ",");
    for (const auto& [name, term] : node.attrs) {
      absl::StrAppend(&text_, name, "=", TextOf(term), ",");
    }
    text_ += ";";
  }

  void VisitVar(int number) {
    if (vars_[number] >= 0) return;
    const PatternVar& var = rule_.vars[number];
    AddType(absl::StrCat("v", NumberOf(&vars_[number], &num_vars_), ":", var.role), var.dtype,
            var.dims);
    text_ += ";";
  }

  void AddType(absl::string_view what, const std::optional<DType>& dtype, const Term& dims) {
    absl::StrAppend(&text_, what, ":", dtype ? Name(*dtype) : "common", TextOf(dims));
  }

  const Substitution& rule_;
  std::vector<int> symbols_, vars_, nodes_;  // their numbers; -1: not met yet
  int num_symbols_ = 0, num_vars_ = 0, num_nodes_ = 0;
  std::string text_;
};

}  // namespace

std::string CanonicalText(const Substitution& rule) { return CanonicalWriter(rule).Write(); }

}  // namespace lemma
