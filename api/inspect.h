// Lists operators, and inspects a model: its operators and weights, and the kernels and memory that
// a back end would use for it. Code: api/inspection.
#ifndef LEMMA_API_INSPECT_H_
#define LEMMA_API_INSPECT_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "api/execution/backends.h"
#include "api/models/model_file.h"
#include "api/models/sizes.h"
#include "graph/graph.h"
#include "runtime/executor.h"

namespace lemma::api {

// An operator of the table (docs/operators.md) or of a file (api/define.h).
struct OperatorEntry {
  std::string signature;  // "conv2d(x, w, bias?)": ? may be left out, … repeats
  std::string group;      // "convolution"
};
// In the order of docs/operators.md: by group, and by name in each group. Those of files follow.
std::vector<OperatorEntry> ListOperators();
// An operator's section of docs/operators.md, or the same for one of a file. InvalidArgument, with
// the nearest name, if there is none of that name.
absl::StatusOr<std::string> OperatorPage(const std::string& name);

// Facts about an ONNX model, one line each: its operator sets, IR version and producer; each
// symbolic dimension with its size, if it got one; its unknown operators with counts. Empty for
// other formats.
std::vector<std::string> OnnxHeader(const Model& model);

// Sums over all applications of one operator in a graph.
struct OperatorTotals {
  int64_t count = 0;
  // Scalar operations, and bytes read and written. Applications whose work cannot be counted, such
  // as those of opaque operators, add nothing.
  double flops = 0, bytes = 0;
};
// By the operator's name.
std::map<std::string, OperatorTotals> OperatorsOf(const Graph& graph);
// The bytes of all weights and constants.
int64_t WeightBytes(const Graph& graph);

// The kernels and the memory that the back end would use. Errors begin with the model's path.
absl::StatusOr<PlanSummary> PlanOf(const Model& model, const ExecutionOptions& execution);

// Memory of intermediate values over a run.
struct MemoryOverRun {
  struct Kernel {
    std::string name;        // its operator, and the label of what it computes
    int64_t live_bytes = 0;  // of all values while it runs
  };
  struct LiveValue {
    // The name is its label, or the operator that computes it. The type is "f32[2,3]", or "" for a
    // copy and for scratch memory of a kernel.
    std::string name, type;
    int64_t bytes = 0;
    int first = 0, last = 0;  // the first and last kernel during which it lives
  };
  std::vector<Kernel> kernels;     // in the order in which they run
  int peak = 0;                    // the first kernel with the most live bytes
  int64_t live_bytes = 0;          // during that kernel
  int64_t arena_bytes = 0;         // including gaps between values
  std::vector<LiveValue> at_peak;  // the largest first
};
// Follows the back end's plan. InvalidArgument, about option backend, if that back end makes no
// plan; Unimplemented if its plan has no lifetimes. Errors about the model begin with its path.
absl::StatusOr<MemoryOverRun> MemoryOf(const Model& model, const ExecutionOptions& execution);

}  // namespace lemma::api

#endif  // LEMMA_API_INSPECT_H_
