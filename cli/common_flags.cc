#include "cli/common_flags.h"

#include <algorithm>
#include <cstdio>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "api/define.h"
#include "api/models/option_error.h"
#include "api/models/sizes.h"
#include "kernels/codegen/product_precision.h"

namespace lemma::cli {
CommonFlags::CommonFlags() : backend(api::BackendNames().front()) {}

void CommonFlags::AddModel(Flags* flags) {
  flags->Sizes("dim", &dims, "size of a symbolic dimension of an ONNX model");
  flags->Int("reseed-weights", &reseed, "fill weights with random values of this seed");
  AddJson(flags, &json);
}

void CommonFlags::AddRanges(Flags* flags) {
  flags->Ranges("range", &ranges,
                "sizes that a symbolic dimension may have; 1 and more unless given");
}

void CommonFlags::AddFusion(Flags* flags) {
  flags->Choice("fusion", &fusion, {"on", "off"},
                "off: every layout operator is a copy of its own, on the back end cpu");
  flags->Choice("winograd", &winograd, {"on", "off"},
                "off: the back end cpu computes every convolution as its definition does");
}

void CommonFlags::AddCuda(Flags* flags) {
  flags->Choice("reuse", &reuse, {"late", "soon"},
                "soon: the back end cuda uses memory again at once, which takes less of it and "
                "lets fewer kernels run side by side");
  flags->Choice("precision", &precision, codegen::ProductPrecisionNames(),
                "of products on the back end cuda: all but f32 use tensor cores; all but f32 and "
                "stored round the factors");
  flags->String("tiles", &tiles, "tuned|model|FILE",
                "of products on the back end cuda: what lemma tune measured on this device, what "
                "the time model chooses, or a file of lemma tune");
}

void CommonFlags::AddRandom(Flags* flags) {
  flags->Int("seed", &seed, "of random inputs");
  flags->Int("int-range", &int_range, "random integer inputs are below this");
  flags->Int("threads", &threads, "threads inside a kernel");
}

void CommonFlags::AddExecution(Flags* flags) {
  flags->List("inputs", &inputs, "FILE,...", "tensors (.pb, .npy), or a folder with input_0.pb, …");
  flags->Int("int-range", &int_range, "random integer inputs are below this");
  flags->Real("max-memory-gb", &max_memory_gb, "refuse models that need more");
  flags->Int("seed", &seed, "of random inputs");
  flags->Int("threads", &threads, "threads inside a kernel");
  flags->Choice("backend", &backend, api::BackendNames(), "what executes the model");
  AddFusion(flags);
}

api::ExecutionOptions CommonFlags::Execution() const {
  api::ExecutionOptions execution;
  execution.backend = backend;
  execution.threads = static_cast<int>(std::min<int64_t>(threads, std::numeric_limits<int>::max()));
  execution.backend_options = {
      fusion == "on", reuse == "late",        *codegen::ParseProductPrecision(precision),
      tiles,          {onnxruntime, nullptr}, winograd == "on"};
  return execution;
}

api::InputOptions CommonFlags::InputValues() const {
  api::InputOptions values;
  values.files = inputs;
  values.seed = seed;
  values.int_range = int_range;
  values.max_memory_gb = max_memory_gb;
  return values;
}

absl::Status CommonFlags::Check() const {
  if (absl::Status s = api::CheckExecutionOptions(Execution()); !s.ok()) {
    return WithFlags(s, {{"fuse_layout", "--fusion=off"}, {"winograd", "--winograd=off"}});
  }
  return WithFlags(api::CheckInputOptions(InputValues()));
}

absl::StatusOr<api::Model> CommonFlags::Load(
    const std::string& path, const std::map<std::string, int64_t>& used_sizes) const {
  if (absl::Status s = Check(); !s.ok()) return s;
  api::LoadOptions options;
  options.dims = dims;
  options.used_sizes = used_sizes;
  options.training = training;
  for (const auto& [name, range] : ranges) options.ranges[name] = {range.first, range.second};
  options.input_files = inputs;
  if (reseed >= 0) options.reseed = static_cast<uint64_t>(reseed);
  std::string fixed;
  auto model =
      symbolic ? api::LoadWithSymbolicSizes(path, options, &fixed) : api::LoadModel(path, options);
  if (!model.ok()) return WithFlags(model.status());
  if (!fixed.empty()) PrintNote(/*json=*/false, fixed);
  for (const std::string& note : model->notes) PrintNote(json, absl::StrCat(path, ": ", note));
  return model;
}

absl::StatusOr<int> ParseAndRun(
    Flags* flags, Arguments arguments,
    absl::FunctionRef<absl::StatusOr<int>(const Positional& positional)> run) {
  std::vector<std::string> definitions;
  flags->List("define", &definitions, "FILE", "files with operators of your own");
  auto positional = flags->Parse(arguments);
  if (!positional.ok()) return positional.status();
  if (!flags->help()) {
    for (const std::string& file : definitions) {
      if (auto names = api::DefineOperators(file); !names.ok()) return names.status();
    }
    return run(*positional);
  }
  std::fputs(flags->Help().c_str(), stdout);
  return kExitOk;
}

absl::StatusOr<int> ParseAndRun(Flags* flags, Arguments arguments, const std::string& what,
                                absl::FunctionRef<absl::StatusOr<int>(const std::string&)> run) {
  return ParseAndRun(flags, arguments, [&](const Positional& positional) -> absl::StatusOr<int> {
    auto argument = OneArgument(what, positional);
    if (!argument.ok()) return argument.status();
    return run(*argument);
  });
}

absl::StatusOr<std::string> OneArgument(const std::string& what, const Positional& positional) {
  if (positional.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("which ", what, "? see --help"));
  }
  return OptionalArgument(what, positional);
}

absl::StatusOr<std::string> OptionalArgument(const std::string& what,
                                             const Positional& positional) {
  if (positional.size() <= 1) return positional.empty() ? "" : positional[0];
  return absl::InvalidArgumentError(
      absl::StrCat("one ", what, ", please: '", positional[1], "' is one too many"));
}

void AddJson(Flags* flags, bool* json) {
  flags->Bool("json", json, "print one JSON object instead of text");
}

void PrintNote(bool json, const std::string& note) {
  if (!json) std::fprintf(stderr, "lemma: note: %s\n", note.c_str());
}

void PrintJson(const Json& json) { std::puts(json.ToString().c_str()); }

void PrintText(const std::string& text) { std::fputs(text.c_str(), stdout); }

absl::Status WithFlags(const absl::Status& error, const std::map<std::string, std::string>& flags) {
  return api::RenameOptions(error, [&flags](absl::string_view name) {
    auto other = flags.find(std::string(name));
    if (other != flags.end()) return other->second;
    if (name == "output") return std::string("-o");
    return absl::StrCat("--", absl::StrReplaceAll(name, {{"_", "-"}}));
  });
}

}  // namespace lemma::cli
