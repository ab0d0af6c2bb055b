// Quantizes an ONNX model: finds ranges on samples, chooses the operators within a budget of error,
// writes the model and measures what became of it. Code: api/quantization; the model's form is
// written by graph/onnx/quantization; docs/quantization.md says what the numbers mean.
#ifndef LEMMA_API_QUANTIZE_H_
#define LEMMA_API_QUANTIZE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "api/execution/backends.h"

namespace lemma::api {

struct QuantizeOptions {
  std::string form = "static";  // or "dynamic", "weights"
  // Samples for ranges and errors: a folder, a .npz file, "synthetic" or "synthetic:N" (random
  // inputs). api/quantization/samples.h says what they hold.
  std::string calibration = "synthetic";
  std::string ranges = "minmax";  // or "percentile", "mse", "entropy": how ranges are chosen
  double percentile = 99.99;      // of the values lie in the range, for "percentile"
  int64_t bits = 8;               // of weights: 8; 7 for processors without VNNI; 4 for "weights"
  int64_t block = 0;              // weights that share a scale, for "weights"; 0: a channel
  bool per_channel = true;        // or one scale for a weight
  bool symmetric = false;         // activations are i8 with zero point 0, not u8
  bool symmetric_weights = true;  // weights are i8 with zero point 0, not u8
  std::vector<std::string> keep;  // nodes, or types of operators, that stay as they are
  // The most relative error (L2) that an output may have on the samples; negative: no limit.
  double max_error = -1;
  bool alone = true;  // also the error of each operator alone; --max-error needs it
  std::map<std::string, int64_t> dims;  // of symbolic dimensions; the samples give the others
  int64_t seed = 1, int_range = 2;      // of random inputs
  int64_t runs = 5;                     // timed executions; 0: nothing is timed
  ExecutionOptions execution;
  // May be null. Soon after it becomes true, the function ends with Cancelled.
  const std::atomic<bool>* interrupted = nullptr;
  // Receives what is being done.
  std::function<void(const std::string& what)> progress;

  // InvalidArgument names the option that is out of range, or two that exclude each other.
  absl::Status Check() const;
};

// The range of a value that becomes integers.
struct ValueRange {
  std::string name;
  double least = 0, most = 0;  // of the values on the samples for calibration
  double low = 0, high = 0;    // that the integers stand for
  double scale = 0;
  int64_t zero_point = 0;
  std::string type;                // "u8"
  std::vector<int64_t> histogram;  // 2048 parts of equal width from min(least, 0) to max(most, 0)
  double clipped = 0;              // share of the values outside of [low, high], by the histogram
};

// Four numbers about the result of one operator. They are about different things and never merged;
// absent: not known. All but the first are the largest absolute error of the result's elements.
struct OperatorErrors {
  bool exact = false;                // the integers' result is that of the floats they stand for
  std::optional<double> bound;       // sound, for all operands within their ranges
  std::optional<double> for_inputs;  // sound, for the operands that the samples gave
  std::optional<double> measured;    // on these samples
  double magnitude = 0;              // the largest |element| of the result on them
};

// The reason of operators that are quantized only between quantized operators.
constexpr char kNothingToFollow[] = "what it reads, or who reads it, is not quantized";

struct OperatorReport {
  std::string name, type;
  bool quantized = false;
  std::string reason;              // why it is not; "" if it is
  std::vector<std::string> reads;  // values with a range
  std::string result;              // the value that it gives
  OperatorErrors errors;           // if only this operator is quantized
  std::optional<double> alone;     // relative error of the worst output, if only it is
  std::optional<double> in_all;    // relative error of its own result, in the written model
  // The time of its kernel in the model as it was, measured; the kernel may compute more.
  std::optional<double> f32_ms;
};

struct OutputError {
  std::string name;
  double relative = 0;  // sqrt(sum (q - f)^2 / sum f^2), over all samples
  double snr_db = 0;    // -20 log10(relative); infinite if it is 0
  double largest = 0;   // absolute
};

// A model that the search tried.
struct TriedModel {
  int operators = 0;         // quantized products in it
  double error = 0;          // relative, of the worst output over all samples, measured
  std::optional<double> ms;  // measured
};

struct QuantizeResult {
  std::vector<OperatorReport> operators;  // in the order of the model
  std::map<std::string, int> left;        // nodes of other types, by type
  std::vector<ValueRange> ranges;         // in the order of names; only of the written model
  int64_t calibration_samples = 0, held_out_samples = 0;
  bool synthetic = false;
  // Errors of the written file, read again: on the samples that gave the ranges, and on the others.
  std::vector<OutputError> errors, held_out;
  double worst = 0;               // the largest relative error of both lists
  bool written = false;           // false if no operator can be quantized within the budget
  std::vector<TriedModel> tried;  // with a budget; by number of operators, most first
  std::optional<double> f32_ms, quantized_ms;  // measured in turn, on `backend`
  std::string backend;
  int64_t bytes_before = 0, bytes_after = 0;  // of the files
  std::vector<std::string> notes;
};

// Writes the quantized model to `output`. Errors begin with a file's path or name an option; then
// nothing is written.
absl::StatusOr<QuantizeResult> Quantize(const std::string& model, const std::string& output,
                                        const QuantizeOptions& options = {});

// The result for people. `verbose`: with histograms.
std::string TextOf(const QuantizeResult& result, bool verbose);

}  // namespace lemma::api

#endif  // LEMMA_API_QUANTIZE_H_
