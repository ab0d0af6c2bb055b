// Executes one model at many sizes of its symbolic dimensions. Code: api/execution.
#ifndef LEMMA_API_SESSION_H_
#define LEMMA_API_SESSION_H_

#include <cstdint>
#include <list>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "api/execution/backends.h"
#include "api/models/model_file.h"
#include "api/models/model_inputs.h"
#include "graph/graph.h"
#include "graph/sizes/symbolic_size.h"
#include "graph/tensor.h"
#include "runtime/executor.h"

namespace lemma::api {

struct SessionOptions {
  ExecutionOptions execution;
  // The number of choices of sizes for which the model is kept ready, at least 1. Each choice has
  // kernels and an arena of its own; choices share the weights, and weights that kernels need in
  // the same layout. When the number is exceeded, the choice used longest ago is dropped.
  int max_plans = 16;
};

// Not thread-safe.
class Session {
 public:
  // The model keeps its symbolic dimensions (LoadOptions::symbolic); without any, it has one plan.
  static absl::StatusOr<std::unique_ptr<Session>> Open(const Model& model,
                                                       const SessionOptions& options = {});

  // Executes the model. Takes the sizes from the inputs, which are in the graph's order, and
  // prepares the model for them if they are new. InvalidArgument, with the input's name, if no
  // sizes of the dimensions give the inputs' shapes.
  absl::StatusOr<std::vector<Tensor>> Run(absl::Span<const Tensor> inputs);

  // Prepares the model for these sizes, one for each dimension, unless it is ready for them. The
  // plan is valid until Run or At prepares other sizes.
  struct Plan {
    Graph graph;
    std::unique_ptr<Executable> executable;
  };
  absl::StatusOr<const Plan*> At(const DimValues& sizes);

  // The number of choices of sizes for which the model is ready.
  int plans() const { return static_cast<int>(plans_.size()); }
  const Model& model() const { return model_; }
  int threads() const { return options_.execution.threads; }

 private:
  Session(Model model, const SessionOptions& options, std::unique_ptr<Backend> backend)
      : model_(std::move(model)), options_(options), backend_(std::move(backend)) {}

  Model model_;
  SessionOptions options_;
  std::unique_ptr<Backend> backend_;
  std::list<std::pair<DimValues, Plan>> plans_;  // the one used last comes first
};

// Times of a session's runs at one choice of sizes, as Stopwatch (base/stopwatch.h) measures them.
struct SizesTiming {
  DimValues sizes;         // of all dimensions
  double first_ms = 0;     // of the first run, which prepares the model for the sizes
  std::vector<double> ms;  // of the runs after it
  double again_ms = 0;     // of a run after all other sizes have been run
  MemoryUse memory;
};

// Runs the session's model at each of these choices of sizes, one after the other: once to prepare
// it, then `runs` times. Afterwards runs it once more at each choice. A choice may leave out
// dimensions; these get the usual sizes (DefaultSizes in api/models/sizes.h). `inputs` gives the
// values. Messages about the model begin with its path; those about options name them.
absl::StatusOr<std::vector<SizesTiming>> TimeAtSizes(Session* session,
                                                     absl::Span<const DimValues> sizes,
                                                     const InputOptions& inputs, int64_t runs);

}  // namespace lemma::api

#endif  // LEMMA_API_SESSION_H_
