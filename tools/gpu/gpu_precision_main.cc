// Measures products in each precision on a GPU, and how far they are from exact results. Writes OUT
// (JSON):
//
//   errors    products and convolutions on random values, with several tiles: the largest error
//             relative to the sum of the products' magnitudes, and the bound (ProductErrorBound);
//   products  milliseconds of one product on the device, with cuBLASLt, with the chosen tile, and
//             with the best of those that the model finds promising;
//   shapes    milliseconds of small graphs in f16, with cuBLASLt and with generated kernels only,
//             and the difference from exact results relative to the largest output;
//   models    of FOLDER (tools/package_gpu): milliseconds, and the difference from the CPU's
//   outputs
//             in f32 relative to the largest output.
//
// Exit status 0: all errors are within their bounds; 1: not, or a failure; 2: wrong arguments.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "api/execution/timing.h"
#include "api/models/model_file.h"
#include "api/models/random_values.h"
#include "base/flags.h"
#include "base/json.h"
#include "graph/text/text.h"
#include "kernels/codegen/product_precision.h"
#include "runtime/cuda/cuda_backend.h"
#include "runtime/cuda/cuda_plan.h"
#include "runtime/cuda/fusion/store_factors.h"
#include "runtime/reference/reference.h"
#include "runtime/tolerance.h"
#include "tools/gpu/packaged_models.h"
#include "tools/gpu/product_cases.h"

namespace lemma::gpu {
namespace {

using codegen::ProductPrecision;
using codegen::TileChoice;
using Clock = std::chrono::steady_clock;

constexpr int kRuns = 20;

Graph GraphOf(const char* text) {
  auto graph = ParseGraph(text);
  if (!graph.ok()) {
    std::fprintf(stderr, "gpu_precision_main: %s\n", std::string(graph.status().message()).c_str());
    std::exit(1);
  }
  return *std::move(graph);
}

CudaOptions OptionsOf(ProductPrecision precision, bool libraries,
                      std::optional<TileChoice> tile = std::nullopt) {
  CudaOptions options;
  options.libraries = libraries;
  options.grid.precision = precision;
  options.grid.tile = tile;
  return options;
}

// Attention of `heads` heads over f16[heads, length, width].
struct AttentionCase {
  int heads, length, width;
  bool masked = false;  // a mask for each query and key is added to the scores
  std::string Name() const {
    return absl::StrCat(masked ? "masked " : "", "attention ", heads, "x", length, "x", length,
                        ", width ", width);
  }
};
constexpr AttentionCase kAttention[] = {{12, 128, 64},   {12, 512, 64},       {12, 2048, 64},
                                        {12, 8192, 64},  {12, 16384, 64},     {12, 2048, 128},
                                        {12, 8192, 128}, {12, 2048, 64, true}};

std::string AttentionText(const AttentionCase& c, int heads, int queries) {
  const auto type = [&](int rows) {
    return absl::StrCat("f16[", heads, ",", rows, ",", c.width, "]");
  };
  return absl::StrCat(
      "graph g(q: ", type(queries), ", k: ", type(c.length), ", v: ", type(c.length),
      c.masked ? absl::StrCat(", m: f16[", queries, ",", c.length, "]") : "",
      ") { t = transpose(k) {perm = [0,2,1]} s = matmul(q, t) ",
      c.masked ? "a = add(s, m) p = softmax(a) {axis = 2} " : "p = softmax(s) {axis = 2} ",
      "y = matmul(p, v) return y }");
}

// The first elements of `tensor` in memory, as a tensor of `shape`.
Tensor FirstOf(const Tensor& tensor, const std::vector<int64_t>& shape) {
  Tensor first = *Tensor::Allocate({tensor.type().dtype, shape});
  std::memcpy(first.mutable_raw(), tensor.raw(), static_cast<size_t>(first.type().num_bytes()));
  return first;
}

// The use of a tile in the plan of a graph that is one product.
std::optional<codegen::TileUse> TileOf(const Graph& graph, const CudaOptions& options) {
  NodeTraitsCache traits;
  cuda::PlanOptions plan_options;
  plan_options.grid = options.grid;
  auto plan =
      cuda::PlanGraph(cuda::StoreFactors(graph, traits, plan_options.grid), traits, plan_options);
  if (!plan.ok()) return std::nullopt;
  for (const cuda::CudaStep& step : plan->steps) {
    if (step.program == nullptr) continue;
    for (const codegen::GridKernel& kernel : step.program->kernels) {
      if (kernel.tile) return kernel.tile;
    }
  }
  return std::nullopt;
}

// The tiles of the streamed kernel of `graph`, if it can have one.
std::vector<codegen::StreamTile> StreamTilesOf(const Graph& graph) {
  NodeTraitsCache traits;
  cuda::PlanOptions options;
  options.grid.precision = ProductPrecision::kF16;
  options.grid.stream = codegen::StreamTile();
  auto plan = cuda::PlanGraph(cuda::StoreFactors(graph, traits, options.grid), traits, options);
  if (!plan.ok()) return {};
  for (const cuda::Launch& launch : plan->launches) {
    const codegen::GridKernel& kernel = plan->KernelOf(launch);
    if (kernel.streamed) return codegen::StreamTiles(*kernel.streamed);
  }
  return {};
}
CudaOptions StreamedBy(const codegen::StreamTile& tile) {
  CudaOptions options = OptionsOf(ProductPrecision::kF16, false);
  options.grid.stream = tile;
  return options;
}

void InParallel(size_t count, const std::function<void(size_t)>& work) {
  std::atomic<size_t> next = 0;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < std::max(1u, std::thread::hardware_concurrency()); ++t) {
    threads.emplace_back([&] {
      for (size_t i; (i = next++) < count;) work(i);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// A graph to compile in a precision, with a choice of tile.
struct Job {
  const Graph* graph;
  CudaOptions options;
};

// Fills the cache of compiled kernels, for the device or for an architecture.
absl::Status CompileJobs(const std::vector<Job>& jobs, int architecture) {
  std::vector<absl::Status> done(jobs.size());
  InParallel(jobs.size(), [&](size_t i) {
    done[i] = CompileAhead({*jobs[i].graph}, jobs[i].options, architecture);
  });
  for (const absl::Status& s : done) {
    if (!s.ok()) return s;
  }
  return absl::OkStatus();
}

// Some tiles for each graph; together all.
std::vector<TileChoice> TilesToCheck(const Graph& graph, ProductPrecision precision, size_t g) {
  const auto use = TileOf(graph, OptionsOf(precision, false));
  if (!use) return {};
  std::vector<TileChoice> some;
  for (const TileChoice& choice : codegen::TileChoices(use->size, precision)) {
    if (choice.parts <= 2 && (static_cast<size_t>(choice.tile) + g) % 3 == 0)
      some.push_back(choice);
  }
  return some;
}

// The choices that the model predicts to be at most twice as slow as the best, at most `most`.
std::vector<TileChoice> TilesToTime(const Graph& graph, ProductPrecision precision, size_t most) {
  const auto use = TileOf(graph, OptionsOf(precision, false));
  if (!use) return {};
  auto predicted = [&](const TileChoice& choice) {
    return codegen::PredictedMicroseconds(use->size, choice, precision);
  };
  std::vector<TileChoice> all = codegen::TileChoices(use->size, precision);
  std::stable_sort(all.begin(), all.end(), [&](const TileChoice& a, const TileChoice& b) {
    return predicted(a) < predicted(b);
  });
  std::vector<TileChoice> some;
  for (const TileChoice& choice : all) {
    if (some.size() < most && predicted(choice) <= 2 * predicted(all[0])) some.push_back(choice);
  }
  return some;
}

// batch, m, n, k, a_work, b_work, and 1 if the copy engine can move the factors.
Json SizeJson(const codegen::ProductSize& s) {
  return Json::Array({static_cast<double>(s.batch), static_cast<double>(s.m),
                      static_cast<double>(s.n), static_cast<double>(s.k),
                      static_cast<double>(s.a_work), static_cast<double>(s.b_work),
                      s.bulk ? 1.0 : 0.0});
}

bool IsSwept(ProductPrecision precision) {
  return precision == ProductPrecision::kTf32 || precision == ProductPrecision::kBf16;
}

// Products of factors stored in bf16 are compared with PyTorch's, in that type.
std::vector<ProductPrecision> PrecisionsOf(const Graph& graph) {
  if (graph.inputs()[0].dtype() == DType::kBF16) return {ProductPrecision::kBf16};
  return {std::begin(codegen::kRoundingPrecisions), std::end(codegen::kRoundingPrecisions)};
}

struct PrecisionFlags {
  std::string out, folder;
  std::vector<std::string> models, precisions, parts;
  int64_t tiles = 8;
  int64_t compile_for = 0;
};

class Check {
 public:
  explicit Check(const PrecisionFlags& flags) : flags_(flags) {}

  Json Errors() {
    std::vector<Graph> graphs;
    for (const NamedGraph& named : kExact) graphs.push_back(GraphOf(named.text));
    std::vector<Job> jobs;
    for (ProductPrecision precision : codegen::kRoundingPrecisions) {
      for (size_t g = 0; g < graphs.size(); ++g) {
        jobs.push_back({&graphs[g], OptionsOf(precision, true)});
        for (const TileChoice& choice : TilesToCheck(graphs[g], precision, g)) {
          jobs.push_back({&graphs[g], OptionsOf(precision, false, choice)});
        }
      }
    }
    Json rows = Json::Array();
    if (!Compiled("checks", jobs)) return rows;
    for (size_t g = 0; g < graphs.size(); ++g) {
      auto inputs = api::RandomInputs(graphs[g], 1, 2);
      if (!inputs.ok()) {
        Fail(kExact[g].name, inputs.status());
        continue;
      }
      std::vector<Tensor> magnitudes;
      for (const Tensor& input : *inputs) {
        std::vector<double> values;
        for (int64_t i = 0; i < input.size(); ++i) values.push_back(std::fabs(input.AtDouble(i)));
        magnitudes.push_back(*Tensor::FromDoubles(input.type(), values));
      }
      auto reference = MakeReferenceBackend(BetweenOperators::kUnrounded)->Compile(graphs[g], {});
      auto exact = (*reference)->Run(*inputs), scale = (*reference)->Run(magnitudes);
      for (ProductPrecision precision : codegen::kRoundingPrecisions) {
        const double bound = codegen::ProductErrorBound(precision, kExact[g].terms) + 0x1p-22;
        double worst = 0;
        int tiles = 0;
        std::vector<CudaOptions> variants = {OptionsOf(precision, true)};
        for (const TileChoice& choice : TilesToCheck(graphs[g], precision, g)) {
          variants.push_back(OptionsOf(precision, false, choice));
        }
        for (const CudaOptions& options : variants) {
          auto executable = MakeCudaBackend(options)->Compile(graphs[g], {});
          auto actual = executable.ok() ? (*executable)->Run(*inputs) : executable.status();
          if (!actual.ok()) {
            Fail(kExact[g].name, actual.status());
            continue;
          }
          ++tiles;
          double largest = 0;
          for (int64_t e = 0; e < (*exact)[0].size(); ++e) {
            const double error = std::fabs((*actual)[0].AtDouble(e) - (*exact)[0].AtDouble(e));
            const double relative = error / std::max((*scale)[0].AtDouble(e), 1e-30);
            if (!(relative <= largest)) largest = relative;
          }
          if (!(largest <= bound)) {
            Fail(absl::StrCat(kExact[g].name, " in ", Name(precision), ", tile ",
                              options.grid.tile ? options.grid.tile->tile : -1, " in ",
                              options.grid.tile ? options.grid.tile->parts : 1),
                 absl::InternalError(absl::StrCat("error ", largest, ", bound ", bound)));
          }
          worst = std::max(worst, largest);
        }
        std::printf("%-34s %-6s %3d variants: error %.2e, bound %.2e\n", kExact[g].name,
                    Name(precision), tiles, worst, bound);
        Json row = Json::Object();
        row.Set("case", kExact[g].name).Set("precision", Name(precision)).Set("variants", tiles);
        row.Set("error", worst).Set("bound", bound);
        rows.Add(std::move(row));
      }
    }
    return rows;
  }

  Json Products() {
    std::vector<Graph> graphs;
    for (const NamedGraph& named : kTimed) graphs.push_back(GraphOf(named.text));
    std::vector<Job> jobs;
    for (const Graph& graph : graphs) {
      for (ProductPrecision precision : PrecisionsOf(graph)) {
        jobs.push_back({&graph, OptionsOf(precision, false)});
        for (const TileChoice& choice : Swept(graph, precision)) {
          jobs.push_back({&graph, OptionsOf(precision, false, choice)});
        }
      }
    }
    Json rows = Json::Array();
    if (!Compiled("products", jobs)) return rows;
    for (size_t g = 0; g < graphs.size(); ++g) {
      auto inputs = api::RandomInputs(graphs[g], 1, 2);
      if (!inputs.ok()) continue;
      for (ProductPrecision precision : PrecisionsOf(graphs[g])) {
        const double library = Time(graphs[g], OptionsOf(precision, true), *inputs);
        const double chosen = Time(graphs[g], OptionsOf(precision, false), *inputs);
        double best = chosen;
        std::string best_tile = "chosen";
        Json tiles = Json::Array();
        for (const TileChoice& choice : Swept(graphs[g], precision)) {
          const double ms = Time(graphs[g], OptionsOf(precision, false, choice), *inputs);
          Json tile = Json::Object();
          tile.Set("tile", choice.tile).Set("parts", choice.parts).Set("ms", ms);
          tiles.Add(std::move(tile));
          if (!(ms < best)) continue;
          best = ms;
          best_tile = absl::StrCat(codegen::TileShapes(precision)[choice.tile].ToString(), " in ",
                                   choice.parts);
        }
        const auto use = TileOf(graphs[g], OptionsOf(precision, false));
        const double flops = use ? 2.0 * static_cast<double>(use->size.batch * use->size.m *
                                                             use->size.n * use->size.k)
                                 : 0;
        std::printf("%-40s %-6s library %8.4f chosen %8.4f best %8.4f ms (%s), %.0f Tflop/s\n",
                    kTimed[g].name, Name(precision), library, chosen, best, best_tile.c_str(),
                    flops / best * 1e-9);
        std::fflush(stdout);
        Json row = Json::Object();
        row.Set("case", kTimed[g].name).Set("precision", Name(precision)).Set("flops", flops);
        if (use) row.Set("size", SizeJson(use->size));
        row.Set("library_ms", library).Set("chosen_ms", chosen).Set("best_ms", best);
        row.Set("best_tile", best_tile).Set("tiles", std::move(tiles));
        rows.Add(std::move(row));
      }
    }
    return rows;
  }

  Json Shapes() {
    // The results are stored in f16, and so are values between.
    constexpr double kMostDifference = 0.01;
    std::vector<Graph> graphs;
    std::vector<std::string> names;
    for (const NamedGraph& named : kShapes) {
      graphs.push_back(GraphOf(named.text));
      names.push_back(named.name);
    }
    const size_t others = graphs.size();
    for (const AttentionCase& c : kAttention) {
      graphs.push_back(GraphOf(AttentionText(c, c.heads, c.length).c_str()));
      names.push_back(c.Name());
    }
    std::vector<Job> jobs;
    for (size_t g = 0; g < graphs.size(); ++g) {
      for (bool libraries : {true, false}) {
        jobs.push_back({&graphs[g], OptionsOf(ProductPrecision::kF16, libraries)});
      }
      for (const codegen::StreamTile& tile : StreamTilesOf(graphs[g])) {
        jobs.push_back({&graphs[g], StreamedBy(tile)});
      }
    }
    Json rows = Json::Array();
    if (!Compiled("shapes", jobs)) return rows;
    for (size_t g = 0; g < graphs.size(); ++g) {
      auto inputs = api::RandomInputs(graphs[g], 1, 2);
      if (!inputs.ok()) continue;
      // Of attention, the first rows of the first head: the reference takes minutes for all.
      constexpr int kRows = 64;
      Graph exact_graph = graphs[g];
      std::vector<Tensor> exact_inputs = *inputs;
      if (g >= others) {
        const AttentionCase& c = kAttention[g - others];
        exact_graph = GraphOf(AttentionText(c, 1, kRows).c_str());
        for (size_t i = 0; i < exact_inputs.size(); ++i) {
          exact_inputs[i] = FirstOf((*inputs)[i], exact_graph.inputs()[i].type().shape);
        }
      }
      auto reference = MakeReferenceBackend(BetweenOperators::kUnrounded)->Compile(exact_graph, {});
      auto exact = reference.ok() ? (*reference)->Run(exact_inputs) : reference.status();
      if (!exact.ok()) {
        Fail(names[g], exact.status());
        continue;
      }
      Json row = Json::Object();
      row.Set("case", names[g]);
      std::string line = names[g];
      for (bool libraries : {true, false}) {
        const CudaOptions options = OptionsOf(ProductPrecision::kF16, libraries);
        auto executable = MakeCudaBackend(options)->Compile(graphs[g], {});
        auto outputs = executable.ok() ? (*executable)->Run(*inputs) : executable.status();
        auto ms = outputs.ok() ? (*executable)->TimeRuns(*inputs, 5 * kRuns) : outputs.status();
        if (!ms.ok()) {
          Fail(names[g], ms.status());
          continue;
        }
        const std::string prefix = libraries ? "library_" : "generated_";
        row.Set(prefix + "ms", api::Median(*ms));
        absl::StrAppend(&line, libraries ? " library " : " generated ",
                        absl::SixDigits(1e3 * api::Median(*ms)), " us");
        const Tensor compared =
            g < others ? (*outputs)[0] : FirstOf((*outputs)[0], (*exact)[0].type().shape);
        const double difference = Compare(compared, (*exact)[0], 1).relative();
        row.Set(prefix + "difference", difference);
        absl::StrAppend(&line, ", differs by ", absl::SixDigits(difference));
        if (!(difference <= kMostDifference)) {
          Fail(names[g], absl::InternalError(absl::StrCat("differs by ", difference)));
        }
      }
      Json tiles = Json::Array();
      for (const codegen::StreamTile& tile : StreamTilesOf(graphs[g])) {
        const double ms = Time(graphs[g], StreamedBy(tile), *inputs);
        Json time = Json::Object();
        time.Set("rows", tile.rows).Set("keys", tile.keys).Set("ms", ms);
        tiles.Add(std::move(time));
        absl::StrAppend(&line, ", ", tile.rows, "x", tile.keys, " ", absl::SixDigits(1e3 * ms));
      }
      row.Set("tiles", std::move(tiles));
      std::printf("%s\n", line.c_str());
      rows.Add(std::move(row));
    }
    return rows;
  }

  Json Models() {
    Json rows = Json::Array();
    auto files = PackagedFiles(flags_.folder, flags_.models);
    if (!files.ok()) {
      Fail("models", files.status());
      return rows;
    }
    std::vector<absl::StatusOr<PackagedModel>> models(files->size(), absl::UnknownError(""));
    InParallel(files->size(), [&](size_t i) { models[i] = LoadPackaged((*files)[i]); });
    std::vector<Job> jobs;
    for (const auto& model : models) {
      if (!model.ok()) continue;
      for (ProductPrecision precision : Wanted()) {
        jobs.push_back({&model->variants[0].graph, OptionsOf(precision, true)});
      }
    }
    if (!Compiled("models", jobs)) return rows;
    for (const auto& model : models) {
      if (!model.ok()) continue;
      const Variant& variant = model->variants[0];
      const bool step = model->expected.empty();  // its outputs are sampled
      for (ProductPrecision precision : Wanted()) {
        Json row = Json::Object();
        row.Set("model", variant.name).Set("precision", Name(precision));
        std::string line = absl::StrCat(variant.name, " ", Name(precision));
        for (bool libraries : {true, false}) {
          if (libraries && precision == ProductPrecision::kF32x3) continue;
          const CudaOptions options = OptionsOf(precision, libraries);
          auto executable = MakeCudaBackend(options)->Compile(variant.graph, {});
          auto outputs = executable.ok() ? (*executable)->Run(model->inputs) : executable.status();
          auto ms = outputs.ok() ? (*executable)->TimeRuns(model->inputs, kRuns) : outputs.status();
          if (!ms.ok()) {
            Fail(line, ms.status());
            continue;
          }
          double difference = 0;
          for (size_t k = 0; k < outputs->size() && !step; ++k) {
            const Difference d = Compare((*outputs)[k], model->expected[k], 1);
            difference = std::max(difference, d.relative());
          }
          const std::string prefix = libraries ? "library_" : "generated_";
          row.Set(prefix + "ms", api::Median(*ms)).Set(prefix + "difference", difference);
          absl::StrAppend(&line, libraries ? " library " : " generated ",
                          absl::SixDigits(api::Median(*ms)), " ms, differs by ",
                          absl::SixDigits(difference));
        }
        std::printf("%s\n", line.c_str());
        std::fflush(stdout);
        rows.Add(std::move(row));
      }
    }
    return rows;
  }

  int failures() const { return failures_; }

 private:
  std::vector<TileChoice> Swept(const Graph& graph, ProductPrecision precision) const {
    if (!IsSwept(precision)) return {};
    return TilesToTime(graph, precision, static_cast<size_t>(flags_.tiles));
  }

  // Of the models.
  std::vector<ProductPrecision> Wanted() const {
    std::vector<ProductPrecision> wanted;
    for (ProductPrecision precision : codegen::kRoundingPrecisions) {
      const auto& names = flags_.precisions;
      if (names.empty() || std::count(names.begin(), names.end(), Name(precision)) > 0) {
        wanted.push_back(precision);
      }
    }
    return wanted;
  }

  // Whether to go on and run them.
  bool Compiled(const char* what, const std::vector<Job>& jobs) {
    const auto start = Clock::now();
    const absl::Status s = CompileJobs(jobs, static_cast<int>(flags_.compile_for));
    if (!s.ok()) Fail(what, s);
    std::printf("compiled   %s: %d variants in %.1f s\n", what, static_cast<int>(jobs.size()),
                std::chrono::duration<double>(Clock::now() - start).count());
    return s.ok() && flags_.compile_for == 0;
  }

  void Fail(const std::string& what, const absl::Status& why) {
    ++failures_;
    std::printf("FAILED     %s: %s\n", what.c_str(), std::string(why.message()).c_str());
  }

  double Time(const Graph& graph, const CudaOptions& options, const std::vector<Tensor>& inputs) {
    auto executable = MakeCudaBackend(options)->Compile(graph, {});
    auto ms = executable.ok() ? (*executable)->TimeRuns(inputs, kRuns) : executable.status();
    if (!ms.ok()) {
      Fail(graph.name(), ms.status());
      return NAN;
    }
    return api::Median(*ms);
  }

  const PrecisionFlags& flags_;
  int failures_ = 0;
};

int Main(const std::vector<std::string>& arguments) {
  PrecisionFlags precision;
  Flags flags("gpu_precision_main", "OUT [FOLDER]", "Measures products in each precision.");
  flags.List("models", &precision.models, "X,...", "of FOLDER/models X.onnx and X.step.pb; all");
  flags.List("precisions", &precision.precisions, "X,...", "of the models; all");
  flags.Int("tiles", &precision.tiles, "tiles to time for a product");
  flags.List("parts", &precision.parts, "X,...", "of errors, shapes, products and models; all");
  flags.Int("compile-for", &precision.compile_for,
            "only compile the kernels for this architecture, such as 90, into the cache");
  auto positional = flags.Parse(arguments);
  if (positional.ok() && flags.help()) {
    std::fputs(flags.Help().c_str(), stdout);
    return 0;
  }
  if (positional.ok() && (positional->empty() || positional->size() > 2)) {
    positional = absl::InvalidArgumentError("needs OUT and perhaps FOLDER; see --help");
  }
  if (!positional.ok()) {
    std::fprintf(stderr, "gpu_precision_main: %s\n",
                 std::string(positional.status().message()).c_str());
    return 2;
  }
  precision.out = (*positional)[0];
  if (positional->size() == 2) precision.folder = (*positional)[1];
  Check check(precision);
  Json report = Json::Object();
  report.Set("device", MakeCudaBackend()->version());
  auto write = [&] {
    const absl::Status s = api::WriteText(precision.out, report.ToString() + "\n");
    if (!s.ok()) std::fprintf(stderr, "gpu_precision_main: %s\n", std::string(s.message()).c_str());
    return s.ok();
  };
  const auto wanted = [&](const char* part) {
    return precision.parts.empty() ||
           std::count(precision.parts.begin(), precision.parts.end(), part) > 0;
  };
  if (wanted("errors")) report.Set("errors", check.Errors());
  write();
  if (wanted("shapes")) report.Set("shapes", check.Shapes());
  write();
  if (wanted("products")) report.Set("products", check.Products());
  write();
  if (wanted("models") && !precision.folder.empty()) report.Set("models", check.Models());
  report.Set("failures", check.failures());
  return write() && check.failures() == 0 ? 0 : 1;
}

}  // namespace
}  // namespace lemma::gpu

int main(int argc, char** argv) {
  // Line-buffered, so that progress is visible in a file too.
  std::setvbuf(stdout, nullptr, _IOLBF, 1 << 12);
  return lemma::gpu::Main(std::vector<std::string>(argv + 1, argv + argc));
}
