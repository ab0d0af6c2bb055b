// Computes figures of a search, such as its speed, for programs that show its result.
#ifndef LEMMA_API_OPTIMIZATION_SEARCH_FIGURES_H_
#define LEMMA_API_OPTIMIZATION_SEARCH_FIGURES_H_

#include <string>
#include <utility>
#include <vector>

#include "optimizer/search/search.h"

namespace lemma::api {

// How many of the steps apply each rule, the most frequent first; then by name.
std::vector<std::pair<std::string, int>> RuleCounts(
    const std::vector<optimizer::RewriteStep>& steps);

// Per second of processor time.
double GraphsPerSecond(const optimizer::SearchResult& search);

// The predicted cost of the graph that the steps lead to: one that the search returned, or its
// input.
optimizer::Cost PredictedCost(const optimizer::SearchResult& search,
                              const std::vector<optimizer::RewriteStep>& steps);

// The gain of the search, divided by the greatest gain that its bound allows (1 if it allows none).
// The search must have a bound.
double ShareOfBound(const optimizer::SearchResult& search);

}  // namespace lemma::api

#endif  // LEMMA_API_OPTIMIZATION_SEARCH_FIGURES_H_
