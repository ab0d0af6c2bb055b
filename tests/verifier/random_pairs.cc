#include "tests/verifier/random_pairs.h"

#include <cmath>
#include <map>
#include <regex>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/hash.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "rewrite/derivation/randomized_check.h"
#include "tests/kernels/evaluate/naive_evaluator.h"

namespace lemma {
namespace {

// Groups of similar operators; one may replace another.
const std::vector<std::string> kKinds[] = {
    {"relu", "neg", "tanh", "sigmoid", "abs", "gelu", "silu"},
    {"add", "sub", "mul", "max", "min"},
    {"reduce_sum", "reduce_mean", "reduce_max", "reduce_min"},
    {"max_pool2d", "avg_pool2d"}};

std::string TextOf(const Graph& graph) { return PrintGraph(graph); }

bool SameInterface(const Graph& a, const Graph& b) {
  auto types = [](const std::vector<Value>& values) {
    std::vector<std::string> texts;
    for (const Value& value : values) texts.push_back(value.type().ToString());
    return texts;
  };
  return types(a.inputs()) == types(b.inputs()) && types(a.outputs()) == types(b.outputs());
}

}  // namespace

RandomPairs::RandomPairs(const std::string& rules_path, uint64_t seed) : random_(seed) {
  auto rules = RuleSet::Load(rules_path);
  EXPECT_TRUE(rules.ok()) << rules.status();
  if (rules.ok()) rules_ = *std::move(rules);
}

std::optional<Graph> RandomPairs::DrawGraph() {
  const Substitution& rule = rules_->rules()[Pick(rules_->rules().size())];
  auto assignment = InstanceSampler(rule, random_()).Draw(300);
  if (!assignment) return std::nullopt;
  auto instance = Instantiate(rule, rule.source, *assignment, VarsAs::kRoles);
  if (!instance.ok()) return std::nullopt;
  // Element-wise functions behind the outputs, in the text form.
  std::string text = TextOf(*instance);
  const size_t at = text.find("return ");
  std::vector<std::string> outputs =
      absl::StrSplit(text.substr(at + 7, text.find('\n', at) - at - 7), ", ");
  std::string more;
  for (size_t i = 0; i < outputs.size(); ++i) {
    for (int n = Pick(3); n > 0; --n) {
      const std::string next = absl::StrCat("more", i, "_", n);
      const char* const forms[] = {"relu($)", "neg($)", "tanh($)", "scalar_mul($) {alpha = 2.0}",
                                   "add($, $)"};
      std::string form = forms[Pick(5)];
      for (size_t p; (p = form.find('$')) != std::string::npos;) form.replace(p, 1, outputs[i]);
      absl::StrAppend(&more, "  ", next, " = ", form, "\n");
      outputs[i] = next;
    }
  }
  text = absl::StrCat(text.substr(0, at - 2), more, "  return ", absl::StrJoin(outputs, ", "),
                      "\n}\n");
  auto graph = ParseGraph(text);
  if (!graph.ok()) return std::nullopt;
  for (const NodePtr& node : graph->nodes()) {
    for (const TensorType& type : node->types()) {
      if (type.num_elements() == 0 || type.num_elements() > 4000) return std::nullopt;
    }
  }
  return *std::move(graph);
}

Graph RandomPairs::Rewritten(const Graph& graph, int steps, int* done) {
  Graph current = graph;
  for (*done = 0; *done < steps; ++*done) {
    const MatchIndex index(current);
    std::vector<Graph> next;
    rules_->ForEach(index, [&](const Rewrite& rewrite) {
      auto applied = rewrite.Apply();
      if (applied.ok()) next.push_back(*std::move(applied));
      return next.size() < 25;
    });
    if (next.empty()) break;
    current = next[Pick(next.size())];
  }
  return current;
}

std::string RandomPairs::PerturbedLine(const std::string& line,
                                       const std::vector<std::string>& values) {
  static const std::regex application(R"(^(  .* = )(\w+)\((.*?)\)(.*)$)");
  static const std::regex number(R"(-?\d+(\.\d+)?)");
  std::smatch m;
  if (!std::regex_match(line, m, application)) return "";
  const std::string head = m[1], op = m[2], tail = m[4];
  std::vector<std::string> operands = absl::StrSplit(std::string(m[3]), ", ");
  switch (Pick(4)) {
    case 0:  // another operator
      for (const auto& kind : kKinds) {
        for (const std::string& name : kind) {
          if (name == op) {
            return absl::StrCat(head, kind[Pick(kind.size())], "(", absl::StrJoin(operands, ", "),
                                ")", tail);
          }
        }
      }
      return "";
    case 1:  // operands exchanged
      if (operands.size() < 2) return "";
      std::swap(operands[Pick(operands.size())], operands[Pick(operands.size())]);
      break;
    case 2:  // another operand
      operands[Pick(operands.size())] = values[Pick(values.size())];
      break;
    default: {  // a number one greater or less
      std::vector<std::pair<size_t, size_t>> numbers;
      for (auto it = std::sregex_iterator(tail.begin(), tail.end(), number);
           it != std::sregex_iterator(); ++it) {
        numbers.emplace_back(it->position(), it->length());
      }
      if (numbers.empty()) return "";
      const auto [at, length] = numbers[Pick(numbers.size())];
      const std::string old = tail.substr(at, length);
      const double value = std::stod(old) + (Pick(2) == 0 ? 1 : -1);
      const bool real = old.find('.') != std::string::npos;
      const std::string changed = real ? absl::StrCat(value, value == std::floor(value) ? ".0" : "")
                                       : absl::StrCat(static_cast<int64_t>(value));
      return absl::StrCat(head, op, "(", absl::StrJoin(operands, ", "), ")", tail.substr(0, at),
                          changed, tail.substr(at + length));
    }
  }
  return absl::StrCat(head, op, "(", absl::StrJoin(operands, ", "), ")", tail);
}

std::optional<Graph> RandomPairs::Perturbed(const Graph& graph, std::string* what) {
  const std::vector<std::string> lines = absl::StrSplit(TextOf(graph), '\n');
  std::vector<std::string> values;
  static const std::regex name(R"((\w+): )"), assigned(R"(^  (\w+) = .*)");
  for (const std::string& line : lines) {
    std::smatch m;
    if (std::regex_match(line, m, assigned)) values.push_back(m[1]);
    if (line.rfind("  ", 0) == 0) continue;
    for (auto it = std::sregex_iterator(line.begin(), line.end(), name);
         it != std::sregex_iterator(); ++it) {
      values.push_back((*it)[1]);
    }
  }
  for (int attempt = 0; attempt < 60; ++attempt) {
    std::vector<std::string> changed = lines;
    const int i = Pick(lines.size());
    changed[i] = PerturbedLine(lines[i], values);
    if (changed[i].empty() || changed[i] == lines[i]) continue;
    auto other = ParseGraph(absl::StrJoin(changed, "\n"));
    if (!other.ok() || !SameInterface(graph, *other)) continue;
    *what = absl::StrCat(lines[i], "  ->", changed[i]);
    return *std::move(other);
  }
  return std::nullopt;
}

std::vector<std::vector<double>> EvaluateGraph(const Graph& graph, uint64_t seed) {
  std::map<std::pair<const Node*, int>, std::vector<double>> values;
  for (const NodePtr& node : graph.nodes()) {
    if (node->has_payload()) {
      values[{node.get(), 0}] = node->payload().ToDoubles();
      continue;
    }
    if (!node->is_op()) {
      const std::string key = absl::StrCat(
          node->kind() == Node::Kind::kInput ? absl::StrCat(node->input_index()) : node->name());
      std::mt19937_64 random(HashCombine(seed, HashString(key, 1)));
      std::vector<double> data(node->type(0).num_elements());
      for (double& x : data) {
        x = IsFloat(node->type(0).dtype) ? 0.3 + static_cast<double>(random() >> 11) * 0x1p-53 * 1.5
                                         : static_cast<double>(random() % 2);
      }
      values[{node.get(), 0}] = std::move(data);
      continue;
    }
    std::vector<std::vector<double>> operands;
    for (const Value& v : node->inputs()) operands.push_back(values.at({&v.node(), v.output()}));
    auto definition = DefinitionOf(*node);
    EXPECT_TRUE(definition.ok()) << definition.status();
    auto outputs = OutputsNaively(*definition, operands);
    EXPECT_TRUE(outputs.ok()) << outputs.status();
    for (size_t o = 0; o < outputs->size(); ++o) {
      values[{node.get(), static_cast<int>(o)}] = std::move((*outputs)[o]);
    }
  }
  std::vector<std::vector<double>> result;
  for (const Value& v : graph.outputs()) result.push_back(values.at({&v.node(), v.output()}));
  return result;
}

bool DifferVisibly(const std::vector<std::vector<double>>& a,
                   const std::vector<std::vector<double>>& b) {
  for (size_t o = 0; o < a.size(); ++o) {
    for (size_t i = 0; i < a[o].size(); ++i) {
      const double x = a[o][i], y = b[o][i];
      if (std::isfinite(x) && std::isfinite(y) &&
          std::abs(x - y) > 1e-3 * (1 + std::abs(x) + std::abs(y))) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace lemma
