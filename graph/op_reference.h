// The operator reference, printed from the operator table.
#ifndef LEMMA_GRAPH_OP_REFERENCE_H_
#define LEMMA_GRAPH_OP_REFERENCE_H_

#include <string>
#include <vector>

#include "graph/op_def.h"

namespace lemma {

// All operators as one Markdown page: groups in the order of the table, operators by name.
std::string OperatorReference();

struct OperatorGroup {
  std::string name;
  std::vector<const OpDef*> operators;
};
// The groups of that page.
std::vector<OperatorGroup> OperatorGroups();

// "conv2d(x, w, bias?)": an operand with ? may be left out, one with … repeats.
std::string OperatorSignature(const OpDef& op);
// The section of that page about the operator.
std::string OperatorSection(const OpDef& op);

}  // namespace lemma

#endif  // LEMMA_GRAPH_OP_REFERENCE_H_
