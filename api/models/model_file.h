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
  std::vector<std::string> default_dims;  // as in ImportedModel
  // Inputs whose values, from these files or LoadOptions::input_values, became part of the graph.
  // The graph is right for these values only.
  std::map<std::string, Tensor> fixed_inputs;
};

// Recognizes the format by content, not by name. Messages begin with the path. `dims` binds
// symbolic dimensions of ONNX models; `training` keeps their dropout operators.
absl::StatusOr<Model> LoadModel(const std::string& path,
                                const std::map<std::string, int64_t>& dims = {},
                                bool training = false);

// The same with more options.
struct LoadOptions {
  std::map<std::string, int64_t> dims;
  bool training = false;
  // Dimensions of an ONNX model that `dims` does not bind stay symbolic
  // (graph/sizes/symbolic_size.h), within `ranges`. If false, each gets the size that a given value
  // has there, else 1, and a note says so.
  bool symbolic = false;
  // With `symbolic`: dimensions that an operator needs numbers for get usual sizes instead of an
  // error, unless `ranges` has them; a note says so.
  bool fixes_sizes = false;
  std::map<std::string, SizeRange> ranges;
  // Values of the inputs, as InputOptions::files. Unless `symbolic`, they bind symbolic
  // dimensions. Values that operators need as constants, such as shapes and axes, become part of
  // the graph.
  std::vector<std::string> input_files;
  std::map<std::string, Tensor> input_values;  // the same, by name
  int64_t channel_block = 0;                   // as ImportOptions::channel_block
  std::optional<uint64_t> reseed;  // replaces the weights by random values (ReseedWeights)
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

// Prepares a copy of a file as it was read, and of the files with its weights. NotFound if the
// file has changed since (its SHA-256 differs), or if the place of a file with weights is taken by
// a file with other contents. Aborted if a file with weights has changed since.
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
