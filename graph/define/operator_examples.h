// Finds small applications of an operator that a text defines.
#ifndef LEMMA_GRAPH_DEFINE_OPERATOR_EXAMPLES_H_
#define LEMMA_GRAPH_DEFINE_OPERATOR_EXAMPLES_H_

#include <string>
#include <vector>

#include "graph/define/operator_syntax.h"
#include "graph/op_def.h"

namespace lemma::define {

// Up to four different applications with small sizes, in the form of
// OpDef::examples: "(f32[2,3], f32[3]) {axis = 1}". Draws sizes, lengths of
// lists and integer attributes at random until the operator accepts them. The
// draws are the same in every run. In about half of the draws, an attribute
// with a default value keeps this value. Real attributes always have their
// default values or, without a default, 0.5. The result is empty if the
// operator accepts none of the draws.
std::vector<std::string> ExamplesOf(const OperatorText& text, const OpDef& op);

}  // namespace lemma::define

#endif  // LEMMA_GRAPH_DEFINE_OPERATOR_EXAMPLES_H_
