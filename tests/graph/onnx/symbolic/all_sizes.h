// Checks symbolic dimensions: a model that is imported with them must give the same outputs as the
// model that is imported at concrete sizes.
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

// Import options that keep dimensions symbolic. `ranges` gives the range of a dimension by its
// name.
ImportOptions Symbolic(std::map<std::string, SizeRange> ranges = {});

// The outputs of the reference back end on random inputs. Graphs whose inputs have equal types get
// equal inputs. Empty if the graph cannot run; the running test then fails.
std::vector<Tensor> RunOnReference(const Graph& graph);

// The running test fails unless RunOnReference gives the same bytes for both graphs. `what` names
// them in messages.
void ExpectSame(const Graph& a, const Graph& b, const std::string& what);

// Imports `model` with symbolic dimensions, and once more at each of `sizes`. The running test
// fails unless both imports give the same outputs (ExpectSame) at these sizes. The same must hold
// after the symbolic import was exported and imported again. The symbolic import must keep no
// operator opaque, and its exports must pass CheckWithOnnx. `ranges` is as in Symbolic.
void ExpectOneModelForAllSizes(const onnx::ModelProto& model, const std::vector<DimValues>& sizes,
                               const std::map<std::string, SizeRange>& ranges = {});

}  // namespace lemma

#endif  // LEMMA_TESTS_GRAPH_ONNX_SYMBOLIC_ALL_SIZES_H_
