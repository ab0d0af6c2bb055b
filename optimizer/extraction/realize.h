// From an extracted graph back to rewrites, one after the other.
#ifndef LEMMA_OPTIMIZER_EXTRACTION_REALIZE_H_
#define LEMMA_OPTIMIZER_EXTRACTION_REALIZE_H_

#include "optimizer/extraction/extraction.h"
#include "optimizer/search/workspace.h"
#include "rewrite/egraph/egraph.h"

namespace lemma::optimizer {

// Applies to `work`, whose graph in hand is the one that `egraph` was made of, the matches by
// which values of the selection take the place of the input's, each as soon as what it matches is
// there and, if possible, before another takes that away. An e-graph keeps what was replaced and a
// graph does not, so this can fail to get all the way; every graph on it equals the input. Returns
// the number of matches that were left.
int Realize(const EGraph& egraph, const Selection& selection, Workspace* work);

}  // namespace lemma::optimizer

#endif  // LEMMA_OPTIMIZER_EXTRACTION_REALIZE_H_
