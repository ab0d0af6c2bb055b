// Quantizes an ONNX model: finds the ranges of values on samples, chooses operators so that the
// error stays below a limit, writes the model, and measures its errors and time. Code:
// api/quantization, which writes the model with graph/onnx/quantization. docs/quantization.md
// explains the numbers.
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
  // Or "dynamic", "weights", "bf16", "f16", "tf32" (docs/quantization.md).
  std::string form = "static";
  // Samples for ranges and errors: a folder, a .npz file, "synthetic" or "synthetic:N" (random
  // inputs). api/quantization/samples.h describes the files.
  std::string calibration = "synthetic";
  std::string ranges = "minmax";  // or "percentile", "mse", "entropy": how ranges are chosen
  double percentile = 99.99;      // "percentile": percentage inside the range, in (50, 100]
  int64_t bits = 8;  // of integer weights: 8; 7 for processors without VNNI; 4 with `block`
  // Form "weights": weights are cut into blocks of this many elements, each with a scale of its
  // own; a power of 2 from 16 to 4096. 0: no blocks.
  int64_t block = 0;
  bool per_channel = true;        // a scale for each output channel of a weight; false: one for all
  bool symmetric = false;         // form "static": activations are i8 with zero point 0; false: u8
  bool symmetric_weights = true;  // weights are i8 with zero point 0; false: u8
  // Form "static": powers of two move between pairs of products, so that the ranges of both weights
  // become similar in each channel (cross-layer equalization).
  bool equalize = false;
  // Forms "static" and "dynamic": powers of two move from activations into the weights of the
  // MatMul and Gemm that read them (SmoothQuant). Value: the exponent ALPHA in [0, 1]
  // (docs/quantization.md); the larger, the more moves; 0.5 is usual. Absent: nothing moves.
  std::optional<double> smooth;
  // Form "static": the mean error of each channel of a product on the samples for calibration is
  // subtracted from the product's bias. No bias is corrected if an output's error on these samples
  // would grow, or if an error, also on the samples that are held out, would exceed max_error.
  bool correct_bias = false;
  std::vector<std::string> keep;  // names of nodes, or types of operators, that stay as they are
  // Limit on the relative error (OutputError) of each output on the samples; negative: none.
  double max_error = -1;
  // Whether to measure, for each product (Conv, Gemm, MatMul), the error if only this product is
  // quantized. With max_error, these errors are always measured.
  bool alone = true;
  // Sizes of symbolic dimensions, by name. Other dimensions get the sizes of the samples or, for
  // random samples, usual sizes.
  std::map<std::string, int64_t> dims;
  int64_t seed = 1, int_range = 2;  // of random inputs (SampleOptions)
  int64_t runs = 5;                 // timed executions of each model; 0: nothing is timed
  ExecutionOptions execution;
  // May be null. Soon after it becomes true, the function ends with Cancelled.
  const std::atomic<bool>* interrupted = nullptr;
  // May be empty. Receives a description of the current work, for people.
  std::function<void(const std::string& what)> progress;

  // InvalidArgument names the option that is out of range, or two that exclude each other.
  absl::Status Check() const;
};

// The range of a value that becomes integers. An integer q stands for the float
// (q - zero_point) * scale.
struct ValueRange {
  std::string name;
  double least = 0, most = 0;  // the extreme elements on the samples for calibration
  double low = 0, high = 0;    // the extreme floats for which integers stand
  double scale = 0;
  int64_t zero_point = 0;
  std::string type;  // of the integers: "u8" or "i8"
  // Numbers of elements in 2048 parts of equal width from min(least, 0) to max(most, 0).
  std::vector<int64_t> histogram;
  // The share of the elements, by the histogram, that lie more than half a step (scale / 2) outside
  // of [low, high]; from 0 to 1.
  double clipped = 0;
};

// Errors of the result of one operator, if only this operator is quantized. `bound`, `for_inputs`
// and `measured` are absolute errors of the result's elements; absent: not known, or not needed
// because `exact` is true. "The samples" are here the first two samples for calibration.
struct OperatorErrors {
  bool exact = false;                // the operator adds no error: it moves or selects elements
  std::optional<double> bound;       // no error is larger, for all operands within their ranges
  std::optional<double> for_inputs;  // no error is larger, for the operands on the samples
  std::optional<double> measured;    // the largest error on the samples
  double magnitude = 0;              // the largest |element| of the f32 result on the samples
};

// OperatorReport::reason of an operator that can be quantized only between quantized operators.
constexpr char kNothingToFollow[] = "what it reads, or who reads it, is not quantized";

struct OperatorReport {
  std::string name, type;  // of its node in the ONNX model
  bool quantized = false;
  std::string reason;              // why it is not quantized; "" if it is
  std::vector<std::string> reads;  // names of its operands that have a range
  std::string result;              // the name of its result
  OperatorErrors errors;           // set only if `quantized` is true
  // Relative error of the worst output on the first two samples, if only this operator is
  // quantized; absent if not measured.
  std::optional<double> alone;
  // Relative error of the operator's result on the same samples, in the written model; absent if
  // the operator is not quantized.
  std::optional<double> in_all;
  // Measured time of its kernel in the f32 model; the kernel may compute other operators, too.
  // Absent if not known.
  std::optional<double> f32_ms;
};

// The error of an output. q and f are its elements in the quantized and in the f32 model; sums are
// over all elements of all samples.
struct OutputError {
  std::string name;
  double relative = 0;  // sqrt(sum (q - f)^2 / sum f^2)
  double snr_db = 0;    // -20 log10(relative); infinite if it is 0
  double largest = 0;   // the largest |q - f|
};

// A model that was executed in the search for a model within max_error.
struct TriedModel {
  int operators = 0;  // number of quantized products (Conv, Gemm, MatMul)
  // The largest relative error of an output, on the samples for calibration or on those held out.
  double error = 0;
  std::optional<double> ms;  // median time; absent if nothing is timed
};

struct QuantizeResult {
  // The operators that were considered, in the order of the model; then the
  // products and the nodes with subgraphs that cannot be quantized in any case.
  std::vector<OperatorReport> operators;
  std::map<std::string, int> left;  // by type, the number of all other nodes
  // Ranges in the written model, in the order of names. Empty unless the form is "static".
  std::vector<ValueRange> ranges;
  int64_t calibration_samples = 0, held_out_samples = 0;  // held out: not used to find ranges
  bool synthetic = false;                                 // whether the samples are random
  // By output, errors of the written file, which was read again: `errors` on the samples for
  // calibration, `held_out` on the samples held out.
  std::vector<OutputError> errors, held_out;
  double worst = 0;               // the largest relative error of both lists
  bool written = false;           // false if no operator can be quantized within max_error
  std::vector<TriedModel> tried;  // in the order of the attempts; empty without max_error
  std::optional<double> f32_ms, quantized_ms;  // medians of alternating runs on `backend`
  std::string backend;
  int64_t bytes_before = 0, bytes_after = 0;  // of the model's file and its files of constants
  std::vector<std::string> notes;             // decisions made on the way, one line each
};

// Writes the quantized model to `output`, which must end in .onnx. InvalidArgument if no operator
// can be quantized. Errors begin with a file's path or name an option. After an error nothing is
// written, with one exception: a model with external data is written before its errors are
// measured. If measuring fails, its files are removed, and the files that they replaced are lost.
absl::StatusOr<QuantizeResult> Quantize(const std::string& model, const std::string& output,
                                        const QuantizeOptions& options = {});

// The file that QuantizeIfFaster wrote, and how the quantization went.
struct QuantizedIfFaster {
  // As Quantize returns it, also if a copy of the model then replaced the quantized model; absent
  // if the model cannot be quantized.
  std::optional<QuantizeResult> quantized;
  // Why `output` is a copy of the model; "" if it is the quantized model.
  std::string kept;
};
// Writes the quantized model to `output` if it keeps to options.max_error and
// takes at most 0.98 of the model's time; in the form "tf32" it may take any
// time. Otherwise writes a copy of the model. Also writes a copy if the model
// has no operator that can be quantized, has quantized operators already, or
// cannot be quantized in this form. All other errors are those of Quantize,
// such as errors in options and samples. Needs options.runs > 0.
absl::StatusOr<QuantizedIfFaster> QuantizeIfFaster(const std::string& model,
                                                   const std::string& output,
                                                   const QuantizeOptions& options);

// The result for people. `verbose`: also the range of every value.
std::string TextOf(const QuantizeResult& result, bool verbose);
// The same for QuantizeIfFaster, which wrote the file `output`: also why the model was kept, if it
// was kept.
std::string TextOf(const QuantizedIfFaster& outcome, const std::string& output);

}  // namespace lemma::api

#endif  // LEMMA_API_QUANTIZE_H_
