// Finds small applications of an operator that a text defines.
#ifndef LEMMA_GRAPH_DEFINE_OPERATOR_EXAMPLES_H_
#define LEMMA_GRAPH_DEFINE_OPERATOR_EXAMPLES_H_

#include <string>
#include <vector>

#include "graph/define/operator_syntax.h"
#include "graph/op_def.h"

namespace lemma::define {

// Up to four applications with different small sizes, as OpDef::examples states them: "(f32[2,3],
// f32[3]) {axis = 1}". Sizes and lengths of lists are drawn at random, the same in every run, until
// the operator takes them; empty if it takes none of those tried. Real attributes without a default
// are 0.5, integers are drawn.
std::vector<std::string> ExamplesOf(const OperatorText& text, const OpDef& op);

}  // namespace lemma::define

#endif  // LEMMA_GRAPH_DEFINE_OPERATOR_EXAMPLES_H_
