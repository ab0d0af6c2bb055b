// Compares the import of a model for all sizes with its imports for some sizes.
#ifndef LEMMA_TESTS_GRAPH_ONNX_SYMBOLIC_ALL_SIZES_H_
#define LEMMA_TESTS_GRAPH_ONNX_SYMBOLIC_ALL_SIZES_H_

#include <onnx/onnx_pb.h>

#include <map>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/onnx/import.h"
#include "graph/sizes/specialize.h"
#include "graph/sizes/symbolic_size.h"
#include "graph/tensor.h"

namespace lemma {

// Dimensions stay symbolic, in these ranges.
ImportOptions Symbolic(std::map<std::string, SizeRange> ranges = {});

// The outputs of the reference back end on random inputs, which are the same for equal types.
std::vector<Tensor> RunOnReference(const Graph& graph);

// The running test fails unless both graphs give the same bytes. `what` names them in messages.
void ExpectSame(const Graph& a, const Graph& b, const std::string& what);

// The running test fails unless the import for all sizes is, at each of `sizes`, the import for
// that size, before and after an export.
void ExpectOneModelForAllSizes(const onnx::ModelProto& model, const std::vector<DimValues>& sizes,
                               const std::map<std::string, SizeRange>& ranges = {});

}  // namespace lemma

#endif  // LEMMA_TESTS_GRAPH_ONNX_SYMBOLIC_ALL_SIZES_H_
