// Training in a folder of tools/package_gpu, its losses compared with PyTorch's step by step.
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
  std::vector<Variant> variants;  // NAME and, if there is one, NAME.optimized
  NamedTensors state;             // before the first step
  NamedTensors data;              // of each other input: [batches, …], or a scalar for all steps
  // By step: PyTorch's losses in f64 and in f32, and how far from the former one may be.
  std::vector<double> expected, in_f32, allowed;
};

// The folders FOLDER/curves/NAME in the order of their names; none if there is no FOLDER/curves.
std::vector<std::string> CurveFolders(const std::string& folder);

// Reads step.pb, step.pb.safetensors (the state), step.optimized.pb, data.safetensors and
// losses.safetensors (f64, f32, allowed: f64[steps]). Messages begin with the file.
absl::StatusOr<LossCurve> LoadCurve(const std::string& folder);

struct CurveRun {
  std::vector<double> losses;  // by step
  double step_ms = 0;          // the median, with the state's way from the host and back
};

// As many steps of `step` as there are losses; each begins with the state that the one before
// left, and reads the next batch, after the last one the first. InvalidArgument, named, where an
// input has no value or one of another type, or `step` has no state or no scalar output `loss`.
absl::StatusOr<CurveRun> RunCurve(const LossCurve& curve, const Graph& step, Backend* backend);

struct CurveDifference {
  int step = 0;  // the first, from 1, whose loss is off by more than is allowed; 0 if none is
  double difference = 0, allowed = 0;        // there
  double relative = 0, relative_of_f32 = 0;  // the largest: ours, PyTorch's own in f32
};

// `losses`: one for each step.
CurveDifference CompareCurve(const LossCurve& curve, absl::Span<const double> losses);

}  // namespace lemma::gpu

#endif  // LEMMA_TOOLS_GPU_LOSS_CURVE_H_
