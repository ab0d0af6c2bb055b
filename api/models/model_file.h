// Reads and writes models: ONNX, the text form, or Lemma's protobuf form.
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
const char* Name(ModelFormat format);  // "onnx", "text", "proto"

struct Model {
  std::string path;  // path of its file; messages about the model begin with this path; "": no file
  Graph graph;
  ModelFormat format = ModelFormat::kText;
  OnnxInfo info;                   // facts about an ONNX model besides its nodes; else empty
  std::vector<std::string> notes;  // decisions made while reading, one line each
  // By name, sizes of symbolic dimensions that were not in LoadOptions::dims: sizes that the given
  // values of inputs have, and sizes that LoadOptions::fixes_sizes chose.
  std::map<std::string, int64_t> bound_dims;
  // Symbolic dimensions of inputs that have size 1 because nothing gave them another size.
  std::vector<std::string> default_dims;
  // By name, inputs whose given values (LoadOptions::input_files, input_values) became part of the
  // graph. The graph is right for these values only.
  std::map<std::string, Tensor> fixed_inputs;
  // Whether the model uses the layout NCHWc, and neither LoadOptions::channel_block nor the model
  // tells whether its blocks have 8 or 16 channels.
  bool guesses_channel_block = false;
};

// Reads a model. Recognizes the format by content, not by name. Messages name the file.
// `dims` and `training` concern ONNX models only: `dims` gives sizes to symbolic dimensions, by
// name; `training` keeps operators that act in training only, such as Dropout. Errors as in
// ImportOnnx (graph/onnx/import.h); InvalidArgument if the file has none of the formats.
absl::StatusOr<Model> LoadModel(const std::string& path,
                                const std::map<std::string, int64_t>& dims = {},
                                bool training = false);

// Options of the second LoadModel. All options but `reseed` concern ONNX models only.
struct LoadOptions {
  std::map<std::string, int64_t> dims;  // as above; InvalidArgument for other formats
  bool training = false;                // as above
  // True: symbolic dimensions without a size in `dims` stay symbolic (graph/sizes/symbolic_size.h),
  // within `ranges`. False: each of them gets the size that it has in the values of inputs below
  // or, without such values, size 1; a note says so.
  bool symbolic = false;
  // With `symbolic`: if an operator needs a number for a symbolic dimension that `ranges` does not
  // have, the dimension is fixed, and a note says so. It gets the size that it has in the values of
  // inputs or, without such values, a usual size, such as 224 for images (ImportOptions in
  // graph/onnx/import.h). If this option is false, such an operator is an error.
  bool fixes_sizes = false;
  std::map<std::string, SizeRange> ranges;  // of symbolic dimensions, by name
  // By dimension, a size at which the model will be used. With fixes_sizes, the
  // least size of the dimension may be raised, but not above this size
  // (ImportOptions in graph/onnx/import.h).
  std::map<std::string, int64_t> used_sizes;
  // Values of the inputs, in their order: files of tensors, or folders with input_0.pb, …. If
  // `symbolic` is false, they give sizes to symbolic dimensions. Values that operators need as
  // constants, such as shapes and axes, become part of the graph.
  std::vector<std::string> input_files;
  std::map<std::string, Tensor> input_values;  // the same, by the input's name
  // Whether the number of iterations of a Loop stays open, even if these values
  // determine it (ImportOptions in graph/onnx/import.h).
  bool keeps_loops = false;
  // Channels in a block of ONNX Runtime's layout NCHWc: 8 or 16. 0: 8 if the model's convolutions
  // show that 16 is impossible, otherwise 16.
  int64_t channel_block = 0;
  // Replaces the weights by random values (ReseedWeights in api/models/random_values.h).
  std::optional<uint64_t> reseed;
};
absl::StatusOr<Model> LoadModel(const std::string& path, const LoadOptions& options);

// Whether a file is text. An error if the file is missing or empty; messages begin with the path.
absl::StatusOr<bool> IsTextFile(const std::string& path);

// The format that a path's ending selects: .onnx, .txt or .lemma (text), .pb (Lemma's protobuf
// form). InvalidArgument for any other ending.
absl::StatusOr<ModelFormat> FormatOfPath(absl::string_view path);

// The error, with "PATH: " before its message unless the message already begins with `path`. Keeps
// payloads. An OK status stays OK.
absl::Status Prefixed(const std::string& path, const absl::Status& status);

// Prepares the files of a model, so that they can be committed together with other files
// (base/file.h). In the returned list, the file at `path` comes last. Unimplemented for symbolic
// sizes in a format other than ONNX. `notes` (null: not wanted) receives one line for each change
// that the written ONNX model needs, compared with the model that was read.
absl::StatusOr<std::vector<StagedFile>> StageModel(const Model& model, const std::string& path,
                                                   ModelFormat format,
                                                   std::vector<std::string>* notes = nullptr);

// Prepares a copy of the model's file at `path`, and copies of the files with its weights in the
// folder of `path`. `sha256` is the hash of the model's file when it was read (64 hex digits).
// NotFound if the model's file has changed since then, if a file cannot be read, if a file with
// other contents is already at the place of a file with weights, or if a copy of a file with
// weights cannot be written. Aborted if a file with weights has changed since it was read, or if a
// file changes while it is copied. Errors as in StagedFile::Write (base/file.h) if the copy at
// `path` cannot be written.
absl::StatusOr<std::vector<StagedFile>> StageCopy(const Model& model, const std::string& sha256,
                                                  const std::string& path);

// Writes a model. Replaces no file before all its files are complete on disk.
absl::Status SaveModel(const Model& model, const std::string& path, ModelFormat format);

// Returns an error if one of `outputs` cannot be written, or would overwrite another output or an
// input. Call it before long work, so that the work is not lost to a missing folder. Skips empty
// paths.
absl::Status CheckOutputs(const std::vector<std::string>& outputs,
                          const std::vector<std::string>& inputs);

// Writes `text` to a file, or to standard output if `path` is empty.
absl::Status WriteText(const std::string& path, const std::string& text);

}  // namespace lemma::api

#endif  // LEMMA_API_MODELS_MODEL_FILE_H_
