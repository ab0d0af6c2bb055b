// Prints rules.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "graph/text/lexer.h"
#include "rewrite/rules/rule_text.h"

namespace lemma {
namespace {

using text::QuoteName;

// "[m, k]" without the space, as types are printed.
std::string PrintDims(const Term& dims) {
  std::string out = "[";
  for (size_t i = 0; i < dims.args().size(); ++i) {
    absl::StrAppend(&out, i ? "," : "", dims.args()[i].ToString(), dims.IsSplice(i) ? ".." : "");
  }
  return out + "]";
}

std::string NameOf(const Substitution& rule, const Pattern& pattern, const PatternValue& value) {
  if (value.is_var()) return QuoteName(rule.vars[value.index].name);
  const std::string& name = pattern.nodes[value.node].output_names[value.index];
  return name.empty() ? "_" : name[0] == '%' ? name : QuoteName(name);
}

std::string PrintAttrs(const PatternNode& node) {
  std::string out;
  for (const auto& [name, term] : node.attrs) {
    const AttrSpec* spec = node.op->FindAttr(name);
    std::string text = term.ToString();
    if (spec->default_value && Term::Of(*spec->default_value).ToString() == text) continue;
    absl::StrAppend(&out, out.empty() ? " {" : ", ", QuoteName(name), " = ", text);
  }
  return out.empty() ? out : out + "}";
}

std::string PrintPattern(const Substitution& rule, const Pattern& pattern) {
  std::string out = "{\n";
  for (size_t n = 0; n < pattern.nodes.size(); ++n) {
    const PatternNode& node = pattern.nodes[n];
    out += "  ";
    for (int i = 0; i < node.num_outputs(); ++i) {
      absl::StrAppend(&out, i ? ", " : "", NameOf(rule, pattern, {static_cast<int>(n), i}));
    }
    if (node.op == nullptr) {
      absl::StrAppend(&out, " = constant ", node.dtype ? std::string(Name(*node.dtype)) : "",
                      PrintDims(node.dims), " fill ", node.fill.ToString(), "\n");
      continue;
    }
    absl::StrAppend(&out, " = ", QuoteName(node.op->name), "(");
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      absl::StrAppend(&out, i ? ", " : "", NameOf(rule, pattern, node.inputs[i]));
    }
    absl::StrAppend(&out, ")", PrintAttrs(node), "\n");
  }
  auto name = [&](std::string* s, const PatternValue& v) { s->append(NameOf(rule, pattern, v)); };
  absl::StrAppend(&out, "  return ", absl::StrJoin(pattern.outputs, ", ", name), "\n}");
  return out;
}

}  // namespace

std::string PrintRule(const Substitution& rule) {
  std::string out;
  if (!rule.doc.empty()) {
    for (absl::string_view line : absl::StrSplit(rule.doc, '\n')) {
      absl::StrAppend(&out, line.empty() ? "#" : "# ", line, "\n");
    }
  }
  absl::StrAppend(&out, "rule ", QuoteName(rule.name), "(");
  for (size_t i = 0; i < rule.vars.size(); ++i) {
    const PatternVar& var = rule.vars[i];
    absl::StrAppend(&out, i ? ", " : "", QuoteName(var.name), ": ",
                    var.role == VarRole::kWeight     ? "weight "
                    : var.role == VarRole::kConstant ? "constant "
                                                     : "",
                    var.dtype ? std::string(Name(*var.dtype)) : "", PrintDims(var.dims));
  }
  absl::StrAppend(&out, ") ", Name(rule.contract));
  if (rule.bound) absl::StrAppend(&out, "(", rule.bound->ToString(), ")");
  if (!rule.where.empty()) absl::StrAppend(&out, " where ", GuardText(rule.where));
  return absl::StrCat(out, " ", PrintPattern(rule, rule.source), " => ",
                      PrintPattern(rule, rule.target), "\n", PrintRecord(rule.proof),
                      rule.proof.verdict == ProofRecord::Verdict::kNone ? "" : "\n");
}

std::string GuardText(const std::vector<Comparison>& guard) {
  return absl::StrJoin(guard, ", ", [](std::string* out, const Comparison& c) {
    absl::StrAppend(out, c.lhs.ToString(), " ", Name(c.relation), " ", c.rhs.ToString());
  });
}

std::string Operators(const Pattern& pattern) {
  std::vector<std::string> names;
  for (const PatternNode& node : pattern.nodes) {
    if (node.op != nullptr) names.push_back(node.op->name);
  }
  return names.empty() ? "nothing" : absl::StrJoin(names, " + ");
}

int CountOperators(const Pattern& pattern) {
  return static_cast<int>(
      std::count_if(pattern.nodes.begin(), pattern.nodes.end(),
                    [](const PatternNode& node) { return node.op != nullptr; }));
}

}  // namespace lemma
