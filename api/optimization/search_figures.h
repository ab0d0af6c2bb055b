// Computes figures of a search, such as its speed, for programs that show its result.
#ifndef LEMMA_API_OPTIMIZATION_SEARCH_FIGURES_H_
#define LEMMA_API_OPTIMIZATION_SEARCH_FIGURES_H_

#include <string>
#include <utility>
#include <vector>

#include "optimizer/search/search.h"

namespace lemma::api {

// Each rule's name and the number of steps that apply it: the most frequent first, then by name.
std::vector<std::pair<std::string, int>> RuleCounts(
    const std::vector<optimizer::RewriteStep>& steps);

// The number of graphs generated per second of processor time.
double GraphsPerSecond(const optimizer::SearchResult& search);

// The predicted cost of the graph to which the steps lead. This graph must be the input or one of
// the graphs in `search` (`best`, `descended`, `certain`).
optimizer::Cost PredictedCost(const optimizer::SearchResult& search,
                              const std::vector<optimizer::RewriteStep>& steps);

// The predicted gain of the search in time, divided by the greatest gain that its bound allows; 1
// if the bound allows none. The search must have a bound.
double ShareOfBound(const optimizer::SearchResult& search);

}  // namespace lemma::api

#endif  // LEMMA_API_OPTIMIZATION_SEARCH_FIGURES_H_
