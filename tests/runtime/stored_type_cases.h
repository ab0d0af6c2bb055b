// Test cases for the rounding of each operator's results to their element
// types. Other cases are for operators that choose or add up elements, where
// some elements are NaN or infinite.
#ifndef LEMMA_TESTS_RUNTIME_STORED_TYPE_CASES_H_
#define LEMMA_TESTS_RUNTIME_STORED_TYPE_CASES_H_

#include <vector>

#include "graph/graph.h"

namespace lemma {

struct StoredTypeCase {
  const char* name;
  const char* graph;                        // in the text form (graph/text/text.h)
  std::vector<std::vector<double>> inputs;  // by input: its elements, row-major
  std::vector<double> expected;             // the elements of the only output, row-major
};

// Cases whose expected results are NumPy's where NumPy has the operator and defines the result. A
// cast of a float that is out of an integer type's range saturates.
const std::vector<StoredTypeCase>& StoredTypeCases();
// Cases for integers of 4 and 2 bits and floats of 8 and 4 bits, which have no
// kernels for GPUs. NumPy has no such types: the expected results are computed
// by hand.
const std::vector<StoredTypeCase>& SmallTypeCases();
// The inputs of the case as tensors. `graph` is the case's graph, parsed.
std::vector<Tensor> InputsOf(const StoredTypeCase& c, const Graph& graph);

}  // namespace lemma

#endif  // LEMMA_TESTS_RUNTIME_STORED_TYPE_CASES_H_
