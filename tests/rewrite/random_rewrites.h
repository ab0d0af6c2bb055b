// Random graphs in which rules match, and random rewrites of graphs.
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

// The rules of a file of data/rules that are proved; their names get `prefix`, so that the rules of
// several files can be told apart.
std::vector<Substitution> ProvedRules(const std::string& file, const std::string& prefix = "");

// The source of a random rule, over the rule's variables; what has to be a weight is one, without
// values. Sizes are small, or up to 32 where the rule lets a size stand for itself. nullopt if none
// was found.
std::optional<Graph> RandomSource(const std::vector<Substitution>& rules, uint64_t seed);

struct RandomRewrite {
  Graph after;
  std::string name, where;  // as in RewriteStep
  FloatContract contract;
};
// One of the rewrites that apply to `graph` and change it, each as likely; nullopt if there is
// none.
std::optional<RandomRewrite> Rewritten(const Graph& graph, const RewriteSource& source,
                                       std::mt19937_64* random);

}  // namespace lemma

#endif  // LEMMA_TESTS_REWRITE_RANDOM_REWRITES_H_
