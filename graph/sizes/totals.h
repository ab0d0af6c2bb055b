// Makes the sizes of symbolic dimensions consistent where the name of a dimension says that the
// dimension is a sum of other dimensions.
#ifndef LEMMA_GRAPH_SIZES_TOTALS_H_
#define LEMMA_GRAPH_SIZES_TOTALS_H_

#include <set>
#include <string>

#include "graph/sizes/symbolic_size.h"

namespace lemma {

// Language models with a KV cache name their dimensions as follows: total_X is past_X + kv_X if
// there is a dimension kv_X; otherwise past_X + X, or past_X + 1 if there is no X either. The name
// of a dimension may also be an expression, such as "past + n". FitTotals changes *sizes so that
// these equations hold, as far as `fixed` allows: dimensions whose names are in `fixed` keep their
// sizes.
//   * If total_X is fixed, past_X changes instead or, if past_X is fixed too, kv_X or X. Without a
//     past_X, total_X does not change.
//   * A dimension whose name is an expression gets the value of the expression unless the dimension
//     is fixed. The dimensions in the expression do not change; a dimension without a size counts
//     as 1.
// No size becomes less than 1.
void FitTotals(const std::set<std::string>& fixed, DimValues* sizes);

}  // namespace lemma

#endif  // LEMMA_GRAPH_SIZES_TOTALS_H_
