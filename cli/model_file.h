// Model files: ONNX, the text form or our protobuf.
#ifndef LEMMA_CLI_MODEL_FILE_H_
#define LEMMA_CLI_MODEL_FILE_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/graph.h"
#include "graph/onnx/model_info.h"

namespace lemma::cli {

enum class ModelFormat { kOnnx, kText, kProto };
const char* Name(ModelFormat format);

struct Model {
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

// Whether a file, which must exist and not be empty, is text. Messages begin with the path.
absl::StatusOr<bool> IsTextFile(const std::string& path);

// The format that a path's ending asks for: .onnx, .txt or .lemma (text), .pb or .graphpb (ours).
absl::StatusOr<ModelFormat> FormatOfPath(absl::string_view path);

// The status with `path` in front of its message, unless it begins with it.
absl::Status Prefixed(const std::string& path, const absl::Status& status);

// Complete, or nothing is written.
absl::Status SaveModel(const Model& model, const std::string& path, ModelFormat format);

// Fails as SaveModel would where that can be told beforehand: minutes of search should not end in a
// missing folder.
absl::Status CheckWritable(const std::string& path);

// Writes `text` to a file, or to standard output if `path` is empty.
absl::Status WriteText(const std::string& path, const std::string& text);

}  // namespace lemma::cli

#endif  // LEMMA_CLI_MODEL_FILE_H_
