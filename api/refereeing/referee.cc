#include "api/referee.h"

#include <chrono>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "api/execution/backends.h"
#include "api/models/model_file.h"
#include "api/models/model_inputs.h"
#include "api/models/option_error.h"
#include "api/models/random_values.h"
#include "api/rules/rules_file.h"
#include "base/file.h"
#include "base/hash.h"
#include "graph/onnx/tensor_proto.h"
#include "runtime/tolerance.h"

namespace lemma::api {
namespace {

absl::StatusOr<referee::Runner> RunnerOf(const std::string& name, int64_t threads) {
  ExecutionOptions execution;
  execution.backend = name;
  execution.threads = static_cast<int>(threads);
  if (absl::Status s = CheckExecutionOptions(execution); !s.ok()) return s;
  auto made = MakeBackend(execution);
  if (!made.ok()) return made.status();
  std::shared_ptr<Backend> backend = *std::move(made);
  const CompileOptions compile = CompileOptionsOf(execution);
  return
      [backend, compile](const Graph& graph,
                         absl::Span<const Tensor> inputs) -> absl::StatusOr<std::vector<Tensor>> {
        auto executable = backend->Compile(graph, compile);
        if (!executable.ok()) return executable.status();
        return (*executable)->Run(inputs);
      };
}

absl::Status CheckOptions(const RefereeOptions& options) {
  if (options.work < 1) return OptionError("option work: must be at least 1");
  if (options.samples < 1) return OptionError("option samples: must be at least 1");
  if (options.int_range < 1) return OptionError("option int_range: must be at least 1");
  const int64_t block = options.channel_block;
  if (block == 0 || block == 8 || block == 16) return absl::OkStatus();
  return OptionError("option channel_block: must be 8 or 16");
}

absl::Status SaveTensors(const std::vector<Tensor>& tensors, const std::string& prefix,
                         std::vector<std::string>* files) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    const std::string path = absl::StrCat(prefix, i, ".pb");
    absl::Status saved =
        WriteFileAtomically(path, {SerializeTensorProto(absl::StrCat("input_", i), tensors[i])});
    if (!saved.ok()) return saved;
    files->push_back(path);
  }
  return absl::OkStatus();
}

absl::Status SaveCounterexample(const referee::Refutation& refutation,
                                const std::vector<Tensor>& inputs, const std::string& folder,
                                std::vector<std::string>* files) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return absl::InvalidArgumentError(absl::StrCat(folder, ": cannot be made: ", error.message()));
  }
  if (absl::Status s = SaveTensors(inputs, folder + "/input_", files); !s.ok()) return s;
  if (!refutation.pair) return absl::OkStatus();
  for (const bool before : {true, false}) {
    Model model;
    model.graph = before ? refutation.pair->before : refutation.pair->after;
    const std::string path = folder + (before ? "/pair_before.onnx" : "/pair_after.onnx");
    if (absl::Status s = SaveModel(model, path, ModelFormat::kOnnx); !s.ok()) return s;
    files->push_back(path);
  }
  return SaveTensors(refutation.pair->inputs, folder + "/pair_input_", files);
}

// `given`: values of the inputs, to be used before random ones; may be empty.
absl::StatusOr<referee::RefereeOptions> EngineOptions(const Graph& before,
                                                      const RefereeOptions& options,
                                                      std::vector<Tensor> given) {
  referee::RefereeOptions engine;
  engine.prover.seed = static_cast<uint64_t>(options.seed);
  engine.prover.work = options.work;
  engine.prover.interrupted = options.interrupted;
  auto rules = LoadRulesFile(kAllRules);
  if (!rules.ok()) return rules.status();
  engine.rules = std::move(rules->rules);
  auto run = RunnerOf("cpu", options.threads), definition = RunnerOf("reference-f64", 1);
  if (!run.ok()) return run.status();
  if (!definition.ok()) return definition.status();
  engine.run = *std::move(run);
  engine.definition = *std::move(definition);
  // One unit in the last place at least: tools write constants in different ways.
  engine.tolerances = [](const Graph& graph) {
    std::vector<double> tolerances = RelativeTolerances(graph);
    for (size_t o = 0; o < tolerances.size(); ++o) {
      if (graph.outputs()[o].dtype() == DType::kF32) {
        tolerances[o] = std::max(tolerances[o], 0x1p-23);
      }
    }
    return tolerances;
  };
  if (!given.empty()) engine.inputs.push_back(std::move(given));
  for (int64_t sample = 0; sample < options.samples; ++sample) {
    const uint64_t seed = HashCombine(static_cast<uint64_t>(options.seed), sample);
    auto inputs = RandomInputs(before, seed, options.int_range);
    if (!inputs.ok()) return inputs.status();
    engine.inputs.push_back(*std::move(inputs));
  }
  engine.deadline = Deadline::After(options.time_limit, options.interrupted);
  return engine;
}

bool IsProved(const RefereeResult& result) {
  return result.verdict.answer == referee::Answer::kProved;
}

// Whether most of the model is proved, so that the layout is understood.
bool IsDecided(const RefereeResult& result) {
  return IsProved(result) || (result.verdict.refutation && result.verdict.refutation->only_here);
}

absl::StatusOr<Model> Load(const std::string& path, const RefereeOptions& options) {
  LoadOptions load;
  load.dims = options.dims;
  load.channel_block = options.channel_block;
  auto model = LoadModel(path, load);
  if (!model.ok()) return model.status();
  if (!model->default_dims.empty()) {
    const std::string& name = model->default_dims[0];
    return OptionError(absl::StrCat("option dims: ", path, ": dimension ", name,
                                    " is symbolic; give its size, such as ", name,
                                    "=16: the verdict holds for that size"));
  }
  for (const std::string& note : model->notes) {
    if (options.note) options.note(path, note);
  }
  return *std::move(model);
}

absl::StatusOr<RefereeResult> Judged(const Graph& before, const Graph& after,
                                     const RefereeOptions& options, std::vector<Tensor> given) {
  const auto start = std::chrono::steady_clock::now();
  auto engine = EngineOptions(before, options, std::move(given));
  if (!engine.ok()) return engine.status();
  RefereeResult result;
  result.verdict = referee::Judge(before, after, *engine);
  if (options.interrupted != nullptr && *options.interrupted) return Deadline::Interruption();
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  result.accepted = result.verdict.answer == referee::Answer::kProved &&
                    result.verdict.contract <= options.accept;
  const auto& refutation = result.verdict.refutation;
  if (refutation && !options.counterexample.empty()) {
    absl::Status saved = SaveCounterexample(*refutation, engine->inputs[refutation->sample],
                                            options.counterexample, &result.files);
    if (!saved.ok()) return saved;
  }
  return result;
}

}  // namespace

absl::StatusOr<RefereeResult> Referee(const Graph& before, const Graph& after,
                                      const RefereeOptions& options) {
  if (absl::Status s = CheckOptions(options); !s.ok()) return s;
  if (!options.inputs.empty()) return OptionError("option inputs: for models in files only");
  return Judged(before, after, options, {});
}

absl::StatusOr<RefereeResult> Referee(const std::string& before, const std::string& after,
                                      const RefereeOptions& options) {
  if (absl::Status s = CheckOptions(options); !s.ok()) return s;
  auto a = Load(before, options);
  if (!a.ok()) return a.status();
  auto b = Load(after, options);
  if (!b.ok()) return b.status();
  std::vector<Tensor> given;
  if (!options.inputs.empty()) {
    InputOptions values;
    values.files = options.inputs;
    auto tensors = InputsOf(*a, values);
    if (!tensors.ok()) return tensors.status();
    given = *std::move(tensors);
  }
  auto result = Judged(a->graph, b->graph, options, given);
  if (!result.ok() || options.channel_block != 0 || IsDecided(*result)) return result;
  // The size of a block of NCHWc was guessed.
  RefereeOptions other = options;
  other.channel_block = 8;
  other.note = nullptr;
  auto a8 = Load(before, other), b8 = Load(after, other);
  if (!a8.ok() || !b8.ok()) return result;
  if (a8->graph.StructuralHash() == a->graph.StructuralHash() &&
      b8->graph.StructuralHash() == b->graph.StructuralHash()) {
    return result;
  }
  auto second = Judged(a8->graph, b8->graph, other, given);
  if (!second.ok() || !IsProved(*second)) return result;
  second->verdict.notes.push_back("proved with blocks of 8 channels in the layout NCHWc");
  return second;
}

}  // namespace lemma::api
