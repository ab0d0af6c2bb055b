// The meaning of an operator that is defined by a text.
#ifndef LEMMA_GRAPH_DEFINE_OPERATOR_MEANING_H_
#define LEMMA_GRAPH_DEFINE_OPERATOR_MEANING_H_

#include <vector>

#include "absl/status/status.h"
#include "graph/define/operator_syntax.h"
#include "graph/op_def.h"

namespace lemma::define {

// OpDef::define of the operator `op`. Requires, beside what the text says, that every read lies
// inside its tensor. Errors about the application are those of OpContext::Fail; errors in the text
// begin with its file and position.
absl::Status DefineFromText(const OperatorText& op, OpContext& context);

// Input types that fit the operator, with symbolic dimensions of at least 1, one for each name.
// Different lists of sizes have different lengths, from `least` on. DefineFromText with them reads
// every part of the text, so an error in it shows.
std::vector<ExprType> SymbolicInputs(const OperatorText& op, int least);

}  // namespace lemma::define

#endif  // LEMMA_GRAPH_DEFINE_OPERATOR_MEANING_H_
