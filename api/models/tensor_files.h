// Reads and writes a model's inputs and outputs as files: ONNX's TensorProto or NumPy's .npy.
#ifndef LEMMA_API_MODELS_TENSOR_FILES_H_
#define LEMMA_API_MODELS_TENSOR_FILES_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "graph/tensor.h"

namespace lemma::api {

// Reads a tensor from each file; its content, not its name, tells the format. A folder stands for
// the files PREFIX0.pb (or PREFIX0.npy), PREFIX1.pb, … in it, up to the first file that is missing;
// NotFound if there are none. `prefix` is "input_" or "output_". Messages name the file.
absl::StatusOr<std::vector<Tensor>> ReadTensors(const std::vector<std::string>& paths,
                                                const std::string& prefix);

enum class TensorFormat { kProto, kNpy };

// Where SaveOutputs writes output `i`: FOLDER/output_0.pb, for instance.
std::string OutputPath(const std::string& folder, size_t i, TensorFormat format);

// Writes the outputs of `graph` to output_0.pb, …, or output_0.npy, … in a folder, which is created
// if it is missing. After an error, some of the files may have been written.
absl::Status SaveOutputs(const Graph& graph, absl::Span<const Tensor> outputs,
                         const std::string& folder, TensorFormat format = TensorFormat::kProto);

}  // namespace lemma::api

#endif  // LEMMA_API_MODELS_TENSOR_FILES_H_
