// Reads and writes models: ONNX, the text form or our protobuf.
#ifndef LEMMA_API_MODELS_MODEL_FILE_H_
#define LEMMA_API_MODELS_MODEL_FILE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/file.h"
#include "graph/graph.h"
#include "graph/onnx/model_info.h"
#include "graph/sizes/symbolic_size.h"
#include "graph/tensor.h"

namespace lemma::api {

enum class ModelFormat { kOnnx, kText, kProto };
const char* Name(ModelFormat format);

struct Model {
  std::string path;  // of its file; messages about the model begin with it. "": no file
  Graph graph;
  ModelFormat format = ModelFormat::kText;
  OnnxInfo info;                   // of an ONNX model
  std::vector<std::string> notes;  // decisions made while reading, one line each
  // Sizes of those symbolic dimensions that the values in LoadOptions::input_files determined, or
  // that got usual sizes (LoadOptions::fixes_sizes).
  std::map<std::string, int64_t> bound_dims;
  // Symbolic dimensions of inputs to which nothing gave a size: they have size 1.
  std::vector<std::string> default_dims;
  // Inputs whose values, from these files or LoadOptions::input_values, became part of the graph.
  // The graph is right for these values only.
  std::map<std::string, Tensor> fixed_inputs;
};

// Recognizes the format by content, not by name. Messages begin with the path. `dims` binds
// symbolic dimensions of ONNX models; `training` keeps their dropout operators. Errors as in
// ImportOnnx (graph/onnx/import.h); InvalidArgument if the file is of none of the formats.
absl::StatusOr<Model> LoadModel(const std::string& path,
                                const std::map<std::string, int64_t>& dims = {},
                                bool training = false);

// The same with more options.
struct LoadOptions {
  std::map<std::string, int64_t> dims;
  bool training = false;
  // Dimensions of an ONNX model that `dims` does not bind stay symbolic
  // (graph/sizes/symbolic_size.h), within `ranges`. If false, each gets the size that it has in the
  // values of inputs below, else 1, and a note says so.
  bool symbolic = false;
  // With `symbolic`: dimensions that an operator needs numbers for are fixed instead of an error,
  // unless `ranges` has them: to their sizes in the values of inputs, else to a usual size, such as
  // 224 for images (ImportOptions in graph/onnx/import.h). A note says so.
  bool fixes_sizes = false;
  std::map<std::string, SizeRange> ranges;
  // Values of the inputs, in their order: files of tensors, or folders with input_0.pb, …. Unless
  // `symbolic`, they bind symbolic dimensions. Values that operators need as constants, such as
  // shapes and axes, become part of the graph.
  std::vector<std::string> input_files;
  std::map<std::string, Tensor> input_values;  // the same, by name
  // Channels in a block of ONNX Runtime's layout NCHWc: 8 or 16. 0: as the model's convolutions
  // suggest, else 16.
  int64_t channel_block = 0;
  // Replaces the weights by random values (ReseedWeights in api/models/random_values.h).
  std::optional<uint64_t> reseed;
};
absl::StatusOr<Model> LoadModel(const std::string& path, const LoadOptions& options);

// Whether a file is text. An error if it is missing or empty; messages begin with the path.
absl::StatusOr<bool> IsTextFile(const std::string& path);

// The format that a path's ending selects: .onnx, .txt or .lemma (text), .pb (our protobuf).
// InvalidArgument for any other ending.
absl::StatusOr<ModelFormat> FormatOfPath(absl::string_view path);

// The error with `path` put before its message, unless the message already begins with it.
absl::Status Prefixed(const std::string& path, const absl::Status& status);

// Prepares the files of a model, so that they can be committed together with others (base/file.h).
// The file at `path` comes last. Unimplemented for symbolic sizes in a format other than ONNX.
// `notes` (null: not wanted) receives how an ONNX model had to differ from the one that was read.
absl::StatusOr<std::vector<StagedFile>> StageModel(const Model& model, const std::string& path,
                                                   ModelFormat format,
                                                   std::vector<std::string>* notes = nullptr);

// Prepares copies of the model's file, which had the hash `sha256` (64 hex digits) when it was
// read, and of the files with its weights. NotFound if the model's file has changed, if a file is
// missing, or if another file is where a file with weights has to go. Aborted if a file with
// weights has changed since it was read.
absl::StatusOr<std::vector<StagedFile>> StageCopy(const Model& model, const std::string& sha256,
                                                  const std::string& path);

// Writes the complete model or nothing.
absl::Status SaveModel(const Model& model, const std::string& path, ModelFormat format);

// Returns an error if one of `outputs` cannot be written, or would overwrite another output or an
// input. Called before the work, so that minutes of search do not end at a missing folder. Skips
// empty paths.
absl::Status CheckOutputs(const std::vector<std::string>& outputs,
                          const std::vector<std::string>& inputs);

// Writes `text` to a file, or to standard output if `path` is empty.
absl::Status WriteText(const std::string& path, const std::string& text);

}  // namespace lemma::api

#endif  // LEMMA_API_MODELS_MODEL_FILE_H_
