// Executes one model at many sizes of its symbolic dimensions. Code: api/execution.
#ifndef LEMMA_API_SESSION_H_
#define LEMMA_API_SESSION_H_

#include <cstdint>
#include <list>
#include <memory>
#include <string>
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
  // The most choices of sizes for which the model is kept ready, at least 1. Each choice has its
  // own kernels and its own arena. All choices share the weights; kernels that need a weight in the
  // same layout also share the copy in this layout. If there are too many choices, the least
  // recently used choice is dropped.
  int max_plans = 16;
};

// A model that is kept ready at several choices of sizes. Not thread-safe.
class Session {
 public:
  // `model` must have been loaded with LoadOptions::symbolic to keep its symbolic dimensions. A
  // model without symbolic dimensions has one plan.
  static absl::StatusOr<std::unique_ptr<Session>> Open(const Model& model,
                                                       const SessionOptions& options = {});

  // Executes the model. `inputs` are in the graph's order, and their shapes determine the sizes.
  // First prepares the model for these sizes, unless it is ready for them. InvalidArgument, with
  // the input's name, if no sizes of the dimensions give the inputs' shapes.
  absl::StatusOr<std::vector<Tensor>> Run(absl::Span<const Tensor> inputs);

  // The model, ready at one choice of sizes.
  struct Plan {
    Graph graph;
    std::unique_ptr<Executable> executable;
  };
  // Prepares the model for these sizes, one for each dimension that is no result size, unless it is
  // ready for them. The plan is valid until Run or At prepares other sizes.
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
  DimValues sizes;         // of all dimensions except result sizes
  double first_ms = 0;     // of the first run, which prepares the model for the sizes
  std::vector<double> ms;  // of each of the following runs
  double again_ms = 0;     // of one more run, after all choices of sizes have been run
  MemoryUse memory;        // of the plan for these sizes
};

// Runs the session's model at each choice in `sizes`, one after the other: once to prepare it, then
// `runs` times (at least 0). Afterwards runs it once more at each choice. A choice may leave out
// dimensions; these get the usual sizes (DefaultSizes in api/models/sizes.h). `inputs` determines
// the values of the inputs. Messages about the model begin with its path; messages about an option
// name the option.
absl::StatusOr<std::vector<SizesTiming>> TimeAtSizes(Session* session,
                                                     absl::Span<const DimValues> sizes,
                                                     const InputOptions& inputs, int64_t runs);
// The times as a table for people.
std::string TextOf(const std::vector<SizesTiming>& timings);

}  // namespace lemma::api

#endif  // LEMMA_API_SESSION_H_
