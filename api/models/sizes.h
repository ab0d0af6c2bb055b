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

// A size for each symbolic dimension of the graph. The model is priced and executed at these sizes
// if no others are given. They are made in two steps:
//   1. A dimension gets its usual size (UsualSize in graph/sizes/symbolic_size.h), or the nearest
//      size in its range. If `length` is not 0, it replaces each usual size other than 1. A result
//      size (docs/glossary.md) is 16, or the largest value of its range if this is less.
//      A size in `given` is taken instead, and step 2 does not change it.
//   2. Within the ranges, sizes are changed so that dimensions with names such as total_X get the
//      sums that their names say (FitTotals in graph/sizes/totals.h), and so that the equations in
//      AssumptionsOf(graph) (graph/sizes/assumptions.h) hold.
DimValues DefaultSizes(const Graph& graph, int64_t length = 0, const DimValues& given = {});

// DefaultSizes with these sizes given. InvalidArgument if a name is not a dimension of the graph,
// or a size is outside its dimension's range.
absl::StatusOr<DimValues> CompleteSizes(const Graph& graph, const DimValues& given);

// The model with these sizes in place of its symbolic dimensions, except result sizes, which are
// found by running. Errors as in Specialize (graph/sizes/specialize.h).
absl::StatusOr<Model> AtSizes(const Model& model, const DimValues& sizes);

// Reads a model with symbolic sizes or, in two cases, with fixed sizes: if it cannot be read with
// symbolic sizes, or if fewer of its operators, not counting Loop and Scan, are opaque
// (docs/glossary.md) at the sizes of options.input_files. With options.ranges, neither case
// applies. `*note` becomes a line for people if sizes are fixed, else "". options.symbolic and
// options.fixes_sizes have no effect. Errors as in LoadModel.
absl::StatusOr<Model> LoadWithSymbolicSizes(const std::string& path, LoadOptions options,
                                            std::string* note);

// A symbolic dimension of an ONNX model's inputs.
struct SymbolicDim {
  std::string name;   // as --dim takes it: "batch", or "x.0" for axis 0 of input x
  std::string input;  // the first input that has it
  // The size in the graph: a number if the model was read with one for this dimension (--dim),
  // otherwise a symbolic size (graph/sizes/symbolic_size.h).
  int64_t size = 0;
};
// The symbolic dimensions in the order of the inputs; each once.
std::vector<SymbolicDim> SymbolicDimsOf(const Model& model);

}  // namespace lemma::api

#endif  // LEMMA_API_MODELS_SIZES_H_
