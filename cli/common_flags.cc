#include "cli/common_flags.h"

#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/backends.h"
#include "cli/random_values.h"
#include "graph/onnx/tensor_proto.h"

namespace lemma::cli {

CommonFlags::CommonFlags() : backend(BackendNames().front()) {}

void CommonFlags::AddModel(Flags* flags) {
  flags->Sizes("dim", &dims, "size of a symbolic dimension of an ONNX model");
  flags->Int("reseed-weights", &reseed, "fill weights with random values of this seed");
  flags->Bool("json", &json, "print one JSON object instead of text");
}

void CommonFlags::AddExecution(Flags* flags) {
  flags->List("inputs", &inputs, "FILE.pb,…", "tensors, or a folder with input_0.pb, …");
  flags->Int("int-range", &int_range, "random integer inputs are below this");
  flags->Int("seed", &seed, "of random inputs and of the search");
  flags->Int("threads", &threads, "threads inside a kernel");
  flags->Choice("backend", &backend, BackendNames(), "what executes the model");
}

absl::Status CommonFlags::Check() const {
  if (threads < 1 || threads > 1024) {
    return absl::InvalidArgumentError(absl::StrCat("--threads: ", threads, " is not in 1…1024"));
  }
  if (int_range < 1) return absl::InvalidArgumentError("--int-range: must be at least 1");
  return absl::OkStatus();
}

absl::StatusOr<Model> CommonFlags::Load(const std::string& path) const {
  if (absl::Status s = Check(); !s.ok()) return s;
  auto model = LoadModel(path, dims);
  if (!model.ok()) return model.status();
  for (const std::string& note : model->notes) {
    if (!json) std::fprintf(stderr, "lemma: note: %s: %s\n", path.c_str(), note.c_str());
  }
  if (reseed >= 0) {
    auto graph = ReseedWeights(model->graph, static_cast<uint64_t>(reseed));
    if (!graph.ok()) return graph.status();
    model->graph = *std::move(graph);
  }
  return model;
}

absl::StatusOr<std::vector<Tensor>> CommonFlags::Inputs(const Graph& graph) const {
  if (inputs.empty()) return RandomInputs(graph, static_cast<uint64_t>(seed), int_range);
  auto tensors = ReadTensors(inputs, "input_");
  if (!tensors.ok()) return tensors.status();
  if (absl::Status s = CheckInputs(graph, *tensors); !s.ok()) return s;
  return tensors;
}

absl::StatusOr<std::unique_ptr<lemma::Backend>> CommonFlags::MakeBackend() const {
  return cli::MakeBackend(backend);
}

absl::StatusOr<std::string> OneModel(const std::vector<std::string>& positional) {
  if (positional.empty()) return absl::InvalidArgumentError("which MODEL? see --help");
  if (positional.size() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("one MODEL, please: '", positional[1], "' is one too many"));
  }
  return positional[0];
}

absl::StatusOr<std::vector<Tensor>> ReadTensors(const std::vector<std::string>& paths,
                                                const std::string& prefix) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!std::filesystem::is_directory(path, error)) {
      files.push_back(path);
      continue;
    }
    const size_t before = files.size();
    for (int i = 0;; ++i) {
      std::string file = absl::StrCat(path, "/", prefix, i, ".pb");
      if (!std::filesystem::exists(file, error)) break;
      files.push_back(std::move(file));
    }
    if (files.size() == before) {
      return absl::NotFoundError(absl::StrCat(path, ": has no file ", prefix, "0.pb"));
    }
  }
  std::vector<Tensor> tensors;
  for (const std::string& file : files) {
    auto tensor = ReadTensorProto(file);
    if (!tensor.ok()) return tensor.status();
    tensors.push_back(std::move(tensor->tensor));
  }
  return tensors;
}

}  // namespace lemma::cli
