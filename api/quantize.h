// Quantizes an ONNX model: finds ranges on samples, chooses the operators within a limit on the
// error, writes the model, and measures its errors and time. Code: api/quantization, which writes
// the model with graph/onnx/quantization; docs/quantization.md says what the numbers mean.
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
  // inputs). api/quantization/samples.h describes the files.
  std::string calibration = "synthetic";
  std::string ranges = "minmax";  // or "percentile", "mse", "entropy": how ranges are chosen
  double percentile = 99.99;      // for "percentile": how many percent of the values it contains
  int64_t bits = 8;               // of weights: 8; 7 for processors without VNNI; 4 for "weights"
  int64_t block = 0;              // for "weights": how many weights share a scale; 0: a channel's
  bool per_channel = true;        // a scale for each channel of the output; false: for each weight
  bool symmetric = false;         // activations are i8 with zero point 0; false: u8
  bool symmetric_weights = true;  // weights are i8 with zero point 0; false: u8
  std::vector<std::string> keep;  // nodes, or types of operators, that stay as they are
  // Limit on the relative error (OutputError) of each output on the samples; negative: none.
  double max_error = -1;
  bool alone = true;  // measure the error of each operator alone; done anyway with max_error
  // Sizes of symbolic dimensions; the samples give the others, or usual sizes if they are random.
  std::map<std::string, int64_t> dims;
  int64_t seed = 1, int_range = 2;  // of random inputs
  int64_t runs = 5;                 // timed executions of each model; 0: nothing is timed
  ExecutionOptions execution;
  // May be null. Soon after it becomes true, the function ends with Cancelled.
  const std::atomic<bool>* interrupted = nullptr;
  // Receives what is being done.
  std::function<void(const std::string& what)> progress;

  // InvalidArgument names the option that is out of range, or two that exclude each other.
  absl::Status Check() const;
};

// The range of a value that becomes integers. An integer q stands for (q - zero_point) * scale.
struct ValueRange {
  std::string name;
  double least = 0, most = 0;  // the extreme elements on the samples for calibration
  double low = 0, high = 0;    // the extreme numbers that integers stand for
  double scale = 0;
  int64_t zero_point = 0;
  std::string type;  // of the integers: "u8" or "i8"
  // Numbers of elements in 2048 parts of equal width from min(least, 0) to max(most, 0).
  std::vector<int64_t> histogram;
  double clipped = 0;  // share of the elements outside of [low, high], by the histogram; 0 to 1
};

// Four separate numbers about the result of one operator, if only this operator is quantized.
// `bound`, `for_inputs` and `measured` are absolute errors of the result's elements; absent: not
// known. "The samples" are the first two for calibration.
struct OperatorErrors {
  bool exact = false;                // the integers' result is that of the floats they stand for
  std::optional<double> bound;       // no error is larger, for all operands within their ranges
  std::optional<double> for_inputs;  // no error is larger, for the operands on the samples
  std::optional<double> measured;    // the largest error on the samples
  double magnitude = 0;              // the largest |element| of the f32 result on the samples
};

// OperatorReport::reason of an operator that is quantized only between quantized operators.
constexpr char kNothingToFollow[] = "what it reads, or who reads it, is not quantized";

struct OperatorReport {
  std::string name, type;  // of its node in the ONNX model
  bool quantized = false;
  std::string reason;              // why it is not quantized; "" if it is
  std::vector<std::string> reads;  // names of its operands that have a range
  std::string result;              // the name of its result
  OperatorErrors errors;           // not set unless `quantized`
  // Relative error of the worst output on the first two samples, if only this operator is
  // quantized.
  std::optional<double> alone;
  std::optional<double> in_all;  // relative error of its result on them, in the written model
  // Measured time of its kernel in the f32 model; the kernel may compute other operators too.
  std::optional<double> f32_ms;
};

struct OutputError {
  std::string name;
  double relative = 0;  // sqrt(sum (q - f)^2 / sum f^2): quantized and f32 elements, all samples
  double snr_db = 0;    // -20 log10(relative); infinite if it is 0
  double largest = 0;   // the largest |q - f|
};

// A model that was executed to keep to max_error.
struct TriedModel {
  int operators = 0;         // number of quantized products (Conv, Gemm, MatMul)
  double error = 0;          // relative error of the worst output, over all samples
  std::optional<double> ms;  // median time; absent if nothing is timed
};

struct QuantizeResult {
  // The operators that were considered, in the order of the model; then the products and the nodes
  // with subgraphs that cannot be quantized.
  std::vector<OperatorReport> operators;
  std::map<std::string, int> left;  // numbers of all other nodes, by type
  // Ranges in the written model, in the order of names. Empty unless the form is "static".
  std::vector<ValueRange> ranges;
  int64_t calibration_samples = 0, held_out_samples = 0;  // held out: gives no range
  bool synthetic = false;                                 // whether the samples are random
  // By output, errors of the written file, read again: on the samples for calibration, and on those
  // held out.
  std::vector<OutputError> errors, held_out;
  double worst = 0;               // the largest relative error of both lists
  bool written = false;           // false if no operator can be quantized within max_error
  std::vector<TriedModel> tried;  // in the order of the attempts; empty without max_error
  std::optional<double> f32_ms, quantized_ms;  // medians of alternating runs on `backend`
  std::string backend;
  int64_t bytes_before = 0, bytes_after = 0;  // of the model files and of those with its constants
  std::vector<std::string> notes;             // decisions made on the way, one line each
};

// Writes the quantized model to `output`, which ends in .onnx. InvalidArgument if no operator can
// be quantized. Errors begin with a file's path or name an option. After an error nothing is
// written, with one exception: a model with external data is written before its errors are
// measured.
absl::StatusOr<QuantizeResult> Quantize(const std::string& model, const std::string& output,
                                        const QuantizeOptions& options = {});

// The result for people. `verbose`: with histograms.
std::string TextOf(const QuantizeResult& result, bool verbose);

}  // namespace lemma::api

#endif  // LEMMA_API_QUANTIZE_H_
