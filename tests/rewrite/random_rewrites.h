// Draws random graphs in which rules match, and random rewrites of graphs.
#ifndef LEMMA_TESTS_REWRITE_RANDOM_REWRITES_H_
#define LEMMA_TESTS_REWRITE_RANDOM_REWRITES_H_

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "rewrite/matching/rewrite_source.h"

namespace lemma {

// The proved rules of a file of data/rules. `prefix` goes before their names, to tell the rules of
// several files apart.
std::vector<Substitution> ProvedRules(const std::string& file, const std::string& prefix = "");

// The source of a random rule, over the rule's variables. Variables that must be weights are
// weights without values. Sizes are small, or up to 32 if a size of the rule is a symbol by itself.
// nullopt if none was found.
std::optional<Graph> RandomSource(const std::vector<Substitution>& rules, uint64_t seed);

struct RandomRewrite {
  Graph after;
  std::string name, where;  // as in RewriteStep
  FloatContract contract;
};
// A random one of the rewrites that apply to `graph` and change it, each equally likely; nullopt if
// there is none.
std::optional<RandomRewrite> Rewritten(const Graph& graph, const RewriteSource& source,
                                       std::mt19937_64* random);

}  // namespace lemma

#endif  // LEMMA_TESTS_REWRITE_RANDOM_REWRITES_H_
