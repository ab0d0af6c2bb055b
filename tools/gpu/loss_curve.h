// Runs training steps that tools/package_gpu packed into a folder, and compares each loss with
// PyTorch's.
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

// The data of one folder NAME.
struct LossCurve {
  std::vector<Variant> variants;  // the training step NAME and, if present, NAME.optimized
  NamedTensors state;             // by state input: the state before the first step
  NamedTensors data;              // by other input: [batches, …], or a scalar for all steps
  // By step: PyTorch's losses in f64 and in f32, and the allowed difference from the f64 loss.
  std::vector<double> expected, in_f32, allowed;
};

// The folders FOLDER/curves/NAME, sorted by name; empty if there is no FOLDER/curves.
std::vector<std::string> CurveFolders(const std::string& folder);

// Reads step.pb, step.pb.safetensors (the state), step.optimized.pb if it exists, data.safetensors,
// and losses.safetensors (the tensors `f64`, `f32` and `allowed`, with one f64 per step). Error
// messages begin with the file.
absl::StatusOr<LossCurve> LoadCurve(const std::string& folder);

struct CurveRun {
  std::vector<double> losses;  // by step
  // The median time of a step, with transfers of inputs and outputs between host and device. State
  // stays on the device if the back end can keep it there.
  double step_ms = 0;
};

// Runs `step`, one of the variants, once for each expected loss. Each time, it
// starts with the state that the previous step left, and reads the next batch;
// after the last batch comes the first. InvalidArgument if an input has no
// value or a value of another type (the message names it), or if `step` has no
// state or no scalar output `loss`.
absl::StatusOr<CurveRun> RunCurve(const LossCurve& curve, const Graph& step, Backend* backend);

struct CurveDifference {
  int step = 0;  // the first step, from 1, whose loss differs by more than allowed; 0: none
  double difference = 0, allowed = 0;  // at this step
  // The largest relative difference of a loss from PyTorch's f64 loss: `relative` is for `losses`,
  // `relative_of_f32` for PyTorch's f32 losses.
  double relative = 0, relative_of_f32 = 0;
};

// `losses` has one loss per step, at most as many as curve.expected.
CurveDifference CompareCurve(const LossCurve& curve, absl::Span<const double> losses);

}  // namespace lemma::gpu

#endif  // LEMMA_TOOLS_GPU_LOSS_CURVE_H_
