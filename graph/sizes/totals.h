// Chooses sizes that fit together where the names of dimensions say that one is the sum of others.
#ifndef LEMMA_GRAPH_SIZES_TOTALS_H_
#define LEMMA_GRAPH_SIZES_TOTALS_H_

#include <set>
#include <string>

#include "graph/sizes/symbolic_size.h"

namespace lemma {

// Language models with a cache of keys name their dimensions as follows: total_X is past_X + kv_X
// if there is a dimension kv_X; otherwise past_X + X, or past_X + 1 if there is no X either. The
// name of a dimension may also be a sum of others ("past + n"). Changes sizes so that totals are
// these sums. Names in `fixed` keep their sizes: if a total_X is fixed, a part of its sum changes,
// unless the part would become less than 1.
void FitTotals(const std::set<std::string>& fixed, DimValues* sizes);

}  // namespace lemma

#endif  // LEMMA_GRAPH_SIZES_TOTALS_H_
