// Model files: ONNX, the text form or our protobuf.
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

namespace lemma::api {

enum class ModelFormat { kOnnx, kText, kProto };
const char* Name(ModelFormat format);

struct Model {
  std::string path;  // of its file, with which messages about it begin; "": none
  Graph graph;
  ModelFormat format = ModelFormat::kText;
  OnnxInfo info;                   // of an ONNX model
  std::vector<std::string> notes;  // what was decided while reading, one line each
};

// Told apart by content, not by name. Messages begin with the path. `dims` binds symbolic
// dimensions of ONNX models; `training` keeps their dropouts.
absl::StatusOr<Model> LoadModel(const std::string& path,
                                const std::map<std::string, int64_t>& dims = {},
                                bool training = false);

// The same with more to choose.
struct LoadOptions {
  std::map<std::string, int64_t> dims;
  bool training = false;
  std::optional<uint64_t> reseed;  // weights are filled with random values of this seed
};
absl::StatusOr<Model> LoadModel(const std::string& path, const LoadOptions& options);

// Whether a file, which must exist and not be empty, is text. Messages begin with the path.
absl::StatusOr<bool> IsTextFile(const std::string& path);

// The format that a path's ending asks for: .onnx, .txt or .lemma (text), .pb or .graphpb (ours).
absl::StatusOr<ModelFormat> FormatOfPath(absl::string_view path);

// The error with `path` in front of its message, unless it begins with it.
absl::Status Prefixed(const std::string& path, const absl::Status& status);

// The files of a model, the one called `path` last, to be committed together with others.
absl::StatusOr<std::vector<StagedFile>> StageModel(const Model& model, const std::string& path,
                                                   ModelFormat format);

// Complete, or nothing is written.
absl::Status SaveModel(const Model& model, const std::string& path, ModelFormat format);

// Fails where writing `outputs` (those that are empty are none) would, as far as that can be told:
// minutes of search should not end in a missing folder. Nor may an output take the place of another
// one, or of an input: what cannot be got back is not overwritten unasked.
absl::Status CheckOutputs(const std::vector<std::string>& outputs,
                          const std::vector<std::string>& inputs);

// Writes `text` to a file, or to standard output if `path` is empty.
absl::Status WriteText(const std::string& path, const std::string& text);

}  // namespace lemma::api

#endif  // LEMMA_API_MODELS_MODEL_FILE_H_
