// Chooses sizes for models with symbolic dimensions (graph/sizes/symbolic_size.h), and lists the
// dimensions.
#ifndef LEMMA_API_MODELS_SIZES_H_
#define LEMMA_API_MODELS_SIZES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "api/models/model_file.h"
#include "graph/sizes/symbolic_size.h"

namespace lemma::api {

// The sizes at which a model is priced and executed unless others are given, for all dimensions:
// the usual size (UsualSize in graph/sizes/symbolic_size.h), or the nearest size in the dimension's
// range. A result size (docs/glossary.md) is 16, or its largest value if that is less. If `length`
// is not 0, it replaces each usual size other than 1.
DimValues DefaultSizes(const Graph& graph, int64_t length = 0);

// The sizes that a user gave, and those of DefaultSizes for the other dimensions. InvalidArgument
// if a name is not a dimension of the graph, or a size is outside its range.
absl::StatusOr<DimValues> CompleteSizes(const Graph& graph, const DimValues& given);

// The model with these sizes in place of its symbolic dimensions. Errors as in Specialize
// (graph/sizes/specialize.h).
absl::StatusOr<Model> AtSizes(const Model& model, const DimValues& sizes);

// A symbolic dimension of an ONNX model's inputs.
struct SymbolicDim {
  std::string name;   // as --dim takes it: "batch", or "x.0" for axis 0 of input x
  std::string input;  // the first input that has it
  int64_t size = 0;   // its size in the graph; a symbolic size if it has none yet
};
// The symbolic dimensions in the order of the inputs; each once.
std::vector<SymbolicDim> SymbolicDimsOf(const Model& model);

}  // namespace lemma::api

#endif  // LEMMA_API_MODELS_SIZES_H_
