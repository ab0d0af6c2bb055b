// Turns a graph extracted from an e-graph back into a sequence of rewrites.
#ifndef LEMMA_OPTIMIZER_EXTRACTION_REALIZE_H_
#define LEMMA_OPTIMIZER_EXTRACTION_REALIZE_H_

#include "optimizer/extraction/extraction.h"
#include "optimizer/search/workspace.h"
#include "rewrite/egraph/egraph.h"

namespace lemma::optimizer {

// `egraph` must be made from the current graph of `work`. Applies to `work` the matches by which
// values of the selection replace the input's values, each as soon as its pattern is present and,
// if possible, before another match destroys it. An e-graph keeps replaced nodes and a graph does
// not, so this may stop before the selection is reached; every graph on the path equals the input.
// Returns the number of matches whose patterns never became present.
int Realize(const EGraph& egraph, const Selection& selection, Workspace* work);

}  // namespace lemma::optimizer

#endif  // LEMMA_OPTIMIZER_EXTRACTION_REALIZE_H_
