// Prints the operator reference (docs/operators.md) from the operator table.
#ifndef LEMMA_GRAPH_OP_REFERENCE_H_
#define LEMMA_GRAPH_OP_REFERENCE_H_

#include <string>
#include <vector>

#include "graph/op_def.h"

namespace lemma {

// All operators of the table as one Markdown page: groups in the order of the table, and in each
// group the operators by name.
std::string OperatorReference();

struct OperatorGroup {
  std::string name;  // OpDef::group
  std::vector<const OpDef*> operators;
};
// The groups of the operator reference, in its order.
std::vector<OperatorGroup> OperatorGroups();

// "conv2d(x, w, bias?)": an operand with ? may be left out, an operand with … repeats.
std::string OperatorSignature(const OpDef& op);
// The operator's section of the operator reference: signature, equation, notes, attributes, an
// example, whether the operator lacks a gradient, and the ONNX operators in OpDef::onnx_import.
std::string OperatorSection(const OpDef& op);

}  // namespace lemma

#endif  // LEMMA_GRAPH_OP_REFERENCE_H_
