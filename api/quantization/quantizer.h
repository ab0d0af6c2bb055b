// Runs one quantization in four steps, and holds its state. Internal to api/quantization.
#ifndef LEMMA_API_QUANTIZATION_QUANTIZER_H_
#define LEMMA_API_QUANTIZATION_QUANTIZER_H_

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "api/quantization/output_errors.h"
#include "api/quantization/ranges.h"
#include "api/quantization/sample_runner.h"
#include "api/quantize.h"
#include "graph/onnx/quantization/quantizable_model.h"
#include "graph/sizes/symbolic_size.h"

namespace lemma::api {

// By operator (QuantizableModel::operators()), whether it is quantized.
using Choice = std::vector<bool>;

// The errors of single operators are measured on the first samples only: on at most this many.
constexpr size_t kComparedSamples = 2;

// Does the work of Quantize (api/quantize.h). After an error, *cannot says whether the model cannot
// be quantized; otherwise the reason is an option, a sample, a file or a fault.
absl::StatusOr<QuantizeResult> QuantizeModel(const std::string& model, const std::string& output,
                                             const QuantizeOptions& options, bool* cannot);

// Call Prepare, Choose, Write and TakeResult once each, in this order; an error ends the work.
class Quantizer {
 public:
  // `options` must outlive the quantizer.
  Quantizer(QuantizableModel model, const QuantizeOptions& options);

  // Reads the samples, and finds the operators that can be quantized and the ranges of the values
  // that they read and compute.
  absl::Status Prepare();
  // Chooses the operators: all operators that can be quantized or, with max_error, as many of them
  // as the search finds within this limit. InvalidArgument if none can be quantized.
  absl::Status Choose();
  // Writes the model, reads the file again and measures it, and completes the result. Writes
  // nothing if no operator was chosen.
  absl::Status Write(const std::string& output);
  QuantizeResult TakeResult() { return std::move(result_); }

 private:
  const std::vector<QuantizableOp>& ops() const { return model_.operators(); }
  // Reports progress; Cancelled if the caller has interrupted the work.
  absl::Status ReportProgress(const std::string& what) const;
  // Sets samples_ and calibration_, and executes the model in f32 for expected_.
  absl::Status SplitSamples(std::vector<Sample> samples);

  // ApplyKeep excludes the operators that `keep` names. CheckTypes excludes operators on other
  // element types than f32, and sets histograms_.
  absl::Status ApplyKeep();
  absl::Status CheckTypes();
  // With a float form: excludes operators that read values outside of its range.
  void ExcludeLargeValues();
  // Equalizes and smooths model_, as the options say, and checks that its outputs on the samples
  // are those of the original. Adopt takes a rescaled model and notes what was done. The functions
  // with a bool say whether anything changed.
  absl::Status Rescale();
  absl::StatusOr<bool> Equalize();
  absl::StatusOr<bool> Smooth();
  bool Adopt(const RescaledModel& rescaled, const std::string& what);
  absl::Status CheckRescaled();
  DimValues UsualSizes();
  // The reason why the first excluded product is not quantized, in parentheses; "": no reason.
  std::string FirstReason() const;
  void Exclude(size_t op, const std::string& reason);

  // Gives the same parameters to the operand and the result of a chosen operator that only moves or
  // selects elements, and to values of similar ranges that are concatenated.
  void ShareParams();
  // The value from which `name` takes its parameters: if chosen operators that only move or select
  // elements compute `name`, the operand of the first of them; otherwise `name` itself.
  std::string SourceOf(std::string name) const;

  QuantizationPlan PlanFor(const Choice& chosen) const;
  // The type to which the operands of products are rounded, if the form is a float form ("bf16",
  // "f16" or "tf32").
  std::optional<FloatFormat> Format() const { return ParseFloatFormat(options_.form); }
  bool HasFloatForm() const { return Format().has_value(); }
  // Executes the model with `values` as further outputs, after the model's own outputs.
  SampleRunner RunnerOf(const QuantizedModel& model, const std::vector<std::string>& values) const;
  // The errors of the runner's outputs on these samples. `expected`: by sample, the outputs in f32.
  absl::StatusOr<ErrorSums> ErrorsOf(SampleRunner* runner, absl::Span<const Sample> samples,
                                     absl::Span<const std::vector<Tensor>> expected) const;
  absl::StatusOr<TriedModel> Try(const Choice& chosen);
  // All candidates, but without the first `count` elements of `products`, and
  // without the operators that can be quantized only together with these
  // (QuantizableModel::Settled).
  Choice Without(const std::vector<size_t>& products, size_t count) const;

  // Quantizes each product alone, and measures the errors of the outputs and of its result.
  absl::Status MeasureAlone();
  absl::Status MeasureOneAlone(size_t op);
  absl::Status TimeOperators();
  // Sets values_: by sample and name, the f32 values that chosen operators read or compute.
  absl::Status KeepValues();
  // Sets the two bounds of each chosen operator in errors_ (OperatorErrors in api/quantize.h).
  absl::Status FindBounds();
  // Sets OperatorErrors::for_inputs of a product. `terms`: the most numbers that are added up for
  // an element of its result.
  absl::Status BoundForInputs(size_t op, const ProductWeights& weights, int64_t terms);
  // The floats for which the integers of a value stand, or the rounded floats; `tensor` is the
  // value in the f32 model.
  absl::StatusOr<std::vector<float>> RoundedValue(const std::string& name,
                                                  const Tensor& tensor) const;
  // RoundingOf: the largest difference between a number in the range that calibration saw and the
  // float for which its integer stands. OperandError: the same, but 0 if operands are not
  // quantized.
  double RoundingOf(const std::string& value) const;
  double OperandError(const std::string& value) const;
  // Whether instructions may take subnormal numbers as 0.
  bool FlushesSubnormals() const;
  // The most that is lost where instructions take subnormal products and sums as 0; `terms`: the
  // number of products that are added up.
  double Flushed(int64_t terms) const;
  // Chooses operators within max_error, and leaves as few products in f32 as it can find.
  absl::Status Search();
  // Products in the order in which the search leaves them in f32.
  std::vector<size_t> WorstFirst() const;

  // Sets bias_shifts_: the mean errors of the products' channels with the opposite sign, found one
  // product after the other, each with the earlier ones corrected. Leaves it empty if an output's
  // error would become larger or exceed max_error. UseCorrections decides this.
  absl::Status CorrectBiases();
  absl::StatusOr<bool> UseCorrections();
  // By value, the mean of each channel of those outputs of the runner that `values` names, on the
  // samples for calibration. values[v]: whether v is a Conv's result, with channels along axis 1;
  // otherwise they are along the last axis. Leaves out values whose channels differ between
  // samples.
  absl::StatusOr<std::map<std::string, std::vector<double>>> MeansOf(
      SampleRunner* runner, const std::map<std::string, bool>& values) const;
  // The largest |number| that was added to a channel of the operator's bias.
  double LargestShift(size_t op) const;

  absl::Status VerifyFile(const std::string& output);
  absl::Status CompareResults(const QuantizedModel& model);
  absl::Status TimeBoth(SampleRunner* quantized);
  void ReportOperators();
  void ReportRanges();

  const QuantizableModel original_;
  QuantizableModel model_;  // the original, or the same with other scales (Rescale)
  const QuantizeOptions& options_;
  QuantizeResult result_;

  std::vector<Sample> samples_;                // those for calibration come first
  size_t calibration_ = 0;                     // the number of samples for calibration
  std::vector<std::vector<Tensor>> expected_;  // by sample, the outputs of the model in f32
  std::vector<std::string> output_names_;
  std::unique_ptr<SampleRunner> f32_;

  Choice candidates_, chosen_;
  std::vector<std::string> reasons_;  // by operator; "": it is a candidate
  std::map<std::string, ValueHistogram> histograms_;
  std::map<std::string, QuantParams> params_;
  std::map<std::string, std::vector<double>> bias_shifts_;      // QuantizationPlan::bias_shifts
  std::vector<std::optional<double>> alone_, in_all_, f32_ms_;  // by operator (OperatorReport)
  std::vector<OperatorErrors> errors_;
  std::vector<std::map<std::string, Tensor>> values_;  // of the first kComparedSamples samples
};

}  // namespace lemma::api

#endif  // LEMMA_API_QUANTIZATION_QUANTIZER_H_
