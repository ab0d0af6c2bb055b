// Turns a graph extracted from an e-graph back into a sequence of rewrites.
#ifndef LEMMA_OPTIMIZER_EXTRACTION_REALIZE_H_
#define LEMMA_OPTIMIZER_EXTRACTION_REALIZE_H_

#include "optimizer/extraction/extraction.h"
#include "optimizer/search/workspace.h"
#include "rewrite/egraph/egraph.h"

namespace lemma::optimizer {

// `egraph` must have been made from the current graph of `work`, which is called the input here.
// Applies to `work` the recorded matches (EGraph::applied_matches) by which values of the selection
// replace values of the input. It applies each match as soon as its pattern is present and, if
// possible, before another match destroys the pattern. An e-graph keeps replaced nodes, but a graph
// does not, so Realize may stop before the graph of `work` becomes the selection. Every graph on
// the way equals the input. Returns the number of these matches that it could not apply.
int Realize(const EGraph& egraph, const Selection& selection, Workspace* work);

}  // namespace lemma::optimizer

#endif  // LEMMA_OPTIMIZER_EXTRACTION_REALIZE_H_
