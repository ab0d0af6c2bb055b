// Writes the result of an optimization as JSON.
#ifndef LEMMA_API_JSON_OPTIMIZE_H_
#define LEMMA_API_JSON_OPTIMIZE_H_

#include <string>

#include "api/optimize.h"
#include "base/json.h"
#include "graph/graph.h"

namespace lemma::api {

// One object about the result for the graph `input`. Among its members are the
// files, kept_input, why_kept (WhyKept), operators, predicted and measured
// times and bytes before and after, the comparison of outputs, rules (how often
// each was used, bodies of loops included), loop_bodies (these bodies), figures
// of the search, why_not, and applied and alternatives (options.explain).
// Members that do not apply are missing.
Json ToJson(const Graph& input, const OptimizeOptions& options, const OptimizeResult& result,
            const OptimizeContext& context);

// The answer to OptimizeOptions::why_not alone, for a search without execution: graph,
// predicted_ms_before, predicted_ms_after, graphs (the number of graphs generated), stopped and
// why_not. `excluded` as in OptimizeContext. result.why_not must be set.
Json WhyNotJson(const Graph& input, const OptimizeResult& result, const std::string& excluded);

}  // namespace lemma::api

#endif  // LEMMA_API_JSON_OPTIMIZE_H_
