// Measures how far a model's outputs are from f64 if CUDA kernels compute its products in each
// precision. Needs no GPU. Code: api/precision. docs/cuda.md explains the precisions.
#ifndef LEMMA_API_PRECISION_H_
#define LEMMA_API_PRECISION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "api/models/model_file.h"
#include "api/models/model_inputs.h"
#include "kernels/codegen/product_precision.h"

namespace lemma::api {

struct PrecisionOptions {
  // Each precision of kRoundingPrecisions is allowed; by default, all are measured. kStored is not
  // allowed: it rounds nothing that the model does not round itself.
  std::vector<codegen::ProductPrecision> precisions{std::begin(codegen::kRoundingPrecisions),
                                                    std::end(codegen::kRoundingPrecisions)};
  InputOptions inputs;  // random state of a training step is scaled like weights
  int threads = 1;
  // The devices that kernels are planned for: 80 (sm_80) or 90 (sm_90a).
  int architecture = 90;
};

// The error of an output, where y are its elements and r the elements in f64. If all r are 0, the
// differences are not divided.
struct PrecisionError {
  std::string output;
  double largest = 0;   // max |y - r| / max |r|
  double relative = 0;  // sqrt(sum (y - r)^2 / sum r^2)
  // `run --expect` accepts this output in this precision if `largest` <= `allowed`. This is t *
  // max(1, max |r|) / max |r|, where t is the tolerance of the output (runtime/tolerance.h).
  double allowed = 0;
};

// A model in one precision of products.
struct PrecisionRow {
  codegen::ProductPrecision precision = codegen::ProductPrecision::kF32;
  // The sums of products that kernels by tile or streamed kernels would compute in this precision,
  // and the number of terms of the longest one.
  int products = 0;
  int64_t terms = 0;
  // The largest bound B of these sums: each sum is off by at most B times the
  // sum of all |a_i| |b_i| (ProductErrorBound). 0 if there are no sums.
  double bound = 0;
  // Numbers of operators. rounded: operators whose factors were rounded for the
  // measurement (for kF32: operators whose factors a precision below f32 would
  // round). left: the other operators with products in this precision; the
  // measurement computed them in f32 (RoundedFactors in
  // runtime/cuda/fusion/rounded_factors.h).
  int rounded = 0, left = 0;
  // By output with floats, in the order of the outputs. The errors of an output
  // are infinite if one of its elements is infinite or NaN, but finite in f64.
  std::vector<PrecisionError> errors;
  // The greatest `largest` and `relative` of all outputs, and the greatest quotient of an output's
  // `largest` and `allowed`. 0 if no output has floats.
  double largest = 0, relative = 0, tolerance_used = 0;
};

struct PrecisionResult {
  std::vector<PrecisionRow> rows;  // in the order of PrecisionOptions::precisions
  // Elements of outputs that are infinite or NaN in f64; they are left out.
  int64_t not_finite = 0;
  double reference_seconds = 0;  // for the execution in f64

  // Whether no `tolerance_used` is greater than 1.
  bool within() const;
};

// Executes the model by its definitions, with all values in f64. Then executes
// it on the CPU once for each precision: in f32, without Winograd's algorithm,
// and with factors of products rounded as the CUDA kernels round them
// (runtime/cuda/fusion/rounded_factors.h). InvalidArgument for a wrong option;
// Unimplemented if an operator has no definition.
absl::StatusOr<PrecisionResult> MeasurePrecisions(const Model& model,
                                                  const PrecisionOptions& options);
// The errors for people: a table with a row for each precision, and notes on what was left out.
std::string TextOf(const PrecisionResult& result);

}  // namespace lemma::api

#endif  // LEMMA_API_PRECISION_H_
