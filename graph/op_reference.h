// The operator reference, printed from the operator table.
#ifndef LEMMA_GRAPH_OP_REFERENCE_H_
#define LEMMA_GRAPH_OP_REFERENCE_H_

#include <string>

namespace lemma {

// All operators as one Markdown page: groups in the order of the table, operators by name.
std::string OperatorReference();

}  // namespace lemma

#endif  // LEMMA_GRAPH_OP_REFERENCE_H_
