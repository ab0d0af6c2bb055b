// Reads and writes named tensors in the safetensors format: eight bytes with the length of a
// header, the header in JSON, then the tensors' bytes without gaps.
#ifndef LEMMA_GRAPH_SAFETENSORS_H_
#define LEMMA_GRAPH_SAFETENSORS_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file.h"
#include "graph/tensor.h"

namespace lemma {

// The contents of a file: tensors by name, and texts by key ("__metadata__" in the format).
struct NamedTensors {
  std::map<std::string, Tensor> tensors;
  std::map<std::string, std::string> metadata;
};

// Reads the whole file. NotFound if it does not exist. InvalidArgument, with the path, if the file
// is not of this format, if offsets, types and shapes contradict each other or the file's length,
// if Lemma lacks a tensor's element type, or if a bool is neither 0 nor 1. ResourceExhausted if
// memory runs out.
absl::StatusOr<NamedTensors> ReadSafetensors(const std::string& path);

// Writes a complete file, or leaves `path` untouched. Equal contents give equal bytes.
// InvalidArgument if a tensor is named "__metadata__", Unimplemented if the format lacks a tensor's
// element type. Names and metadata must be UTF-8 (not checked).
absl::Status WriteSafetensors(const std::string& path, const NamedTensors& contents);
// Stages the same file, so that it can be committed together with others.
absl::StatusOr<StagedFile> StageSafetensors(const std::string& path, const NamedTensors& contents);

}  // namespace lemma

#endif  // LEMMA_GRAPH_SAFETENSORS_H_
