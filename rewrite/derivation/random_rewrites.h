// Draws random instances of rules, and random rewrites of graphs.
#ifndef LEMMA_REWRITE_DERIVATION_RANDOM_REWRITES_H_
#define LEMMA_REWRITE_DERIVATION_RANDOM_REWRITES_H_

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "rewrite/matching/instantiate.h"
#include "rewrite/matching/rewrite_source.h"

namespace lemma {

struct RuleInstance {
  Assignment assignment;
  Graph source;  // over the rule's variables; those that must be weights are weights without values
};

// A random instance of the rule; equal seeds give equal instances. Sizes are small; one that is a
// single symbol in the rule may be up to 32. nullopt if none was found.
std::optional<RuleInstance> DrawInstance(const Substitution& rule, uint64_t seed);

// The source of DrawInstance for a random one of `rules`, which must not be empty.
std::optional<Graph> RandomSource(const std::vector<Substitution>& rules, uint64_t seed);

struct RandomRewrite {
  Graph after;
  std::string name, where;  // Rewrite::name(), Rewrite::Describe()
  FloatContract contract;
};
// A random one of the rewrites that apply to `graph` and change it, each equally likely; nullopt if
// there is none.
std::optional<RandomRewrite> Rewritten(const Graph& graph, const RewriteSource& source,
                                       std::mt19937_64* random);

}  // namespace lemma

#endif  // LEMMA_REWRITE_DERIVATION_RANDOM_REWRITES_H_
