// Measures products in each precision on a GPU, and how far they are from exact results.
//
// Usage: gpu_precision_main OUT SECONDS [FOLDER]
//
// Writes to OUT (JSON):
//   errors    products and convolutions on random values, for each tile: the largest error relative
//             to the sum of the products' magnitudes, and the bound (ProductErrorBound);
//   products  milliseconds of one product on the device, with cuBLASLt, with the chosen tile, and
//             with the best one of TileChoices; at most SECONDS;
//   models    for the models in FOLDER (tools/package_gpu): milliseconds, and the difference from
//             the CPU's outputs in f32 relative to the largest output.
// Exit status 0: all errors are within their bounds; 1: not, or a failure; 2: wrong arguments.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
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
#include "base/json.h"
#include "graph/text/text.h"
#include "kernels/codegen/product_precision.h"
#include "runtime/cuda/cuda_backend.h"
#include "runtime/cuda/cuda_plan.h"
#include "runtime/reference/reference.h"
#include "runtime/tolerance.h"
#include "tools/gpu/packaged_models.h"

namespace lemma::gpu {
namespace {

using codegen::ProductPrecision;
using codegen::TileChoice;
using Clock = std::chrono::steady_clock;

constexpr ProductPrecision kPrecisions[] = {ProductPrecision::kF32, ProductPrecision::kF32x3,
                                            ProductPrecision::kTf32, ProductPrecision::kF16,
                                            ProductPrecision::kBf16};
constexpr int kRuns = 20;

struct NamedGraph {
  const char* name;
  int64_t terms;  // of a sum
  const char* text;
};

// The outputs grow with the inputs' magnitudes.
constexpr NamedGraph kExact[] = {
    {"matmul, in packs", 520,
     "graph g(x: f32[300,520], w: f32[520,260]) { y = matmul(x, w) return y }"},
    {"matmul of transposed, one by one", 333, R"(graph g(x: f32[333,131], w: f32[77,333]) {
       a = transpose(x) {perm = [1,0]}
       b = transpose(w) {perm = [1,0]}
       y = matmul(a, b)
       return y
     })"},
    {"conv 3x3, strided", 576, R"(graph g(x: f32[2,64,29,27], w: f32[96,64,3,3], b: f32[96]) {
       c = conv2d(x, w, b) {pads = [1,1,1,1], strides = [2,2]}
       y = relu(c)
       return y
     })"},
    {"conv 5x5 in groups", 400, R"(graph g(x: f32[2,64,20,18], w: f32[96,16,5,5]) {
       y = conv2d(x, w) {pads = [2,2,2,2], groups = 4}
       return y
     })"},
    {"batch of products", 2048,
     "graph g(x: f32[3,65,2048], w: f32[3,2048,68]) { y = matmul(x, w) return y }"},
    {"product of 16-bit matrices", 256, R"(graph g(x: bf16[200,256], w: f16[256,136]) {
       a = cast(x) {dtype = "f32"}
       b = cast(w) {dtype = "f32"}
       y = matmul(a, b)
       return y
     })"},
};

constexpr NamedGraph kTimed[] = {
    {"matmul 1024^3", 1024,
     "graph g(x: f32[1024,1024], w: f32[1024,1024]) { y = matmul(x, w) return y }"},
    {"matmul 4096^3", 4096,
     "graph g(x: f32[4096,4096], w: f32[4096,4096]) { y = matmul(x, w) return y }"},
    {"matmul 4096^3, stored in bf16", 4096,
     "graph g(x: bf16[4096,4096], w: bf16[4096,4096]) { y = matmul(x, w) return y }"},
    {"matmul 4096^3, second factor transposed", 4096,
     R"(graph g(x: f32[4096,4096], w: f32[4096,4096]) {
       t = transpose(w) {perm = [1,0]}
       y = matmul(x, t)
       return y
     })"},
    {"matmul 512x768x3072", 768,
     "graph g(x: f32[512,768], w: f32[768,3072]) { y = matmul(x, w) return y }"},
    {"matmul 128x3072x768", 3072,
     "graph g(x: f32[128,3072], w: f32[3072,768]) { y = matmul(x, w) return y }"},
    {"matmul 4096x768x3072", 768,
     "graph g(x: f32[4096,768], w: f32[768,3072]) { y = matmul(x, w) return y }"},
    {"scores 96 x 512x64x512", 64,
     "graph g(x: f32[96,512,64], w: f32[96,64,512]) { y = matmul(x, w) return y }"},
    {"conv 3x3 32x256x14x14", 2304,
     "graph g(x: f32[32,256,14,14], w: f32[256,256,3,3]) { y = conv2d(x, w) {pads = [1,1,1,1]} "
     "return y }"},
    {"conv 3x3 32x64x56x56", 576,
     "graph g(x: f32[32,64,56,56], w: f32[64,64,3,3]) { y = conv2d(x, w) {pads = [1,1,1,1]} return "
     "y }"},
    {"conv 1x1 32x256x56x56 to 64", 256,
     "graph g(x: f32[32,256,56,56], w: f32[64,256,1,1]) { y = conv2d(x, w) return y }"},
    {"conv 3x3 1x256x14x14", 2304,
     "graph g(x: f32[1,256,14,14], w: f32[256,256,3,3]) { y = conv2d(x, w) {pads = [1,1,1,1]} "
     "return y }"},
};

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

// The use of a tile in the plan of a graph that is one product.
std::optional<codegen::TileUse> TileOf(const Graph& graph, const CudaOptions& options) {
  NodeTraitsCache traits;
  cuda::PlanOptions plan_options;
  plan_options.grid = options.grid;
  auto plan = cuda::PlanGraph(graph, traits, plan_options);
  if (!plan.ok()) return std::nullopt;
  for (const cuda::CudaStep& step : plan->steps) {
    if (step.program == nullptr) continue;
    for (const codegen::GridKernel& kernel : step.program->kernels) {
      if (kernel.tile) return kernel.tile;
    }
  }
  return std::nullopt;
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

// Fills the cache of compiled kernels.
void CompileJobs(const std::vector<Job>& jobs) {
  InParallel(jobs.size(),
             [&](size_t i) { CompileAhead({*jobs[i].graph}, jobs[i].options).IgnoreError(); });
}

std::vector<TileChoice> ChoicesOf(const Graph& graph, ProductPrecision precision) {
  const auto use = TileOf(graph, OptionsOf(precision, false));
  if (!use) return {};
  return codegen::TileChoices(use->size, precision);
}

class Check {
 public:
  explicit Check(double seconds) : seconds_(seconds) {}

  Json Errors() {
    std::vector<Graph> graphs;
    for (const NamedGraph& named : kExact) graphs.push_back(GraphOf(named.text));
    std::vector<Job> jobs;
    for (ProductPrecision precision : kPrecisions) {
      for (const Graph& graph : graphs) {
        for (const TileChoice& choice : ChoicesOf(graph, precision)) {
          jobs.push_back({&graph, OptionsOf(precision, false, choice)});
        }
      }
    }
    CompileJobs(jobs);
    Json rows = Json::Array();
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
      for (ProductPrecision precision : kPrecisions) {
        const double bound = codegen::ProductErrorBound(precision, kExact[g].terms) + 0x1p-22;
        double worst = 0;
        int tiles = 0;
        std::vector<CudaOptions> variants = {OptionsOf(precision, true)};
        for (const TileChoice& choice : ChoicesOf(graphs[g], precision)) {
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
      for (ProductPrecision precision : kPrecisions) {
        jobs.push_back({&graph, OptionsOf(precision, false)});
        for (const TileChoice& choice : ChoicesOf(graph, precision)) {
          jobs.push_back({&graph, OptionsOf(precision, false, choice)});
        }
      }
    }
    const auto start = Clock::now();
    CompileJobs(jobs);
    std::printf("compiled   %d variants in %.1f s\n", static_cast<int>(jobs.size()),
                Seconds(start));
    Json rows = Json::Array();
    for (size_t g = 0; g < graphs.size() && Seconds(start_) < seconds_; ++g) {
      auto inputs = api::RandomInputs(graphs[g], 1, 2);
      if (!inputs.ok()) continue;
      for (ProductPrecision precision : kPrecisions) {
        const double library = Time(graphs[g], OptionsOf(precision, true), *inputs);
        const double chosen = Time(graphs[g], OptionsOf(precision, false), *inputs);
        double best = chosen;
        std::string best_tile = "chosen";
        Json tiles = Json::Array();
        for (const TileChoice& choice : ChoicesOf(graphs[g], precision)) {
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
        row.Set("library_ms", library).Set("chosen_ms", chosen).Set("best_ms", best);
        row.Set("best_tile", best_tile).Set("tiles", std::move(tiles));
        rows.Add(std::move(row));
      }
    }
    return rows;
  }

  Json Models(const std::string& folder) {
    Json rows = Json::Array();
    auto files = PackagedFiles(folder, {});
    if (!files.ok()) {
      Fail("models", files.status());
      return rows;
    }
    std::vector<absl::StatusOr<PackagedModel>> models(files->size(), absl::UnknownError(""));
    InParallel(files->size(), [&](size_t i) { models[i] = LoadPackaged((*files)[i]); });
    std::vector<Job> jobs;
    for (const auto& model : models) {
      if (!model.ok()) continue;
      for (ProductPrecision precision : kPrecisions) {
        jobs.push_back({&model->variants[0].graph, OptionsOf(precision, true)});
      }
    }
    const auto start = Clock::now();
    CompileJobs(jobs);
    std::printf("compiled   models in %.1f s\n", Seconds(start));
    for (const auto& model : models) {
      if (!model.ok() || model->expected.empty()) continue;
      const Variant& variant = model->variants[0];
      for (ProductPrecision precision : kPrecisions) {
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
          for (size_t k = 0; k < outputs->size(); ++k) {
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
  static double Seconds(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
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

  const double seconds_;
  const Clock::time_point start_ = Clock::now();
  int failures_ = 0;
};

}  // namespace
}  // namespace lemma::gpu

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) {
    std::fprintf(stderr, "usage: gpu_precision_main OUT SECONDS [FOLDER]\n");
    return 2;
  }
  lemma::gpu::Check check(std::atof(argv[2]));
  lemma::Json report = lemma::Json::Object();
  report.Set("device", lemma::MakeCudaBackend()->version());
  report.Set("errors", check.Errors());
  report.Set("products", check.Products());
  if (argc == 4) report.Set("models", check.Models(argv[3]));
  report.Set("failures", check.failures());
  const absl::Status s = lemma::api::WriteText(argv[1], report.ToString() + "\n");
  if (!s.ok()) std::fprintf(stderr, "gpu_precision_main: %s\n", std::string(s.message()).c_str());
  return s.ok() && check.failures() == 0 ? 0 : 1;
}
