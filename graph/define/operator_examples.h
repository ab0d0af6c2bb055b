// Finds small applications of an operator that a text defines.
#ifndef LEMMA_GRAPH_DEFINE_OPERATOR_EXAMPLES_H_
#define LEMMA_GRAPH_DEFINE_OPERATOR_EXAMPLES_H_

#include <string>
#include <vector>

#include "graph/define/operator_syntax.h"
#include "graph/op_def.h"

namespace lemma::define {

// Up to four different applications with small sizes, in the form of OpDef::examples:
// "(f32[2,3], f32[3]) {axis = 1}". Sizes, lengths of lists and integer attributes are drawn at
// random, the same in every run, until the operator accepts them; about half of the time, an
// attribute keeps its default value instead. Real attributes always have their default values or,
// without a default, 0.5. Empty if the operator accepts nothing that is tried.
std::vector<std::string> ExamplesOf(const OperatorText& text, const OpDef& op);

}  // namespace lemma::define

#endif  // LEMMA_GRAPH_DEFINE_OPERATOR_EXAMPLES_H_
