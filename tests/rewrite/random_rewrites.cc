#include "tests/rewrite/random_rewrites.h"

#include <fstream>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "gtest/gtest.h"
#include "rewrite/derivation/randomized_check.h"
#include "rewrite/matching/instantiate.h"
#include "rewrite/rules/rule_text.h"

namespace lemma {
namespace {

bool Holds(const Substitution& rule, const SymbolValues& symbols) {
  for (const Comparison& c : rule.where) {
    if (!Evaluate(c, symbols).value_or(false)) return false;
  }
  return true;
}

// The source with some sizes enlarged, if it stays well-formed.
std::optional<Graph> Grown(const Substitution& rule, Assignment assignment,
                           std::mt19937_64* random) {
  auto graph = Instantiate(rule, rule.source, assignment, VarsAs::kRoles);
  if (!graph.ok()) return std::nullopt;
  static constexpr int64_t kSizes[] = {4, 5, 8, 13, 16, 17, 32};
  for (size_t i = 0; i < rule.symbols.size(); ++i) {
    const auto* size = std::get_if<IndexExpr>(&*assignment.symbols[i]);
    if (size == nullptr || (*random)() % 2 == 0) continue;
    Assignment larger = assignment;
    larger.symbols[i] = ExprAttr(IndexExpr(kSizes[(*random)() % 7]));
    if (!Holds(rule, larger.symbols)) continue;
    auto grown = Instantiate(rule, rule.source, larger, VarsAs::kRoles);
    if (!grown.ok()) continue;
    graph = *std::move(grown);
    assignment = std::move(larger);
  }
  return *std::move(graph);
}

}  // namespace

std::vector<Substitution> ProvedRules(const std::string& file, const std::string& prefix) {
  const std::string path = absl::StrCat("data/rules/", file);
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  auto parsed = ParseRules(text.str(), path);
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  std::vector<Substitution> proved;
  if (!parsed.ok()) return proved;
  for (Substitution& rule : *parsed) {
    if (rule.proof.verdict != ProofRecord::Verdict::kProved) continue;
    rule.name = absl::StrCat(prefix, rule.name);
    proved.push_back(std::move(rule));
  }
  return proved;
}

std::optional<Graph> RandomSource(const std::vector<Substitution>& rules, uint64_t seed) {
  const Substitution& rule = rules[Mix64(seed) % rules.size()];
  auto assignment = InstanceSampler(rule, seed).Draw(300);
  if (!assignment) return std::nullopt;
  std::mt19937_64 random(seed);
  return Grown(rule, *std::move(assignment), &random);
}

std::optional<RandomRewrite> Rewritten(const Graph& graph, const RewriteSource& source,
                                       std::mt19937_64* random) {
  const MatchIndex index(graph);
  uint64_t count = 0;
  std::optional<RandomRewrite> chosen;
  source.ForEach(index, [&](const Rewrite& rewrite) {
    auto applied = rewrite.Apply();
    if (!applied.ok() || applied->StructuralHash() == graph.StructuralHash()) return true;
    // Every rewrite is chosen with the same probability.
    if ((*random)() % ++count != 0) return true;
    chosen = {*std::move(applied), rewrite.name(), rewrite.Describe(), rewrite.contract()};
    return true;
  });
  return chosen;
}

}  // namespace lemma
