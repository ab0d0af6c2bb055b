// The state of one quantization. Internal to api/quantization.
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

// By operator, whether it is quantized.
using Choice = std::vector<bool>;

// On how many samples operators are looked at one by one.
constexpr size_t kComparedSamples = 2;

class Quantizer {
 public:
  Quantizer(QuantizableModel model, const QuantizeOptions& options);

  // Reads the samples, finds the operators that can be quantized, and their ranges.
  absl::Status Prepare();
  // Chooses the operators: all that can be quantized or, with a budget, those that keep to it.
  absl::Status Choose();
  // Writes and checks the model; fills in the rest of the result.
  absl::Status Write(const std::string& output);
  QuantizeResult TakeResult() { return std::move(result_); }

 private:
  const std::vector<QuantizableOp>& ops() const { return model_.operators(); }
  absl::Status GoesOn(const std::string& what) const;
  absl::Status SplitSamples(std::vector<Sample> samples);

  // Which operators are candidates: not those of `keep`, of other element types, …; reasons_ says
  // why for the others.
  absl::Status ApplyKeep();
  absl::Status CheckTypes();
  DimValues UsualSizes();
  std::string FirstReason() const;  // for which a product cannot be quantized; "": there is none
  void Exclude(size_t op, const std::string& reason);

  QuantizationPlan PlanFor(const Choice& chosen) const;
  SampleRunner RunnerOf(const QuantizedModel& model, const std::vector<std::string>& values) const;
  // The errors of the model with these operators quantized, on all samples.
  absl::StatusOr<ErrorSums> ErrorsOf(SampleRunner* runner, absl::Span<const Sample> samples,
                                     absl::Span<const std::vector<Tensor>> expected) const;
  absl::StatusOr<TriedModel> Try(const Choice& chosen);
  Choice Without(const std::vector<size_t>& products, size_t count) const;

  // Each product alone: the error of the outputs and of its result.
  absl::Status MeasureAlone();
  absl::Status MeasureOneAlone(size_t op);
  absl::Status TimeOperators();
  // The values of the model in f32 on the first samples, by sample and name.
  absl::Status KeepValues();
  // The two bounds of each operator.
  absl::Status FindBounds();
  absl::Status BoundForInputs(size_t op, const ProductWeights& weights, int64_t terms);
  // The floats that stand for a value of the f32 model on a sample.
  std::vector<float> RoundedValue(const std::string& name, const Tensor& tensor) const;
  // How far the integers' floats may be from a value in the range that calibration saw.
  double RoundingOf(const std::string& value) const;
  double OperandError(const std::string& value) const;
  absl::Status Search();
  // Products in the order in which the search gives them up.
  std::vector<size_t> WorstFirst() const;

  absl::Status VerifyFile(const std::string& output);
  absl::Status CompareResults(const QuantizedModel& model);
  absl::Status TimeBoth(SampleRunner* quantized);
  void ReportOperators();
  void ReportRanges();

  const QuantizableModel model_;
  const QuantizeOptions& options_;
  QuantizeResult result_;

  std::vector<Sample> samples_;                // those for calibration come first
  size_t calibration_ = 0;                     // how many these are
  std::vector<std::vector<Tensor>> expected_;  // by sample, the outputs of the model in f32
  std::vector<std::string> output_names_;
  std::unique_ptr<SampleRunner> f32_;

  Choice candidates_, chosen_;
  std::vector<std::string> reasons_;  // by operator; "": it is a candidate
  std::map<std::string, ValueHistogram> histograms_;
  std::map<std::string, QuantParams> params_;
  std::vector<std::optional<double>> alone_, in_all_, f32_ms_;
  std::vector<OperatorErrors> errors_;
  std::vector<std::map<std::string, Tensor>> values_;  // of the first kComparedSamples samples
};

}  // namespace lemma::api

#endif  // LEMMA_API_QUANTIZATION_QUANTIZER_H_
