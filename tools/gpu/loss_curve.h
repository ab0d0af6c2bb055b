// Runs training in a folder of tools/package_gpu and compares each loss with PyTorch's.
#ifndef LEMMA_TOOLS_GPU_LOSS_CURVE_H_
#define LEMMA_TOOLS_GPU_LOSS_CURVE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "graph/safetensors.h"
#include "runtime/executor.h"
#include "tools/gpu/packaged_models.h"

namespace lemma::gpu {

struct LossCurve {
  std::vector<Variant> variants;  // NAME and, if present, NAME.optimized
  NamedTensors state;             // before the first step
  NamedTensors data;              // of the other inputs: [batches, …], or a scalar for all steps
  // By step: PyTorch's losses in f64 and f32, and the allowed difference from the former.
  std::vector<double> expected, in_f32, allowed;
};

// The folders FOLDER/curves/NAME, sorted by name; empty if there is no FOLDER/curves.
std::vector<std::string> CurveFolders(const std::string& folder);

// Reads step.pb, step.pb.safetensors (the state), step.optimized.pb, data.safetensors and
// losses.safetensors (f64, f32, allowed: f64[steps]). Error messages begin with the file.
absl::StatusOr<LossCurve> LoadCurve(const std::string& folder);

struct CurveRun {
  std::vector<double> losses;  // by step
  double step_ms = 0;          // the median, including transfers of the state from and to the host
};

// Runs `step` once for each loss. Each step starts with the state of the previous one and reads the
// next batch; after the last batch comes the first. InvalidArgument, naming the input, if an input
// has no value or one of another type, or if `step` has no state or no scalar output `loss`.
absl::StatusOr<CurveRun> RunCurve(const LossCurve& curve, const Graph& step, Backend* backend);

struct CurveDifference {
  int step = 0;  // the first, from 1, whose loss differs by more than allowed; 0: none
  double difference = 0, allowed = 0;        // at that step
  double relative = 0, relative_of_f32 = 0;  // the largest: of our losses, and of PyTorch's in f32
};

// `losses`: one per step.
CurveDifference CompareCurve(const LossCurve& curve, absl::Span<const double> losses);

}  // namespace lemma::gpu

#endif  // LEMMA_TOOLS_GPU_LOSS_CURVE_H_
