// Measures tiles and split counts of sums of products on a GPU, to which the model of
// kernels/codegen/tiles/tile_choice.cc is fitted.
//
// Usage: gpu_tiles_main FOLDER OUT SECONDS
//
// It collects the sums of products in the models and steps of FOLDER, one of each size, in random
// order, and times the kernels of each of its TileChoices within a CUDA graph, until SECONDS are
// over. It writes one line for each to OUT: microseconds, batch, m, n, k, a_work, b_work, number of
// the tile (-1: cuBLASLt), parts. tools/gpu/fit_tiles.py fits the model's constants to these lines.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "api/models/model_file.h"
#include "runtime/cuda/cuda_backend.h"
#include "runtime/cuda/cuda_plan.h"

namespace lemma {
namespace {

using codegen::ProductSize;
using codegen::TileChoice;

struct Case {
  ProductSize size;
  PlannedKernel kernel;
  std::vector<TileChoice> choices;
  bool library = false;
};

CudaOptions OptionsFor(const TileChoice& choice) {
  CudaOptions options;
  options.libraries = false;
  options.grid.tile = choice;
  return options;
}

std::vector<Case> CasesOf(const std::string& folder) {
  std::map<std::tuple<int64_t, int64_t, int64_t, int64_t>, Case> cases;
  std::unique_ptr<KernelMeasurer> measurer = MakeCudaMeasurer();
  NodeTraitsCache traits;
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.is_regular_file()) files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  for (const std::string& file : files) {
    auto model = api::LoadModel(file);
    if (!model.ok()) continue;
    auto plan = cuda::PlanGraph(model->graph, traits, {{}, /*horizontal_fusion=*/false});
    auto kernels = measurer->Plan(model->graph);
    if (!plan.ok() || !kernels.ok()) continue;
    for (size_t i = 0; i < plan->steps.size(); ++i) {
      for (const codegen::GridKernel& kernel : plan->steps[i].program->kernels) {
        if (!kernel.tile) continue;
        const ProductSize& s = kernel.tile->size;
        Case& c = cases[std::make_tuple(s.batch, s.m, s.n, s.k)];
        c.library = c.library || kernel.gemm.has_value();
        if (!c.choices.empty()) continue;
        c.size = s;
        c.kernel = kernels->kernels[i];
        c.choices = codegen::TileChoices(s, codegen::ProductPrecision::kF32);
      }
    }
  }
  std::vector<Case> result;
  result.reserve(cases.size());
  for (auto& [key, c] : cases) result.push_back(std::move(c));
  return result;
}

class Sweep {
 public:
  Sweep(std::FILE* out, double seconds) : out_(out), seconds_(seconds) {}

  int Run(std::vector<Case> cases) {
    std::mt19937 random(1);
    std::shuffle(cases.begin(), cases.end(), random);
    std::printf("%d sizes\n", static_cast<int>(cases.size()));
    constexpr size_t kChunk = 16;
    size_t done = 0, failed = 0;
    for (; done < cases.size() && !Over(); done += kChunk) {
      const size_t end = std::min(cases.size(), done + kChunk);
      CompileAhead(cases, done, end);
      for (size_t i = done; i < end; ++i) failed += Measure(cases[i]);
      std::printf("%d of %d sizes, %d failures, %.0f s\n", static_cast<int>(end),
                  static_cast<int>(cases.size()), static_cast<int>(failed), Seconds());
      std::fflush(stdout);
    }
    return failed == 0 ? 0 : 1;
  }

 private:
  double Seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  bool Over() const { return Seconds() > seconds_; }

  // Fills the cache of compiled kernels, using all processors.
  static void CompileAhead(const std::vector<Case>& cases, size_t begin, size_t end) {
    std::vector<std::pair<const Case*, TileChoice>> work;
    for (size_t i = begin; i < end; ++i) {
      for (const TileChoice& choice : cases[i].choices) work.emplace_back(&cases[i], choice);
    }
    std::atomic<size_t> next = 0;
    auto compile = [&] {
      for (size_t w; (w = next++) < work.size();) {
        MakeCudaMeasurer(OptionsFor(work[w].second))
            ->Prepare({work[w].first->kernel})
            .IgnoreError();
      }
    };
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < std::max(1u, std::thread::hardware_concurrency()); ++t) {
      threads.emplace_back(compile);
    }
    for (std::thread& thread : threads) thread.join();
  }

  size_t Measure(const Case& c) {
    size_t failed = 0;
    if (c.library) failed += Print(c, {-1, 1}, {});
    for (const TileChoice& choice : c.choices) failed += Print(c, choice, OptionsFor(choice));
    return failed;
  }

  size_t Print(const Case& c, const TileChoice& choice, const CudaOptions& options) {
    auto ms = MakeCudaMeasurer(options)->MeasureMs(c.kernel);
    if (!ms.ok()) {
      std::printf("FAILED tile %d in %d: %s: %s\n", choice.tile, static_cast<int>(choice.parts),
                  c.kernel.signature.c_str(), std::string(ms.status().message()).c_str());
      return 1;
    }
    std::fprintf(out_, "%s\n",
                 absl::StrCat(absl::SixDigits(1e3 * *ms), " ", c.size.batch, " ", c.size.m, " ",
                              c.size.n, " ", c.size.k, " ", c.size.a_work, " ", c.size.b_work, " ",
                              choice.tile, " ", choice.parts)
                     .c_str());
    return 0;
  }

  std::FILE* out_;
  const double seconds_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace
}  // namespace lemma

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: gpu_tiles_main FOLDER OUT SECONDS\n");
    return 2;
  }
  std::FILE* out = std::fopen(argv[2], "w");
  if (out == nullptr) {
    std::fprintf(stderr, "gpu_tiles_main: %s cannot be written\n", argv[2]);
    return 2;
  }
  const int status = lemma::Sweep(out, std::atof(argv[3])).Run(lemma::CasesOf(argv[1]));
  std::fclose(out);
  return status;
}
