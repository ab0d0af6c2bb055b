// Chooses sizes that fit together where the names of dimensions say that one is the sum of others.
#ifndef LEMMA_GRAPH_SIZES_TOTALS_H_
#define LEMMA_GRAPH_SIZES_TOTALS_H_

#include <set>
#include <string>

#include "graph/sizes/symbolic_size.h"

namespace lemma {

// Models of language with a cache of keys name their dimensions so: total_X is past_X + kv_X if
// there is a dimension kv_X, else past_X + X, or past_X + 1 if there is no X either. A dimension
// may also be called like a sum of others ("past + n"). Changes sizes so that they are these sums;
// names in `fixed` keep their sizes, so that a part of the sum changes if the total is fixed. Sizes
// stay as they are where a part would become less than 1.
void FitTotals(const std::set<std::string>& fixed, DimValues* sizes);

}  // namespace lemma

#endif  // LEMMA_GRAPH_SIZES_TOTALS_H_
