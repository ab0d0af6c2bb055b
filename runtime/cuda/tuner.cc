#include "runtime/cuda/tuner.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/parallel.h"
#include "runtime/cuda/cuda_plan.h"
#include "runtime/cuda/fusion/store_factors.h"

namespace lemma::cuda {

using codegen::StreamTile;
using codegen::TileChoice;
using codegen::TileTable;
using codegen::TunedSize;
using codegen::TunedTile;

namespace {

bool AreEqual(const TileChoice& a, const TileChoice& b) {
  return a.tile == b.tile && a.parts == b.parts;
}
bool AreEqual(const StreamTile& a, const StreamTile& b) {
  return a.rows == b.rows && a.keys == b.keys;
}

// A tile to try. `predicted` is the time model's, `expected` is corrected by experience.
struct Candidate {
  TunedTile tile;
  double predicted = 0, expected = 0;  // microseconds
};

// The size's space, the model's choice first, then by expected times.
std::vector<Candidate> CandidatesOf(const TunedSize& size, const TileTable& table) {
  std::vector<Candidate> candidates;
  size_t model = 0;
  if (size.product) {
    const TileChoice chosen = codegen::ChooseTile(*size.product, size.precision);
    const std::vector<double> factors = table.Factors(size.precision);
    for (const TileChoice& choice : codegen::TileChoices(*size.product, size.precision)) {
      if (AreEqual(choice, chosen)) model = candidates.size();
      Candidate candidate;
      candidate.tile.choice = choice;
      candidate.predicted = codegen::PredictedMicroseconds(*size.product, choice, size.precision);
      candidate.expected = candidate.predicted * (factors.empty() ? 1 : factors[choice.tile]);
      candidates.push_back(candidate);
    }
  } else {
    const std::optional<StreamTile> chosen = codegen::ChooseStreamTile(size.stream);
    for (const StreamTile& tile : codegen::StreamTiles(size.stream)) {
      if (chosen && AreEqual(tile, *chosen)) model = candidates.size();
      Candidate candidate;
      candidate.tile.stream = tile;
      candidate.predicted = candidate.expected = codegen::StreamedMicroseconds(size.stream, tile);
      candidates.push_back(candidate);
    }
  }
  if (candidates.empty()) return candidates;
  std::swap(candidates[0], candidates[model]);
  std::stable_sort(candidates.begin() + 1, candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.expected < b.expected; });
  return candidates;
}

// Whether a tile cannot run; that is not a failure of the measurement.
bool CannotRun(const absl::Status& status) {
  return absl::IsUnimplemented(status) || absl::IsResourceExhausted(status);
}

// A size of the graph, and the step that is measured for it.
struct Work {
  TunedSize size;
  PlannedKernel step;
  std::string operators;
  int steps = 0;
  double predicted = 0;  // microseconds of all steps
};

class Tuner {
 public:
  Tuner(const TunerOptions& options, const MeasurerMaker& make, TileTable* table)
      : options_(options), make_(make), table_(table) {}

  absl::StatusOr<TunedKernel> Tune(const Work& work) {
    TunedKernel result;
    result.size = work.size;
    result.operators = work.operators;
    result.steps = work.steps;
    std::vector<Candidate> candidates = CandidatesOf(work.size, *table_);
    const auto most = static_cast<size_t>(std::max(1, options_.most_tiles));
    candidates.resize(std::min(candidates.size(), most));
    result.model_choice = candidates[0].tile.choice;
    result.model_stream = candidates[0].tile.stream;
    Prepare(work, candidates);
    std::vector<double> times(candidates.size(), std::numeric_limits<double>::infinity());
    for (size_t c = 0; c < candidates.size(); ++c) {
      absl::StatusOr<double> microseconds = Measure(work, candidates[c]);
      if (!microseconds.ok() && c > 0 && CannotRun(microseconds.status())) continue;
      if (!microseconds.ok()) return microseconds.status();
      times[c] = *microseconds;
      ++result.tried;
      if (work.size.product) {
        table_->Learn(candidates[c].tile.choice.tile, work.size.precision, *microseconds,
                      candidates[c].predicted);
      }
    }
    size_t best = std::min_element(times.begin(), times.end()) - times.begin();
    if (best > 0) {
      constexpr int kAgain = 2;
      constexpr double kWorth = 0.98;
      bool is_faster = times[best] < kWorth * times[0];
      for (int i = 0; i < kAgain && is_faster; ++i) {
        for (size_t c : {size_t{0}, best}) {
          absl::StatusOr<double> microseconds = Measure(work, candidates[c]);
          if (!microseconds.ok()) return microseconds.status();
          times[c] = *microseconds;
        }
        is_faster = times[best] < kWorth * times[0];
      }
      if (!is_faster) best = 0;
    }
    result.tile = candidates[best].tile;
    result.tile.microseconds = times[best];
    result.tile.model_microseconds = times[0];
    table_->Set(work.size, result.tile);
    return result;
  }

 private:
  std::unique_ptr<KernelMeasurer> MeasurerWith(const Work& work, const Candidate& candidate) const {
    auto table = std::make_shared<TileTable>();
    table->Set(work.size, candidate.tile);
    return make_(std::move(table));
  }

  // Compiles the kernels on all processors. A failure shows again when they are measured.
  void Prepare(const Work& work, const std::vector<Candidate>& candidates) const {
    const auto threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    ParallelFor(threads, static_cast<int64_t>(candidates.size()), [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) {
        MeasurerWith(work, candidates[c])->Prepare({work.step}).IgnoreError();
      }
    });
  }

  absl::StatusOr<double> Measure(const Work& work, const Candidate& candidate) const {
    absl::StatusOr<double> ms = MeasurerWith(work, candidate)->MeasureMs(work.step);
    if (!ms.ok()) return ms.status();
    if (!std::isfinite(*ms) || *ms <= 0) {
      return absl::InternalError(absl::StrCat(work.operators, " took ", *ms, " ms"));
    }
    return 1e3 * *ms;
  }

  const TunerOptions& options_;
  const MeasurerMaker& make_;
  TileTable* table_;
};

}  // namespace

std::string TunedKernel::TileName() const {
  return size.product ? NameOf(tile.choice, size.precision) : NameOf(tile.stream);
}

std::string TunedKernel::ModelTileName() const {
  return size.product ? NameOf(model_choice, size.precision) : NameOf(model_stream);
}

absl::StatusOr<TunedKernels> TuneTiles(const Graph& graph, const codegen::GridOptions& grid,
                                       const TunerOptions& options, const MeasurerMaker& make,
                                       TileTable* table) {
  NodeTraitsCache traits;
  PlanOptions plan_options;
  plan_options.grid = grid;
  plan_options.grid.tiles = nullptr;
  plan_options.horizontal_fusion = false;
  const Graph stored = StoreFactors(graph, traits, plan_options.grid);
  absl::StatusOr<CudaPlan> plan = PlanGraph(stored, traits, plan_options);
  if (!plan.ok()) return plan.status();
  absl::StatusOr<KernelPlan> kernels = make(nullptr)->Plan(stored);
  if (!kernels.ok()) return kernels.status();
  if (kernels->kernels.size() != plan->steps.size()) {
    return absl::InternalError("the measurer plans other steps");
  }
  std::map<std::string, Work> sizes;
  for (size_t i = 0; i < plan->steps.size(); ++i) {
    const CudaStep& step = plan->steps[i];
    if (step.program == nullptr) continue;
    for (const codegen::GridKernel& kernel : step.program->kernels) {
      if (!kernel.tile && !kernel.streamed) continue;
      const TunedSize size = TunedSizeOf(kernel);
      const std::vector<Candidate> candidates = CandidatesOf(size, *table);
      if (candidates.empty()) continue;
      Work& work = sizes[size.ToString()];
      if (work.steps == 0 || step.nodes.size() < work.step.nodes.size()) {
        work.size = size;
        work.step = kernels->kernels[i];
        work.operators = step.operators;
      }
      ++work.steps;
      work.predicted += candidates[0].predicted;
    }
  }
  std::vector<Work> open;
  for (auto& [name, work] : sizes) {
    if (options.again || table->Find(work.size) == nullptr) open.push_back(std::move(work));
  }
  std::stable_sort(open.begin(), open.end(),
                   [](const Work& a, const Work& b) { return a.predicted > b.predicted; });
  Tuner tuner(options, make, table);
  TunedKernels result;
  result.left = static_cast<int>(open.size());
  for (const Work& work : open) {
    if (options.deadline.Passed()) break;
    absl::StatusOr<TunedKernel> kernel = tuner.Tune(work);
    if (!kernel.ok()) return kernel.status();
    result.kernels.push_back(*std::move(kernel));
    --result.left;
    if (!options.on_size) continue;
    if (absl::Status s = options.on_size(result.kernels.back(), result.left); !s.ok()) return s;
  }
  return result;
}

}  // namespace lemma::cuda
