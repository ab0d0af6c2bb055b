#include "cli/common_flags.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <future>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "api/execution/backends.h"
#include "api/models/option_error.h"
#include "api/models/random_values.h"
#include "graph/onnx/tensor_proto.h"

namespace lemma::cli {

namespace {

double PhysicalGb() {
  return static_cast<double>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<double>(sysconf(_SC_PAGE_SIZE)) * 1e-9;
}

// A lower bound of the bytes that a run needs: what comes in, and the operands and results of the
// largest operator. Names the largest value on the way.
absl::Status CheckMemory(const Graph& graph, double max_gb) {
  auto gb = [](const TensorType& type) { return static_cast<double>(type.num_bytes()) * 1e-9; };
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
  return absl::ResourceExhaustedError(
      absl::StrFormat("needs %.4g GB of memory or more, above --max-memory-gb %.4g; the largest "
                      "value is %s",
                      kept + most, max_gb, name));
}

// Whether so many threads can be had at once. OpenMP would end the process where they cannot.
bool CanStart(int64_t threads) {
  std::promise<void> ended;
  std::shared_future<void> end(ended.get_future());
  std::vector<std::thread> started;
  bool all = true;
  try {
    for (int64_t i = 1; i < threads; ++i) started.emplace_back([end] { end.wait(); });
  } catch (const std::system_error&) {
    all = false;
  }
  ended.set_value();
  for (std::thread& thread : started) thread.join();
  return all;
}

}  // namespace

CommonFlags::CommonFlags()
    : backend(api::BackendNames().front()),
      max_memory_gb(std::max(1.0, std::floor(PhysicalGb() / 2))) {}

void CommonFlags::AddModel(Flags* flags) {
  flags->Sizes("dim", &dims, "size of a symbolic dimension of an ONNX model");
  flags->Int("reseed-weights", &reseed, "fill weights with random values of this seed");
  flags->Bool("json", &json, "print one JSON object instead of text");
}

void CommonFlags::AddFusion(Flags* flags) {
  flags->Choice("fusion", &fusion, {"on", "off"},
                "off: every layout operator is a copy of its own, on the back end cpu");
}

void CommonFlags::AddReuse(Flags* flags) {
  flags->Choice("reuse", &reuse, {"late", "soon"},
                "soon: the back end cuda uses memory again at once, which takes less of it and "
                "lets fewer kernels run side by side");
}

void CommonFlags::AddExecution(Flags* flags) {
  flags->List("inputs", &inputs, "FILE.pb,...", "tensors, or a folder with input_0.pb, …");
  flags->Int("int-range", &int_range, "random integer inputs are below this");
  flags->Real("max-memory-gb", &max_memory_gb, "refuse models that need more");
  flags->Int("seed", &seed, "of random inputs");
  flags->Int("threads", &threads, "threads inside a kernel");
  flags->Choice("backend", &backend, api::BackendNames(), "what executes the model");
  AddFusion(flags);
}

absl::Status CommonFlags::Check() const {
  if (threads < 1 || threads > 1024) {
    return absl::InvalidArgumentError(absl::StrCat("--threads: ", threads, " is not in 1…1024"));
  }
  if (!CanStart(threads)) {
    return absl::ResourceExhaustedError(
        absl::StrCat("--threads: not enough memory for ", threads, " threads"));
  }
  if (fusion == "off" && backend != "cpu") {
    return absl::InvalidArgumentError(
        absl::StrCat("--fusion=off: the back end cpu knows it, ", backend, " does not"));
  }
  if (int_range < 1) return absl::InvalidArgumentError("--int-range: must be at least 1");
  return absl::OkStatus();
}

absl::StatusOr<api::Model> CommonFlags::Load(const std::string& path) const {
  if (absl::Status s = Check(); !s.ok()) return s;
  auto model = api::LoadModel(path, dims, training);
  if (!model.ok()) return model.status();
  for (const std::string& note : model->notes) {
    if (!json) std::fprintf(stderr, "lemma: note: %s: %s\n", path.c_str(), note.c_str());
  }
  if (reseed >= 0) {
    auto graph = api::ReseedWeights(model->graph, static_cast<uint64_t>(reseed));
    if (!graph.ok()) return graph.status();
    model->graph = *std::move(graph);
  }
  return model;
}

absl::StatusOr<std::vector<Tensor>> CommonFlags::Inputs(const api::Model& model) const {
  const Graph& graph = model.graph;
  if (absl::Status s = CheckMemory(graph, max_memory_gb); !s.ok()) return s;
  auto tensors = inputs.empty() ? api::RandomInputs(graph, static_cast<uint64_t>(seed), int_range)
                                : ReadTensors(inputs, "input_");
  if (!tensors.ok()) return tensors.status();
  const bool all = !inputs.empty() && tensors->size() == graph.inputs().size();
  for (size_t i = 0; i < graph.inputs().size() && !all; ++i) {
    auto value = model.info.defaults.find(graph.input_names()[i]);
    if (value == model.info.defaults.end()) continue;
    if (inputs.empty()) {
      (*tensors)[i] = value->second;
    } else if (i <= tensors->size()) {
      tensors->insert(tensors->begin() + static_cast<std::ptrdiff_t>(i), value->second);
    }
  }
  if (absl::Status s = CheckInputs(graph, *tensors); !s.ok()) return s;
  return tensors;
}

api::ExecutionOptions CommonFlags::Execution() const {
  return {backend, static_cast<int>(threads), {fusion == "on", reuse == "late"}};
}

absl::StatusOr<std::unique_ptr<lemma::Backend>> CommonFlags::MakeBackend() const {
  return api::MakeBackend(backend, Execution().kernels);
}

std::unique_ptr<KernelMeasurer> CommonFlags::MakeMeasurer() const {
  return api::MakeMeasurer(backend, static_cast<int>(threads), Execution().kernels);
}

absl::StatusOr<std::string> OneArgument(const std::string& what,
                                        const std::vector<std::string>& positional) {
  if (positional.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("which ", what, "? see --help"));
  }
  if (positional.size() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("one ", what, ", please: '", positional[1], "' is one too many"));
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

absl::Status WithFlags(const absl::Status& error, const std::map<std::string, std::string>& flags) {
  return api::RenameOptions(error, [&flags](absl::string_view name) {
    auto other = flags.find(std::string(name));
    if (other != flags.end()) return other->second;
    return absl::StrCat("--", absl::StrReplaceAll(name, {{"_", "-"}}));
  });
}

}  // namespace lemma::cli
