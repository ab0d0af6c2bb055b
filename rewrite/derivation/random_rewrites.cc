#include "rewrite/derivation/random_rewrites.h"

#include <utility>

#include "base/hash.h"
#include "rewrite/derivation/randomized_check.h"

namespace lemma {
namespace {

bool Holds(const Substitution& rule, const SymbolValues& symbols) {
  for (const Comparison& c : rule.where) {
    if (!Evaluate(c, symbols).value_or(false)) return false;
  }
  return true;
}

// The instance with some sizes enlarged, if its source stays well-formed.
std::optional<RuleInstance> Grown(const Substitution& rule, Assignment assignment,
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
  return RuleInstance{std::move(assignment), *std::move(graph)};
}

}  // namespace

std::optional<RuleInstance> DrawInstance(const Substitution& rule, uint64_t seed) {
  auto assignment = InstanceSampler(rule, seed).Draw(300);
  if (!assignment) return std::nullopt;
  std::mt19937_64 random(seed);
  return Grown(rule, *std::move(assignment), &random);
}

std::optional<Graph> RandomSource(const std::vector<Substitution>& rules, uint64_t seed) {
  auto instance = DrawInstance(rules[Mix64(seed) % rules.size()], seed);
  if (!instance) return std::nullopt;
  return std::move(instance->source);
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
