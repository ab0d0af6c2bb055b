#include "api/rules/export.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "api/models/option_error.h"
#include "api/rules/rules_file.h"
#include "rewrite/rules/proof_check.h"
#include "rewrite/rules/rule_text.h"

namespace lemma::api {
namespace {

std::string Quoted(const std::string& text) {
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"\"", "\\\""}}), "\"");
}

using Rules = std::vector<const Substitution*>;

std::string ToText(const Rules& rules) {
  std::string text;
  for (const Substitution* rule : rules) {
    absl::StrAppend(&text, text.empty() ? "" : "\n", PrintRule(*rule));
  }
  return text;
}

// The number of a variable, or of a node and its output.
Json ValueJson(const Substitution& rule, const PatternValue& value) {
  Json json = Json::Object();
  if (value.is_var()) return std::move(json.Set("variable", rule.vars[value.index].name));
  return std::move(json.Set("node", value.node).Set("output", value.index));
}

Json PatternJson(const Substitution& rule, const Pattern& pattern) {
  Json nodes = Json::Array(), outputs = Json::Array();
  for (const PatternNode& node : pattern.nodes) {
    Json json = Json::Object();
    if (node.op == nullptr) {
      json.Set("constant", node.dims.ToString()).Set("fill", node.fill.ToString());
      nodes.Add(std::move(json));
      continue;
    }
    Json inputs = Json::Array(), attributes = Json::Object();
    for (const PatternValue& input : node.inputs) inputs.Add(ValueJson(rule, input));
    for (const auto& [name, term] : node.attrs) attributes.Set(name, term.ToString());
    json.Set("operator", node.op->name).Set("inputs", std::move(inputs));
    json.Set("attributes", std::move(attributes)).Set("outputs", node.num_outputs());
    nodes.Add(std::move(json));
  }
  for (const PatternValue& output : pattern.outputs) outputs.Add(ValueJson(rule, output));
  Json json = Json::Object();
  json.Set("nodes", std::move(nodes)).Set("outputs", std::move(outputs));
  return json;
}

std::string ToJson(const std::string& file, const Rules& rules) {
  Json list = Json::Array();
  for (const Substitution* rule : rules) {
    Json variables = Json::Array();
    for (const PatternVar& var : rule->vars) {
      Json json = Json::Object();
      json.Set("name", var.name).Set("dims", var.dims.ToString());
      variables.Add(std::move(json));
    }
    Json json = RuleJson(*rule, ProofProblem(*rule));
    json.Set("variables", std::move(variables));
    json.Set("source_pattern", PatternJson(*rule, rule->source));
    json.Set("target_pattern", PatternJson(*rule, rule->target));
    list.Add(std::move(json));
  }
  Json all = Json::Object();
  all.Set("file", file).Set("rules", std::move(list));
  return all.ToString() + "\n";
}

// One side as a cluster. The names of its nodes begin with `id`.
std::string SideToDot(const Substitution& rule, const Pattern& pattern, const std::string& id,
                      const char* label) {
  std::string text =
      absl::StrCat("    subgraph \"cluster_", id, "\" {\n      label=", label, ";\n");
  auto node = [&](const std::string& name, const std::string& shown, const char* style) {
    absl::StrAppend(&text, "      ", id, name, " [label=", Quoted(shown), style, "];\n");
  };
  auto name_of = [](const PatternValue& value) {
    return value.is_var() ? absl::StrCat("v", value.index) : absl::StrCat("n", value.node);
  };
  std::vector<bool> read(rule.vars.size());
  for (const PatternNode& n : pattern.nodes) {
    for (const PatternValue& input : n.inputs) {
      if (input.is_var()) read[input.index] = true;
    }
  }
  for (const PatternValue& output : pattern.outputs) {
    if (output.is_var()) read[output.index] = true;
  }
  for (size_t i = 0; i < rule.vars.size(); ++i) {
    const PatternVar& var = rule.vars[i];
    if (read[i]) {
      node(absl::StrCat("v", i), absl::StrCat(var.name, ": ", var.dims.ToString()),
           ", style=rounded");
    }
  }
  for (size_t i = 0; i < pattern.nodes.size(); ++i) {
    const PatternNode& n = pattern.nodes[i];
    const std::string name = absl::StrCat("n", i);
    node(name,
         n.op == nullptr ? absl::StrCat(n.fill.ToString(), ": ", n.dims.ToString()) : n.op->name,
         n.op == nullptr ? ", style=dotted" : "");
    for (const PatternValue& input : n.inputs) {
      absl::StrAppend(&text, "      ", id, name_of(input), " -> ", id, name, ";\n");
    }
  }
  for (size_t i = 0; i < pattern.outputs.size(); ++i) {
    node(absl::StrCat("o", i), absl::StrCat("output ", i), ", style=rounded");
    absl::StrAppend(&text, "      ", id, name_of(pattern.outputs[i]), " -> ", id, "o", i, ";\n");
  }
  return text + "    }\n";
}

std::string ToDot(const Rules& rules) {
  std::string text = "digraph rules {\n  compound=true;\n  node [shape=box, fontname=Helvetica];\n";
  for (size_t i = 0; i < rules.size(); ++i) {
    const Substitution& rule = *rules[i];
    const std::string guard = GuardText(rule.where);
    absl::StrAppend(&text, "  subgraph \"cluster_r", i, "\" {\n    label=",
                    Quoted(absl::StrCat(rule.name, guard.empty() ? "" : " where ", guard)), ";\n",
                    SideToDot(rule, rule.source, absl::StrCat("r", i, "s_"), "source"),
                    SideToDot(rule, rule.target, absl::StrCat("r", i, "t_"), "target"), "  }\n");
  }
  return text + "}\n";
}

}  // namespace

Json RuleJson(const Substitution& rule, const std::string& problem) {
  Json json = Json::Object();
  json.Set("rule", rule.name).Set("contract", Name(rule.contract)).Set("doc", rule.doc);
  json.Set("guard", GuardText(rule.where));
  json.Set("source", Operators(rule.source)).Set("target", Operators(rule.target));
  json.Set("record", Name(rule.proof.verdict)).Set("usable", problem.empty());
  if (rule.proof.verdict == ProofRecord::Verdict::kProved) {
    json.Set("proved_contract", Name(rule.proof.contract));
  }
  json.Set("id", rule.proof.id).Set("detail", rule.proof.detail).Set("problem", problem);
  json.Set("text", PrintRule(rule));
  return json;
}

absl::StatusOr<std::string> ExportRules(const std::string& rules,
                                        const std::vector<std::string>& names,
                                        const std::string& format) {
  if (format != "text" && format != "json" && format != "dot") {
    return OptionError(absl::StrCat("option format: '", format, "' is not text, json or dot"));
  }
  auto file = LoadRulesFile(rules, RuleKinds::kAll);
  if (!file.ok()) return file.status();
  auto named = NamedRules(*file, names);
  if (!named.ok()) return named.status();
  if (format == "json") return ToJson(file->name, *named);
  return format == "dot" ? ToDot(*named) : ToText(*named);
}

}  // namespace lemma::api
