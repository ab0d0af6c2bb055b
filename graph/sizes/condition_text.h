// Prints conditions on sizes for messages.
#ifndef LEMMA_GRAPH_SIZES_CONDITION_TEXT_H_
#define LEMMA_GRAPH_SIZES_CONDITION_TEXT_H_

#include <string>

#include "graph/expr/index_expr.h"

namespace lemma {

// The condition as text: "128 <= seq", "n = 2*m and 3 <= m". Only an `or` inside an `and` has
// parentheses. A negation is printed as Guard::ToString prints it.
std::string ConditionText(const Guard& condition);

}  // namespace lemma

#endif  // LEMMA_GRAPH_SIZES_CONDITION_TEXT_H_
