#include "api/models/model_inputs.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "api/models/option_error.h"
#include "api/models/random_values.h"
#include "api/models/tensor_files.h"
#include "graph/sizes/symbolic_size.h"
#include "runtime/executor.h"

namespace lemma::api {
namespace {

// Computes a lower bound of the bytes that a run needs: the inputs, and the operands and results of
// the largest operator. An error names the largest value.
absl::Status CheckMemory(const Graph& graph, double max_gb) {
  auto gb = [](const TensorType& type) {
    // What is known only at run time cannot be refused before.
    return IsSymbolic(type.shape) ? 0.0 : static_cast<double>(type.num_bytes()) * 1e-9;
  };
  double kept = 0, most = 0, largest = 0;
  std::string name;
  for (const NodePtr& node : graph.nodes()) {
    double here = 0;
    for (int i = 0; i < node->num_outputs(); ++i) {
      here += gb(node->type(i));
      if (gb(node->type(i)) <= largest) continue;
      largest = gb(node->type(i));
      const absl::string_view label = graph.LabelOf(Value(node, i));
      const std::string shown = label.empty() ? std::string() : absl::StrCat("'", label, "' ");
      name = absl::StrCat(node->is_op() ? node->op().name + " " : "", shown, "of type ",
                          node->type(i).ToString());
    }
    if (node->is_op()) {
      for (const Value& v : node->inputs()) here += v.node().is_op() ? gb(v.type()) : 0;
      most = std::max(most, here);
    } else {
      kept += here;
    }
  }
  if (kept + most <= max_gb) return absl::OkStatus();
  return MarkOptionError(absl::ResourceExhaustedError(
      absl::StrFormat("needs %.4g GB of memory or more, above option max_memory_gb %.4g; the "
                      "largest value is %s",
                      kept + most, max_gb, name)));
}

}  // namespace

double HalfOfMemoryGb() {
  const double bytes =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
  return std::max(1.0, std::floor(bytes * 1e-9 / 2));
}

absl::Status CheckInputOptions(const InputOptions& options) {
  if (options.int_range < 1) return OptionError("option int_range: must be at least 1");
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Tensor>> GivenInputs(const Model& model,
                                                const std::vector<std::string>& files) {
  auto tensors = ReadTensors(files, "input_");
  const Graph& graph = model.graph;
  if (!tensors.ok() || tensors->size() == graph.inputs().size()) return tensors;
  for (size_t i = 0; i < graph.inputs().size() && i <= tensors->size(); ++i) {
    auto value = model.info.defaults.find(graph.input_names()[i]);
    if (value == model.info.defaults.end()) continue;
    tensors->insert(tensors->begin() + static_cast<std::ptrdiff_t>(i), value->second);
  }
  return tensors;
}

absl::StatusOr<std::vector<Tensor>> InputsOf(const Model& model, const InputOptions& options) {
  const Graph& graph = model.graph;
  if (absl::Status s = CheckInputOptions(options); !s.ok()) return s;
  if (absl::Status s = CheckMemory(graph, options.max_memory_gb); !s.ok()) return s;
  const bool random = options.files.empty();
  auto tensors = random
                     ? RandomInputs(graph, static_cast<uint64_t>(options.seed), options.int_range)
                     : GivenInputs(model, options.files);
  if (!tensors.ok()) return tensors.status();
  for (size_t i = 0; i < graph.inputs().size() && random; ++i) {
    auto value = model.info.defaults.find(graph.input_names()[i]);
    if (value != model.info.defaults.end()) (*tensors)[i] = value->second;
  }
  if (absl::Status s = CheckInputs(graph, *tensors); !s.ok()) return s;
  return tensors;
}

}  // namespace lemma::api
