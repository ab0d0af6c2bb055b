// Sizes for models with symbolic dimensions (graph/sizes/symbolic_size.h).
#ifndef LEMMA_API_MODELS_SIZES_H_
#define LEMMA_API_MODELS_SIZES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "api/models/model_file.h"
#include "graph/sizes/symbolic_size.h"

namespace lemma::api {

// Sizes to price and execute a model at if nothing says others: 1 for the first dimension of an
// input, 224 for the last two of four, 128 for others, or the nearest in range; 16 for a result's
// size, or its bound.
DimValues DefaultSizes(const Graph& graph);

// The sizes of a graph that a user names. InvalidArgument if one is not a dimension of the graph's,
// or outside its range; dimensions that are not named get those of DefaultSizes.
absl::StatusOr<DimValues> CompleteSizes(const Graph& graph, const DimValues& given);

// The model for these sizes.
absl::StatusOr<Model> AtSizes(const Model& model, const DimValues& sizes);

// A symbolic dimension of an ONNX model's inputs.
struct SymbolicDim {
  std::string name;   // as --dim takes it: "batch", or "x.0" for axis 0 of input x
  std::string input;  // the first input that has it
  int64_t size = 0;   // in the graph
};
// In the order of the inputs; each once.
std::vector<SymbolicDim> SymbolicDimsOf(const Model& model);

}  // namespace lemma::api

#endif  // LEMMA_API_MODELS_SIZES_H_
