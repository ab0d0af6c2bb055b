// Computes figures of a search, such as its speed, for programs that show its result.
#ifndef LEMMA_API_OPTIMIZATION_SEARCH_FIGURES_H_
#define LEMMA_API_OPTIMIZATION_SEARCH_FIGURES_H_

#include <string>
#include <utility>
#include <vector>

#include "optimizer/search/search.h"

namespace lemma::api {

// The rules' names, and how many of the steps apply each: the most frequent first, then by name.
std::vector<std::pair<std::string, int>> RuleCounts(
    const std::vector<optimizer::RewriteStep>& steps);

// The number of graphs generated per second of processor time.
double GraphsPerSecond(const optimizer::SearchResult& search);

// The predicted cost of the graph that the steps lead to. It must be a graph of the search's result
// (`best`, `descended`, `certain`), or the input.
optimizer::Cost PredictedCost(const optimizer::SearchResult& search,
                              const std::vector<optimizer::RewriteStep>& steps);

// The predicted gain of the search in time, divided by the greatest gain that its bound allows; 1
// if the bound allows none. The search must have a bound.
double ShareOfBound(const optimizer::SearchResult& search);

}  // namespace lemma::api

#endif  // LEMMA_API_OPTIMIZATION_SEARCH_FIGURES_H_
