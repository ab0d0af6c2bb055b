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
  // Such as "conv2d(x, w, bias?)". "?" marks an operand that may be absent, "…" an operand that may
  // be repeated.
  std::string signature;
  std::string group;  // "convolution"
};
// In the order of docs/operators.md: by group, and by name in each group. Operators of files
// follow, in the order in which they were defined.
std::vector<OperatorEntry> ListOperators();
// The same as a table for people.
std::string OperatorList();
// The section of docs/operators.md about an operator; for an operator of a file, a section of the
// same form. InvalidArgument if no operator has this name; the message names a similar operator, if
// there is one.
absl::StatusOr<std::string> OperatorPage(const std::string& name);

// Facts about an ONNX model, one line each: its operator sets, IR version and
// producer; each symbolic dimension, with its size if the model was read with a
// size for it; its opaque operators with counts. Empty for other formats.
std::vector<std::string> OnnxHeader(const Model& model);

// Sums over all nodes of a graph that apply one operator.
struct OperatorTotals {
  int64_t count = 0;
  // Scalar operations, and bytes read and written. Nodes whose work cannot be counted, such as
  // opaque operators (docs/glossary.md), add nothing.
  double flops = 0, bytes = 0;
};
// The totals of each operator in the graph, by the operator's name.
std::map<std::string, OperatorTotals> OperatorsOf(const Graph& graph);
// The bytes of all weights and constants.
int64_t WeightBytes(const Graph& graph);
// The model for people: the lines of OnnxHeader, inputs and outputs, and a table of the totals.
std::string OperatorTable(const Model& model);

// The kernels and the memory that the back end would use. Errors begin with the model's path.
absl::StatusOr<PlanSummary> PlanOf(const Model& model, const ExecutionOptions& execution);
// The plan for people. `backend`: the back end that made it.
std::string TextOf(const PlanSummary& plan, const std::string& backend);

// Memory of intermediate values over a run.
struct MemoryOverRun {
  struct Kernel {
    std::string name;        // the first operator and the label of the last result; or "copy"
    int64_t live_bytes = 0;  // bytes of all values that live while it runs
  };
  struct LiveValue {
    // name: the value's label or, without a label, the operator that computes it. type: such as
    // "f32[2,3]". If the memory holds no value of the graph, name is a text such as "a copy" or
    // "scratch of the kernel", and type is "".
    std::string name, type;
    int64_t bytes = 0;
    int first = 0, last = 0;  // indices of the first and last kernel during which it lives
  };
  std::vector<Kernel> kernels;     // in the order in which they run
  int peak = 0;                    // index of the first kernel with the most live bytes
  int64_t live_bytes = 0;          // live bytes during kernel `peak`
  int64_t arena_bytes = 0;         // size of the arena, with gaps between values
  std::vector<LiveValue> at_peak;  // values that live during kernel `peak`, the largest first
};
// The memory by the back end's plan; nothing is executed. InvalidArgument, about option backend, if
// this back end makes no plan; Unimplemented if its plan has no lifetimes. Errors about the model
// begin with its path.
absl::StatusOr<MemoryOverRun> MemoryOf(const Model& model, const ExecutionOptions& execution);
// The memory for people: a bar chart, and the largest values at the peak.
std::string TextOf(const MemoryOverRun& memory);

}  // namespace lemma::api

#endif  // LEMMA_API_INSPECT_H_
