// Makes the definition of an operator from its syntax tree (operator_syntax.h).
#ifndef LEMMA_GRAPH_DEFINE_OPERATOR_MEANING_H_
#define LEMMA_GRAPH_DEFINE_OPERATOR_MEANING_H_

#include <vector>

#include "absl/status/status.h"
#include "graph/define/operator_syntax.h"
#include "graph/op_def.h"

namespace lemma::define {

// Defines an application of the operator `op`, as its OpDef::define. Besides the requirements that
// the text states, it requires that sizes are not negative, that divisors are positive, that every
// read without "else" lies inside its tensor, and that integer attributes are at most 2^31 in
// magnitude, where they are known. Returns an error that begins with file and
// position if the text is wrong, if a divisor is not positive, or if a read may lie outside; and an
// error of OpContext::Fail if the application does not meet another requirement.
absl::Status DefineFromText(const OperatorText& op, OpContext& context);

// Input types for the operator, to check its text: DefineFromText with these types reads every part
// of the text and reports its errors. All dimensions are symbolic and at least 1; equal names in
// the text give equal dimensions. Lists of sizes (such as `a..`) with equal names have equal
// lengths: the first name in the text has length `least`, the next new name `least` + 1, and so on.
std::vector<ExprType> SymbolicInputs(const OperatorText& op, int least);

}  // namespace lemma::define

#endif  // LEMMA_GRAPH_DEFINE_OPERATOR_MEANING_H_
