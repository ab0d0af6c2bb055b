#include "api/referee.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "api/execution/backends.h"
#include "api/execution/running_sizes.h"
#include "api/models/model_file.h"
#include "api/models/model_inputs.h"
#include "api/models/option_error.h"
#include "api/models/random_values.h"
#include "api/models/sizes.h"
#include "api/refereeing/certificate_file.h"
#include "api/refereeing/sides.h"
#include "api/rules/rules_file.h"
#include "base/file.h"
#include "base/hash.h"
#include "graph/onnx/tensor_proto.h"
#include "graph/sizes/specialize.h"
#include "runtime/tolerance.h"

namespace lemma::api {
namespace {

// Both models are executed in turns, each on several samples.
constexpr size_t kMostCompiled = 2;

struct Compiled {
  Graph graph;  // its nodes identify it
  std::unique_ptr<Executable> executable;
};

absl::StatusOr<referee::Runner> RunnerOf(const std::string& name, int64_t threads) {
  ExecutionOptions execution;
  execution.backend = name;
  execution.threads = static_cast<int>(threads);
  if (absl::Status s = CheckExecutionOptions(execution); !s.ok()) return s;
  auto made = MakeBackend(execution);
  if (!made.ok()) return made.status();
  std::shared_ptr<Backend> backend = *std::move(made);
  const CompileOptions compile = CompileOptionsOf(execution);
  auto recent = std::make_shared<std::deque<Compiled>>();
  return [backend, compile, recent](
             const Graph& graph,
             absl::Span<const Tensor> inputs) -> absl::StatusOr<std::vector<Tensor>> {
    auto known = std::find_if(recent->begin(), recent->end(), [&](const Compiled& compiled) {
      return compiled.graph.inputs() == graph.inputs() &&
             compiled.graph.outputs() == graph.outputs();
    });
    if (known != recent->end()) return known->executable->Run(inputs);
    if (recent->size() == kMostCompiled) recent->pop_front();
    auto executable = backend->Compile(graph, compile);
    if (!executable.ok()) return executable.status();
    recent->push_back({graph, *std::move(executable)});
    return recent->back().executable->Run(inputs);
  };
}

absl::Status CheckOptions(const RefereeOptions& options) {
  if (options.work < 1) return OptionError("option work: must be at least 1");
  if (options.samples < 1) return OptionError("option samples: must be at least 1");
  if (options.int_range < 1) return OptionError("option int_range: must be at least 1");
  for (const auto& [name, range] : options.ranges) {
    if (range.least < 1 || range.least > range.most) {
      return OptionError(absl::StrCat("option ranges: ", name, " from ", range.least, " to ",
                                      range.most, " has no size"));
    }
  }
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

absl::StatusOr<referee::RefereeOptions> EngineOptions(const RefereeOptions& options,
                                                      std::vector<referee::Sample> samples) {
  referee::RefereeOptions engine;
  engine.prover.seed = static_cast<uint64_t>(options.seed);
  engine.prover.work = options.work;
  engine.prover.interrupted = options.interrupted;
  engine.prover.keep_obligations = options.keep_obligations;
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
  engine.samples = std::move(samples);
  engine.deadline = Deadline::After(options.time_limit, options.interrupted);
  engine.progress = options.progress;
  return engine;
}

bool IsProved(const RefereeResult& result) {
  return result.verdict.answer == referee::Answer::kProved;
}

// LoadSide for the model that the other one is compared with. Says which size is missing if some
// operator needs a number.
absl::StatusOr<Model> LoadBefore(const std::string& path, const RefereeOptions& options) {
  auto model = LoadSide(path, options);
  if (model.ok() || !absl::IsInvalidArgument(model.status())) return model;
  auto fixed = LoadModel(path, options.dims);
  if (!fixed.ok() || fixed->default_dims.empty()) return model;
  const std::string& name = fixed->default_dims[0];
  return OptionError(absl::StrCat("option dims: ", model.status().message(),
                                  "; give sizes, such as ", name,
                                  "=16: the verdict then holds for these"));
}

// Those of the option hint, or usual sizes; larger ones if the graph is not well-formed at these.
DimValues FirstSizes(const Model& model, const RefereeOptions& options) {
  if (!options.hint.empty()) return *CompleteSizes(model.graph, options.hint);
  ExecutionOptions execution;
  execution.backend = "cpu";
  const DimValues usual = RunningSizes(model, InputOptions(), execution);
  const std::map<std::string, SizeRange> dims = DimsOf(model.graph);
  DimValues sizes = usual;
  constexpr int kDoublings = 4;
  for (int i = 0; i < kDoublings && !Specialize(model.graph, sizes).ok(); ++i) {
    for (auto& [name, size] : sizes) {
      auto range = dims.find(name);
      if (range != dims.end()) size = std::min(2 * size, range->second.most);
    }
  }
  return Specialize(model.graph, sizes).ok() ? sizes : usual;
}

// Up to two choices of sizes, smaller ones and larger ones, that differ from `first` in every
// dimension of more than one size, and at which the graph is well-formed.
std::vector<DimValues> OtherSizes(const Graph& graph, const DimValues& first) {
  const std::map<std::string, SizeRange> dims = DimsOf(graph);
  std::vector<DimValues> choices;
  for (const bool larger : {false, true}) {
    for (const bool simple : {false, true}) {
      DimValues sizes;
      int64_t number = 0;  // no two dimensions get the same size
      for (const auto& [name, range] : dims) {
        const int64_t size = first.at(name), less = size - size / 4 - 1 - 2 * number,
                      more = size + size / 4 + 1 + 2 * number;
        int64_t other = larger ? (simple ? size * 2 : more) : (simple ? size / 2 : less);
        if (size < 16) other = size + (larger ? 5 : 2) + number;
        other = std::clamp(other, range.least, range.most);
        if (other == size) other = size > range.least ? range.least : range.most;
        sizes[name] = other;
        ++number;
      }
      if (sizes == first || (!choices.empty() && sizes == choices[0])) continue;
      if (!Specialize(graph, sizes).ok()) continue;
      choices.push_back(std::move(sizes));
      break;
    }
  }
  return choices;
}

// Values of the inputs of a model: those given, then random ones, at several choices of sizes if
// there are symbolic dimensions.
absl::StatusOr<std::vector<referee::Sample>> SamplesFor(const Model& before,
                                                        const RefereeOptions& options) {
  const Graph& graph = before.graph;
  std::vector<referee::Sample> samples;
  std::vector<DimValues> choices = {{}};
  if (absl::Status known = CompleteSizes(graph, options.hint).status(); !known.ok()) {
    return OptionError(absl::StrCat("option hint: ", known.message()));
  }
  if (IsSymbolic(graph)) choices = {FirstSizes(before, options)};
  if (!options.inputs.empty()) {
    InputOptions values;
    values.files = options.inputs;
    Model sized = before;
    if (IsSymbolic(graph)) {
      auto tensors = GivenInputs(before, options.inputs);
      if (!tensors.ok()) return tensors.status();
      std::vector<TensorType> types;
      for (const Tensor& tensor : *tensors) types.push_back(tensor.type());
      auto sizes = BindDims(graph, types);
      if (sizes.ok()) sizes = CompleteSizes(graph, *sizes);
      if (!sizes.ok())
        return OptionError(absl::StrCat("option inputs: ", sizes.status().message()));
      auto at_sizes = AtSizes(before, *sizes);
      if (!at_sizes.ok()) return at_sizes.status();
      sized = *std::move(at_sizes);
      choices = {*sizes};
    }
    auto tensors = InputsOf(sized, values);
    if (!tensors.ok()) return tensors.status();
    samples.push_back({*std::move(tensors), choices[0], true});
  }
  if (IsSymbolic(graph)) {
    const std::vector<DimValues> others = OtherSizes(graph, choices[0]);
    // Values are aligned on the first two samples, so these have different sizes.
    choices.insert(choices.begin() + (samples.empty() ? 1 : 0), others.begin(), others.end());
  }
  for (int64_t number = 0; number < options.samples; ++number) {
    for (const DimValues& sizes : choices) {
      auto sized = AtSizes(before, sizes);
      if (!sized.ok()) return sized.status();
      const uint64_t seed = HashCombine(static_cast<uint64_t>(options.seed), number);
      auto inputs = RandomInputs(sized->graph, seed, options.int_range);
      if (!inputs.ok()) return inputs.status();
      samples.push_back({*std::move(inputs), sizes, false});
    }
  }
  return samples;
}

// Models whose inputs have other default values have different interfaces.
RefereeResult WithDefaults(RefereeResult result, const Model& before, const Model& after) {
  std::vector<std::string> lines = DefaultDifferences(before, after);
  referee::RefereeResult& verdict = result.verdict;
  if (lines.empty() || verdict.answer == referee::Answer::kRefuted) return result;
  verdict.answer = referee::Answer::kDifferentInterface;
  verdict.interface.insert(verdict.interface.end(), lines.begin(), lines.end());
  result.accepted = false;
  return result;
}

absl::StatusOr<RefereeResult> Judged(const Graph& before, const Graph& after,
                                     const RefereeOptions& options,
                                     const referee::RefereeOptions& engine) {
  const auto start = std::chrono::steady_clock::now();
  RefereeResult result;
  result.before = before;
  result.after = after;
  result.verdict = referee::Judge(before, after, engine);
  if (options.interrupted != nullptr && *options.interrupted) return Deadline::Interruption();
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  result.accepted = result.verdict.answer == referee::Answer::kProved &&
                    result.verdict.contract <= options.accept;
  const auto& refutation = result.verdict.refutation;
  if (refutation && !options.counterexample.empty()) {
    absl::Status saved = SaveCounterexample(*refutation, engine.samples[refutation->sample].inputs,
                                            options.counterexample, &result.files);
    if (!saved.ok()) return saved;
  }
  return result;
}

// For a model that cannot be read for all sizes (`why`): compares both at the sizes of the samples.
absl::StatusOr<RefereeResult> JudgedAtSizes(const Model& before, const std::string& after,
                                            const absl::Status& why, const RefereeOptions& options,
                                            const std::vector<referee::Sample>& samples) {
  std::map<DimValues, std::vector<referee::Sample>> by_sizes;
  for (const referee::Sample& sample : samples)
    by_sizes[sample.sizes].push_back({sample.inputs, {}, sample.decides});
  std::vector<std::string> proved;
  std::optional<RefereeResult> result;
  std::optional<std::pair<DimValues, absl::Status>> unreadable;
  for (auto& [sizes, at_sizes] : by_sizes) {
    RefereeOptions fixed = options;
    fixed.note = nullptr;
    fixed.ranges.clear();
    fixed.dims.insert(sizes.begin(), sizes.end());
    auto b = LoadSide(after, fixed);
    if (!b.ok()) {
      unreadable = {sizes, b.status()};
      continue;
    }
    auto a = Specialize(before.graph, sizes);
    if (!a.ok()) return a.status();
    auto engine = EngineOptions(fixed, at_sizes);
    if (!engine.ok()) return engine.status();
    auto judged = Judged(*a, b->graph, fixed, *engine);
    if (!judged.ok()) return judged.status();
    if (judged->verdict.refutation) judged->verdict.refutation->sizes = sizes;
    if (judged->verdict.answer != referee::Answer::kUnknown && !IsProved(*judged)) return judged;
    if (IsProved(*judged)) proved.push_back(absl::StrJoin(sizes, ", ", absl::PairFormatter("=")));
    result = *std::move(judged);
  }
  if (!result) return why;
  result->accepted = false;
  referee::RefereeResult& verdict = result->verdict;
  if (unreadable && absl::IsInvalidArgument(unreadable->second)) {
    verdict.answer = referee::Answer::kRefuted;
    verdict.refutation = referee::Refutation();
    verdict.refutation->sizes = unreadable->first;
    verdict.refutation->failure = std::string(unreadable->second.message());
    return *std::move(result);
  }
  verdict.answer = referee::Answer::kUnknown;
  verdict.reason = std::string(why.message());
  if (!proved.empty()) {
    absl::StrAppend(&verdict.reason, "; proved at ", absl::StrJoin(proved, " and at "), " only");
  }
  return *std::move(result);
}

// Both models, read with one size of the blocks of NCHWc.
struct Reading {
  RefereeOptions options;
  Model before, after;
};

// Sets *channel_block to the option with which the models were read.
absl::StatusOr<RefereeResult> JudgedReading(const Reading& reading,
                                            const referee::RefereeOptions& engine,
                                            int64_t* channel_block) {
  *channel_block = reading.options.channel_block;
  auto result = Judged(reading.before.graph, reading.after.graph, reading.options, engine);
  if (!result.ok()) return result;
  return WithDefaults(*std::move(result), reading.before, reading.after);
}

// The same models with blocks of 8 channels.
std::optional<Reading> WithBlocksOf8(const std::string& before, const std::string& after,
                                     const RefereeOptions& options) {
  Reading reading;
  reading.options = options;
  reading.options.channel_block = 8;
  reading.options.note = nullptr;
  auto a = LoadSide(before, reading.options), b = LoadSide(after, reading.options);
  if (!a.ok() || !b.ok()) return std::nullopt;
  reading.before = *std::move(a);
  reading.after = *std::move(b);
  return reading;
}

// Sets *channel_block to the option with which the models of the result were read.
absl::StatusOr<RefereeResult> JudgedFiles(const std::string& before, const std::string& after,
                                          const RefereeOptions& options, int64_t* channel_block) {
  *channel_block = options.channel_block;
  auto a = LoadBefore(before, options);
  if (!a.ok()) return a.status();
  auto samples = SamplesFor(*a, options);
  if (!samples.ok()) return samples.status();
  auto b = LoadAfter(after, options);
  if (!b.ok()) {
    if (!IsSymbolic(a->graph)) return b.status();
    return JudgedAtSizes(*a, after, b.status(), options, *samples);
  }
  const bool is_guess = a->guesses_channel_block || b->guesses_channel_block;
  auto engine = EngineOptions(options, *std::move(samples));
  if (!engine.ok()) return engine.status();
  const Reading given = {options, *std::move(a), *std::move(b)};
  // With blocks of the wrong size even equal models differ, so the outputs say which size is right.
  std::optional<Reading> other;
  double distance = 0, distance_of_other = std::numeric_limits<double>::infinity();
  auto distance_of = [&](const Reading& reading) {
    return referee::OutputDistance(reading.before.graph, reading.after.graph, *engine);
  };
  if (is_guess) distance = distance_of(given);
  if (distance > 1) other = WithBlocksOf8(before, after, options);
  if (other) distance_of_other = distance_of(*other);
  if (!(distance_of_other < distance)) return JudgedReading(given, *engine, channel_block);
  auto result = JudgedReading(*other, *engine, channel_block);
  if (result.ok()) {
    result->verdict.notes.push_back(absl::StrCat(IsProved(*result) ? "proved" : "compared",
                                                 " with blocks of 8 channels in the layout NCHWc"));
  }
  return result;
}

}  // namespace

absl::StatusOr<RefereeResult> Referee(const Graph& before, const Graph& after,
                                      const RefereeOptions& options) {
  if (absl::Status s = CheckOptions(options); !s.ok()) return s;
  for (const char* name : {"inputs", "certificate"}) {
    const bool given = name[0] == 'i' ? !options.inputs.empty() : !options.certificate.empty();
    if (given) return OptionError(absl::StrCat("option ", name, ": for models in files only"));
  }
  Model model;
  model.graph = before;
  auto samples = SamplesFor(model, options);
  if (!samples.ok()) return samples.status();
  auto engine = EngineOptions(options, *std::move(samples));
  if (!engine.ok()) return engine.status();
  return Judged(before, after, options, *engine);
}

absl::StatusOr<RefereeResult> Referee(const std::string& before, const std::string& after,
                                      const RefereeOptions& options) {
  if (absl::Status s = CheckOptions(options); !s.ok()) return s;
  FileHashes hashes;
  if (!options.certificate.empty()) {
    auto both = HashesOf(before, after);
    if (!both.ok()) return both.status();
    hashes = *std::move(both);
  }
  int64_t channel_block = 0;
  auto result = JudgedFiles(before, after, options, &channel_block);
  if (!result.ok() || options.certificate.empty() || !IsProved(*result)) return result;
  RefereeOptions how = options;
  how.channel_block = channel_block;
  absl::Status written = WriteRefereeCertificate(*result, hashes, how);
  if (!written.ok()) return written;
  result->files.push_back(options.certificate);
  return result;
}

}  // namespace lemma::api
