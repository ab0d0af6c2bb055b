// lemma rules export: rules as text, JSON or DOT.
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "api/models/model_file.h"
#include "api/rules/rules_file.h"
#include "base/flags.h"
#include "base/json.h"
#include "cli/rule_report.h"
#include "cli/rules_commands.h"
#include "rewrite/rules/proof_check.h"
#include "rewrite/rules/rule_text.h"

namespace lemma::cli {
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

// A variable's number, or that of a node and its output.
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

// One side as a cluster; `id` begins the names of its nodes.
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

absl::StatusOr<int> RunRulesExport(Arguments arguments) {
  std::string format = "text", output;
  Flags flags("rules export", "RULES [NAME…]",
              "Writes the rules of a file, or those named, in another format.");
  flags.Choice("format", &format, {"text", "json", "dot"}, "what to write");
  flags.String("output|o", &output, "FILE", "where to; else to standard output");
  flags.Note("lemma rules export --format dot RULES NAME | dot -Tsvg > rule.svg draws a rule.");
  auto positional = flags.Parse(arguments);
  if (!positional.ok()) return positional.status();
  if (flags.help()) {
    std::fputs(flags.Help().c_str(), stdout);
    return kExitOk;
  }
  if (positional->empty()) {
    return absl::InvalidArgumentError("which RULES? a file, please; see lemma rules export --help");
  }
  auto file = api::LoadRulesFile((*positional)[0]);
  if (!file.ok()) return file.status();
  auto rules = api::NamedRules(*file, {positional->begin() + 1, positional->end()});
  if (!rules.ok()) return rules.status();
  const std::string text = format == "json"  ? ToJson(file->name, *rules)
                           : format == "dot" ? ToDot(*rules)
                                             : ToText(*rules);
  if (absl::Status s = api::WriteText(output, text); !s.ok()) return s;
  return kExitOk;
}

}  // namespace lemma::cli
