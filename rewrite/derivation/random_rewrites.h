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
  // The rule's source. Variables with the role weight or constant are weights without values; the
  // other variables are inputs.
  Graph source;
};

// A random instance of the rule; equal seeds give equal instances. Integer symbols have values up
// to 32, unless the precondition determines a larger value; elements of list symbols are small.
// nullopt if no instance was found.
std::optional<RuleInstance> DrawInstance(const Substitution& rule, uint64_t seed);

// The source of a random instance of a random rule; nullopt as in DrawInstance. `rules` must not be
// empty.
std::optional<Graph> RandomSource(const std::vector<Substitution>& rules, uint64_t seed);

struct RandomRewrite {
  Graph after;
  std::string name, where;  // Rewrite::name(), Rewrite::Describe()
  FloatContract contract;
};
// Applies a random rewrite among those that apply to `graph` and change it, each equally likely.
// nullopt if there is none. `random` must not be null.
std::optional<RandomRewrite> Rewritten(const Graph& graph, const RewriteSource& source,
                                       std::mt19937_64* random);

}  // namespace lemma

#endif  // LEMMA_REWRITE_DERIVATION_RANDOM_REWRITES_H_
