// Makes the definition of an operator from its syntax tree (operator_syntax.h).
#ifndef LEMMA_GRAPH_DEFINE_OPERATOR_MEANING_H_
#define LEMMA_GRAPH_DEFINE_OPERATOR_MEANING_H_

#include <vector>

#include "absl/status/status.h"
#include "graph/define/operator_syntax.h"
#include "graph/op_def.h"

namespace lemma::define {

// Defines an application of the operator `op`, as OpDef::define does. Adds the
// requirements that the text states, and these:
//   * sizes are not negative;
//   * divisors are positive;
//   * every read without "else" lies inside its tensor;
//   * integer attributes that are known are at most 2^31 in magnitude.
// If the text is wrong, if a divisor may not be positive, or if a read may lie
// outside its tensor, the error begins with the text's file and position. If
// the application does not meet another requirement, returns the error of
// OpContext::Fail.
absl::Status DefineFromText(const OperatorText& op, OpContext& context);

// Input types for the operator, to check its text: DefineFromText with these types reads every part
// of the text and reports its errors. All dimensions are symbolic and at least 1; equal names in
// the text give equal dimensions. Lists of sizes (such as `a..`) with equal names have equal
// lengths: the first name in the text has length `least`, the next new name `least` + 1, and so on.
std::vector<ExprType> SymbolicInputs(const OperatorText& op, int least);

}  // namespace lemma::define

#endif  // LEMMA_GRAPH_DEFINE_OPERATOR_MEANING_H_
