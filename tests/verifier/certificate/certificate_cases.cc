#include "tests/verifier/certificate/certificate_cases.h"

#include <fstream>
#include <optional>
#include <random>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/sha256.h"
#include "graph/rebuild.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "optimizer/folding/constant_folding.h"
#include "optimizer/search/certificate.h"
#include "rewrite/derivation/random_rewrites.h"
#include "rewrite/derivation/randomized_check.h"
#include "rewrite/rules/rule_text.h"
#include "verifier/certificate/check.h"

namespace lemma {
namespace {

Graph WithWeights(const Graph& graph, uint64_t seed) {
  ValueMap map;
  for (const NodePtr& node : graph.nodes()) {
    if (node->kind() != Node::Kind::kWeight || node->has_payload()) continue;
    std::vector<double> values;
    for (int64_t i = 0; i < node->type(0).num_elements(); ++i) {
      const uint64_t hash = Mix64(HashCombine(HashCombine(seed, node->hash()), i));
      values.push_back(0.5 + static_cast<double>(hash % 1000) / 1000);
    }
    auto tensor = Tensor::FromDoubles(node->type(0), values);
    EXPECT_TRUE(tensor.ok()) << tensor.status();
    map[Value(node, 0)] = Value(Node::Weight(node->name(), node->type(0), *tensor), 0);
  }
  return ReplaceValues(graph, map);
}

optimizer::RewriteStep StepOf(const std::string& name, const std::string& where,
                              const Graph& before, const Graph& after) {
  optimizer::RewriteStep step;
  step.name = name;
  step.where = where;
  step.before = before.StructuralHash();
  step.after = after.StructuralHash();
  return step;
}

CertificateCase Finish(const Graph& input, const Graph& last,
                       const std::vector<optimizer::RewriteStep>& steps,
                       const std::vector<Substitution>& rules) {
  auto output = optimizer::FoldConstants(last);
  EXPECT_TRUE(output.ok()) << output.status();
  const bool nothing = steps.empty();
  auto certificate =
      optimizer::Certify(input, steps, nothing ? input : *output, rules,
                         nothing ? Certificate::Result::kInput : Certificate::Result::kBest);
  EXPECT_TRUE(certificate.ok()) << certificate.status();
  CertificateCase files{PrintGraph(input), PrintGraph(nothing ? input : *output), ""};
  if (!certificate.ok()) return files;
  certificate->input_file = Sha256Of(files.input);
  certificate->output_file = Sha256Of(files.output);
  files.certificate = PrintCertificate(*certificate);
  return files;
}

}  // namespace

const std::vector<Substitution>& StarterRules() {
  static const auto* rules = [] {
    std::ifstream in("data/rules/starter.txt", std::ios::binary);
    std::stringstream text;
    text << in.rdbuf();
    auto parsed = ParseRules(text.str(), "starter.txt");
    EXPECT_TRUE(parsed.ok()) << parsed.status();
    return new std::vector<Substitution>(*std::move(parsed));
  }();
  return *rules;
}

Graph GraphOf(const std::string& text) {
  auto graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  return graph.ok() ? *std::move(graph) : Graph();
}

std::optional<Graph> RandomInstance(const std::vector<Substitution>& rules, uint64_t seed) {
  const Substitution& rule = rules[Mix64(seed) % rules.size()];
  auto assignment = InstanceSampler(rule, seed).Draw(300);
  if (!assignment) return std::nullopt;
  auto graph = Instantiate(rule, rule.source, *assignment, VarsAs::kRoles);
  if (!graph.ok()) return std::nullopt;
  return *std::move(graph);
}

CertificateCase RandomWalk(const Graph& graph, const std::vector<Substitution>& rules, int steps,
                           uint64_t seed) {
  std::mt19937_64 random(seed);
  auto set = RuleSet::Create(rules);
  EXPECT_TRUE(set.ok()) << set.status();
  const Graph input = WithWeights(graph, seed);
  Graph now = input;
  std::vector<optimizer::RewriteStep> done;
  for (int i = 0; i < steps; ++i) {
    std::optional<RandomRewrite> next = Rewritten(now, **set, &random);
    if (!next) break;
    done.push_back(StepOf(next->name, next->where, now, next->after));
    now = std::move(next->after);
  }
  return Finish(input, now, done, rules);
}

CertificateCase Walk(const std::string& graph, const std::vector<Substitution>& rules,
                     const std::vector<std::string>& names) {
  const Graph input = GraphOf(graph);
  auto set = RuleSet::Create(rules);
  EXPECT_TRUE(set.ok()) << set.status();
  Graph now = input;
  std::vector<optimizer::RewriteStep> done;
  for (const std::string& name : names) {
    const MatchIndex index(now);
    std::optional<Graph> next;
    (*set)->ForEach(index, [&](const Rewrite& rewrite) {
      if (rewrite.name() != name) return true;
      auto applied = rewrite.Apply();
      EXPECT_TRUE(applied.ok()) << applied.status();
      if (!applied.ok()) return false;
      done.push_back(StepOf(name, rewrite.Describe(), now, *applied));
      next = *std::move(applied);
      return false;
    });
    EXPECT_TRUE(next.has_value()) << name << " does not match";
    if (next) now = *std::move(next);
  }
  return Finish(input, now, done, rules);
}

std::string Problem(const CertificateCase& files) {
  return Problem(files, [](const Substitution& rule) {
    for (const Substitution& known : StarterRules()) {
      if (PrintRule(ForCertificate(known)) == PrintRule(rule)) return "";
    }
    return "it is no starter rule";
  });
}

std::string Problem(const CertificateCase& files,
                    const std::function<std::string(const Substitution&)>& why_untrusted) {
  auto certificate = ParseCertificate(files.certificate);
  if (!certificate.ok()) return std::string(certificate.status().message());
  if (certificate->input_file != Sha256Of(files.input)) return "another input";
  if (certificate->output_file != Sha256Of(files.output)) return "another output";
  auto input = ParseGraph(files.input);
  if (!input.ok()) return std::string(input.status().message());
  auto output = ParseGraph(files.output);
  if (!output.ok()) return std::string(output.status().message());
  CertificateCheckOptions options;
  options.why_untrusted = why_untrusted;
  const CertificateCheck check = CheckCertificate(*certificate, *input, *output, options);
  return check.ok() ? "" : absl::StrCat("step ", check.step, ": ", check.problem);
}

CertificateCase Changed(const CertificateCase& files,
                        const std::function<void(Certificate*)>& change) {
  auto certificate = ParseCertificate(files.certificate);
  EXPECT_TRUE(certificate.ok()) << certificate.status();
  CertificateCase changed = files;
  if (!certificate.ok()) return changed;
  change(&*certificate);
  changed.certificate = PrintCertificate(*certificate);
  return changed;
}

std::string WithChecksum(const std::string& certificate) {
  const size_t end = certificate.rfind("\nsha256 ");
  const std::string body = certificate.substr(0, end);
  return absl::StrCat(body, "\nsha256 ", Sha256Of(body), "\n");
}

}  // namespace lemma
