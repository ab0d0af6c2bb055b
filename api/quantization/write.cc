// Writes the quantized model, and measures the file.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "api/execution/timing.h"
#include "api/models/model_file.h"
#include "api/quantization/quantizer.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "graph/dtype.h"

namespace lemma::api {
namespace {

constexpr double kMostSeconds = 20;  // that measuring times may take

}  // namespace

// Reads the file again and executes it: what is reported is about the file and nothing else.
absl::Status Quantizer::VerifyFile(const std::string& output) {
  SampleRunner written([&](const ImportOptions& import) { return ImportOnnx(output, import); },
                       options_.execution, options_.dims);
  const auto samples = absl::MakeSpan(samples_);
  const auto expected = absl::MakeSpan(expected_);
  LEMMA_ASSIGN_OR_RETURN(
      const ErrorSums errors,
      ErrorsOf(&written, samples.subspan(0, calibration_), expected.subspan(0, calibration_)));
  result_.errors = Named(errors, output_names_);
  result_.worst = Worst(errors);
  if (calibration_ < samples_.size()) {
    LEMMA_ASSIGN_OR_RETURN(const ErrorSums held, ErrorsOf(&written, samples.subspan(calibration_),
                                                          expected.subspan(calibration_)));
    result_.held_out = Named(held, output_names_);
    result_.worst = std::max(result_.worst, Worst(held));
  }
  if (options_.max_error >= 0 && !(result_.worst <= options_.max_error)) {
    return absl::InternalError(absl::StrCat(output, ": its error is ", result_.worst,
                                            ", but the same model had one within the budget"));
  }
  return TimeBoth(&written);
}

absl::Status Quantizer::TimeBoth(SampleRunner* quantized) {
  if (options_.runs == 0) return absl::OkStatus();
  LEMMA_RETURN_IF_ERROR(ReportProgress("measuring times"));
  LEMMA_RETURN_IF_ERROR(f32_->Prepare(samples_[0]));
  LEMMA_RETURN_IF_ERROR(quantized->Prepare(samples_[0]));
  Executable* both[] = {&f32_->executable(), &quantized->executable()};
  LEMMA_ASSIGN_OR_RETURN(const auto ms,
                         TimeAlternating(both, samples_[0], static_cast<int>(options_.runs),
                                         kMostSeconds, options_.execution.threads));
  result_.f32_ms = Median(ms[0]);
  result_.quantized_ms = Median(ms[1]);
  return absl::OkStatus();
}

// The error of each operator's result in the whole quantized model.
absl::Status Quantizer::CompareResults(const QuantizedModel& model) {
  std::vector<std::string> values;
  for (size_t i = 0; i < ops().size(); ++i) {
    if (chosen_[i]) values.push_back(ops()[i].result);
  }
  SampleRunner quantized = RunnerOf(model, values);
  SampleRunner f32([&](const ImportOptions& import) { return model_.Import(values, import); },
                   options_.execution, options_.dims);
  std::map<std::string, ErrorSum> sums;
  for (size_t s = 0; s < std::min(calibration_, kComparedSamples); ++s) {
    LEMMA_RETURN_IF_ERROR(ReportProgress("comparing results of operators"));
    LEMMA_ASSIGN_OR_RETURN(const std::vector<Tensor> actual, quantized.Run(samples_[s]));
    LEMMA_ASSIGN_OR_RETURN(const std::vector<Tensor> expected, f32.Run(samples_[s]));
    for (size_t i = 0; i < actual.size(); ++i) {
      sums[f32.graph().output_names()[i]].Add(actual[i], expected[i]);
    }
  }
  for (size_t i = 0; i < ops().size(); ++i) {
    if (chosen_[i]) in_all_[i] = sums[ops()[i].result].relative();
  }
  return absl::OkStatus();
}

absl::Status Quantizer::Write(const std::string& output) {
  if (std::none_of(chosen_.begin(), chosen_.end(), [](bool b) { return b; })) {
    ReportOperators();
    return absl::OkStatus();
  }
  LEMMA_ASSIGN_OR_RETURN(const QuantizedModel model, model_.Quantize(PlanFor(chosen_)));
  result_.notes.insert(result_.notes.end(), model.notes().begin(), model.notes().end());
  LEMMA_RETURN_IF_ERROR(CompareResults(model));
  LEMMA_ASSIGN_OR_RETURN(std::vector<StagedFile> files, model.Stage(output));
  // A model with a file of constants can be read only where it belongs.
  const bool is_alone = files.size() == 1 && !files[0].temporary().empty();
  if (is_alone) LEMMA_RETURN_IF_ERROR(VerifyFile(files[0].temporary()));
  const bool has_data = files.size() > 1;
  LEMMA_RETURN_IF_ERROR(CommitAll(std::move(files)));
  const std::string data = QuantizedModel::DataPath(output);
  if (!is_alone) {
    if (absl::Status s = VerifyFile(output); !s.ok()) {
      std::error_code ignored;
      for (const std::string& file : {output, data}) {
        const bool is_ours = file == output || has_data;
        // A device or a pipe that was there before stays.
        const auto kind = std::filesystem::symlink_status(file, ignored).type();
        if (is_ours && kind == std::filesystem::file_type::regular) {
          std::filesystem::remove(file, ignored);
        }
      }
      return s;
    }
  }
  result_.written = true;
  LEMMA_ASSIGN_OR_RETURN(result_.bytes_before, original_.BytesOnDisk());
  LEMMA_ASSIGN_OR_RETURN(result_.bytes_after, FileSize(output));
  if (has_data) {
    LEMMA_ASSIGN_OR_RETURN(const int64_t beside, FileSize(data));
    result_.bytes_after += beside;
  }
  ReportOperators();
  ReportRanges();
  return absl::OkStatus();
}

void Quantizer::ReportOperators() {
  std::map<std::string, int> left = model_.CountTypes();
  for (size_t i = 0; i < ops().size(); ++i) {
    const QuantizableOp& op = ops()[i];
    // Other forms are of products alone.
    if (options_.form != "static" && op.role != QuantizedRole::kProduct) continue;
    OperatorReport report;
    report.name = op.name;
    report.type = op.type;
    report.quantized = chosen_[i];
    if (!chosen_[i]) {
      report.reason = reasons_[i].empty() ? kNothingToFollow : reasons_[i];
    }
    report.reads = op.reads;
    report.result = op.result;
    if (chosen_[i]) report.errors = errors_[i];
    report.alone = alone_[i];
    report.in_all = in_all_[i];
    report.f32_ms = f32_ms_[i];
    result_.operators.push_back(std::move(report));
    --left[op.type];
    if (!chosen_[i]) continue;
    for (const std::string& type : model_.TypesWith(static_cast<int>(i))) --left[type];
  }
  for (const KeptOp& kept : model_.kept()) {
    OperatorReport report;
    report.name = kept.name;
    report.type = kept.type;
    report.reason = kept.reason;
    result_.operators.push_back(std::move(report));
    --left[kept.type];
  }
  for (const auto& [type, count] : left) {
    if (count > 0) result_.left[type] = count;
  }
}

void Quantizer::ReportRanges() {
  if (options_.form != "static") return;
  for (const std::string& name : model_.ValuesOf(chosen_)) {
    const ValueHistogram& histogram = histograms_.at(name);
    const QuantParams& params = params_.at(name);
    ValueRange range;
    range.name = name;
    range.least = histogram.least;
    range.most = histogram.most;
    range.low = params.low();
    range.high = params.high();
    range.scale = static_cast<double>(params.scale);
    range.zero_point = params.zero;
    range.type = std::string(Name(params.type));
    range.histogram = histogram.counts;
    int64_t outside = 0;
    for (size_t bin = 0; bin < histogram.counts.size(); ++bin) {
      const double x = histogram.middle(static_cast<int>(bin));
      const double half = range.scale / 2;
      if (x < range.low - half || x > range.high + half) outside += histogram.counts[bin];
    }
    range.clipped = histogram.total == 0
                        ? 0
                        : static_cast<double>(outside) / static_cast<double>(histogram.total);
    result_.ranges.push_back(std::move(range));
  }
}

}  // namespace lemma::api
