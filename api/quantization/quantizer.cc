#include "api/quantization/quantizer.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "api/models/model_file.h"
#include "api/models/option_error.h"
#include "api/models/sizes.h"
#include "api/quantization/calibration.h"
#include "api/quantization/samples.h"
#include "base/deadline.h"
#include "base/flags.h"
#include "base/status_macros.h"

namespace lemma::api {
namespace {

// Of this many samples, the last is held out: it gives no range.
constexpr size_t kHoldOutOf = 5;

}  // namespace

Quantizer::Quantizer(QuantizableModel model, const QuantizeOptions& options)
    : original_(std::move(model)),
      model_(original_),
      options_(options),
      candidates_(ops().size(), true),
      reasons_(ops().size()),
      alone_(ops().size()),
      in_all_(ops().size()),
      f32_ms_(ops().size()),
      errors_(ops().size()) {
  result_.backend = options.execution.backend;
  f32_ = std::make_unique<SampleRunner>(
      [this](const ImportOptions& import) { return original_.Import({}, import); },
      options.execution, options.dims);
}

absl::Status Quantizer::ReportProgress(const std::string& what) const {
  if (options_.interrupted != nullptr && *options_.interrupted) return Deadline::Interruption();
  if (options_.progress) options_.progress(what);
  return absl::OkStatus();
}

absl::Status Quantizer::SplitSamples(std::vector<Sample> samples) {
  samples_ = std::move(samples);
  const size_t held = samples_.size() < 2 ? 0 : std::max<size_t>(1, samples_.size() / kHoldOutOf);
  calibration_ = samples_.size() - held;
  result_.calibration_samples = static_cast<int64_t>(calibration_);
  result_.held_out_samples = static_cast<int64_t>(held);
  for (const Sample& sample : samples_) {
    LEMMA_RETURN_IF_ERROR(ReportProgress("executing the model in f32"));
    auto outputs = f32_->Run(sample);
    if (!outputs.ok()) return Prefixed(model_.path(), outputs.status());
    expected_.push_back(*std::move(outputs));
    for (size_t i = 0; i < expected_.back().size(); ++i) {
      const Tensor& output = expected_.back()[i];
      if (!IsFloat(output.dtype()) || output.IsFinite()) continue;
      return absl::InvalidArgumentError(
          absl::StrCat(model_.path(), ": output '", f32_->graph().output_names()[i],
                       "' has an infinite or NaN element on sample ", expected_.size() - 1,
                       ", so that no error can be measured"));
    }
  }
  output_names_ = f32_->graph().output_names();
  return absl::OkStatus();
}

void Quantizer::Exclude(size_t op, const std::string& reason) {
  candidates_[op] = false;
  if (reasons_[op].empty()) reasons_[op] = reason;
}

absl::Status Quantizer::ApplyKeep() {
  std::vector<std::string> known = model_.NodeNames();
  for (const auto& [type, count] : model_.CountTypes()) known.push_back(type);
  for (const std::string& keep : options_.keep) {
    if (std::find(known.begin(), known.end(), keep) == known.end()) {
      const std::string near = Nearest(keep, known);
      return OptionError(
          absl::StrCat("option keep: no node and no type of operator is called '", keep, "'",
                       near.empty() ? "" : absl::StrCat("; did you mean ", near, "?")));
    }
    for (size_t i = 0; i < ops().size(); ++i) {
      if (ops()[i].name == keep || ops()[i].type == keep) Exclude(i, "kept by --keep");
    }
  }
  return absl::OkStatus();
}

absl::Status Quantizer::CheckTypes() {
  std::set<std::string> values;
  for (const QuantizableOp& op : ops()) {
    values.insert(op.reads.begin(), op.reads.end());
    values.insert(op.result);
  }
  SampleRunner runner(
      [&](const ImportOptions& import) {
        return model_.Import({values.begin(), values.end()}, import);
      },
      options_.execution, options_.dims);
  LEMMA_RETURN_IF_ERROR(runner.Prepare(samples_[0]));
  std::map<std::string, DType> types;
  for (size_t i = 0; i < runner.graph().outputs().size(); ++i) {
    types[runner.graph().output_names()[i]] = runner.graph().outputs()[i].dtype();
  }
  std::set<std::string> floats;
  for (const std::string& value : values) {
    if (types.at(value) == DType::kF32) floats.insert(value);
  }
  for (size_t i = 0; i < ops().size(); ++i) {
    std::vector<std::string> touched = ops()[i].reads;
    touched.push_back(ops()[i].result);
    for (const std::string& value : touched) {
      if (floats.count(value) > 0) continue;
      const bool is_product = ops()[i].role == QuantizedRole::kProduct;
      Exclude(i, is_product
                     ? absl::StrCat("value '", value, "' is ", Name(types.at(value)), ", not f32")
                     : kNothingToFollow);
    }
  }
  auto histograms = HistogramsOf(&runner, absl::MakeSpan(samples_).subspan(0, calibration_), floats,
                                 [&] { return ReportProgress("finding ranges"); });
  if (!histograms.ok()) return Prefixed(model_.path(), histograms.status());
  histograms_ = *std::move(histograms);
  if (HasFloatForm()) ExcludeLargeValues();
  return absl::OkStatus();
}

void Quantizer::ExcludeLargeValues() {
  for (size_t i = 0; i < ops().size(); ++i) {
    for (const std::string& value : ops()[i].reads) {
      const auto seen = histograms_.find(value);
      if (seen == histograms_.end()) continue;
      const double largest = std::max(-seen->second.least, seen->second.most);
      if (largest < LeastInfinite(*Format())) continue;
      Exclude(i, absl::StrCat("value '", value, "' reaches ", largest, ", beyond ", options_.form));
    }
  }
}

// Sizes at which random inputs are likely to make sense.
DimValues Quantizer::UsualSizes() {
  LoadOptions load;
  load.dims = options_.dims;
  load.symbolic = load.fixes_sizes = true;
  auto model = LoadModel(model_.path(), load);
  DimValues sizes(options_.dims.begin(), options_.dims.end());
  if (!model.ok()) return sizes;  // importing it with numbers will say why
  sizes.insert(model->bound_dims.begin(), model->bound_dims.end());
  const DimValues usual = DefaultSizes(model->graph);
  for (const SymbolicDim& dim : SymbolicDimsOf(*model)) {
    auto size = usual.find(dim.name);
    if (size != usual.end()) sizes.insert(*size);
  }
  for (const auto& [name, size] : sizes) {
    if (options_.dims.count(name) > 0) continue;
    result_.notes.push_back(absl::StrCat("dimension ", name, " is ", size,
                                         " in the random inputs; --dim ", name,
                                         "=SIZE gives another size"));
  }
  return sizes;
}

absl::Status Quantizer::Prepare() {
  LEMMA_RETURN_IF_ERROR(ApplyKeep());
  ImportOptions import;
  import.dims = IsSynthetic(options_.calibration) ? UsualSizes() : options_.dims;
  // The samples have sizes of their own; the operators may not exist at the sizes taken here.
  LEMMA_ASSIGN_OR_RETURN(const ImportedModel imported, IsSynthetic(options_.calibration)
                                                           ? model_.Import({}, import)
                                                           : model_.ImportInputs(import));
  SampleOptions sampling{options_.calibration, options_.seed, options_.int_range};
  LEMMA_ASSIGN_OR_RETURN(std::vector<Sample> samples, ReadSamples(sampling, imported));
  result_.synthetic = IsSynthetic(options_.calibration);
  LEMMA_RETURN_IF_ERROR(SplitSamples(std::move(samples)));
  const QuantizationPlan plan = PlanFor(candidates_);
  for (size_t i = 0; i < ops().size(); ++i) {
    const std::string problem = model_.ProblemOf(static_cast<int>(i), plan);
    const bool is_product = ops()[i].role == QuantizedRole::kProduct;
    if (!problem.empty()) Exclude(i, is_product ? problem : kNothingToFollow);
  }
  LEMMA_RETURN_IF_ERROR(Rescale());
  LEMMA_RETURN_IF_ERROR(CheckTypes());
  const RangeOptions ranges{*ParseRangeMethod(options_.ranges), options_.percentile,
                            options_.symmetric};
  for (const auto& [name, histogram] : histograms_) {
    const auto [low, high] = ChooseRange(histogram, ranges);
    params_[name] = ParamsOfRange(low, high, options_.symmetric);
  }
  return absl::OkStatus();
}

QuantizationPlan Quantizer::PlanFor(const Choice& chosen) const {
  QuantizationPlan plan;
  plan.form = options_.form == "static"    ? QuantizationForm::kStatic
              : options_.form == "dynamic" ? QuantizationForm::kDynamic
              : options_.form == "weights" ? QuantizationForm::kWeights
                                           : QuantizationForm::kFloats;
  plan.float_format = Format().value_or(plan.float_format);
  plan.chosen = chosen;
  plan.values = params_;
  plan.bias_shifts = bias_shifts_;
  plan.weights.bits = static_cast<int>(options_.bits);
  plan.weights.per_channel = options_.per_channel;
  plan.weights.symmetric = options_.symmetric_weights;
  plan.weights.block = options_.block;
  return plan;
}

SampleRunner Quantizer::RunnerOf(const QuantizedModel& model,
                                 const std::vector<std::string>& values) const {
  return SampleRunner(
      [model, values](const ImportOptions& import) { return model.Import(values, import); },
      options_.execution, options_.dims);
}

absl::StatusOr<ErrorSums> Quantizer::ErrorsOf(
    SampleRunner* runner, absl::Span<const Sample> samples,
    absl::Span<const std::vector<Tensor>> expected) const {
  ErrorSums sums(output_names_.size());
  for (size_t s = 0; s < samples.size(); ++s) {
    LEMMA_RETURN_IF_ERROR(ReportProgress("measuring errors"));
    LEMMA_ASSIGN_OR_RETURN(const std::vector<Tensor> outputs, runner->Run(samples[s]));
    AddErrors(outputs, expected[s], output_names_.size(), &sums);
  }
  return sums;
}

std::string Quantizer::FirstReason() const {
  for (size_t i = 0; i < ops().size(); ++i) {
    if (ops()[i].role != QuantizedRole::kProduct || reasons_[i].empty()) continue;
    return absl::StrCat(" (", ops()[i].type, " '", ops()[i].name, "': ", reasons_[i], ")");
  }
  if (model_.kept().empty()) return "";
  const KeptOp& kept = model_.kept()[0];
  return absl::StrCat(" (", kept.type, " '", kept.name, "': ", kept.reason, ")");
}

// What only moves or selects elements keeps the parameters of its operand. Values that meet in
// concatenations share their parameters if their ranges are at least half as wide as the widest of
// them: then a concatenation only copies integers, and rounds nothing once more.
void Quantizer::ShareParams() {
  std::map<std::string, std::string> parent;  // a forest of values that should share
  auto root = [&](std::string name) {
    for (auto it = parent.find(name); it != parent.end(); it = parent.find(name)) name = it->second;
    return name;
  };
  auto join = [&](const std::string& a, const std::string& b) {
    const std::string from = root(b), to = root(a);
    if (from != to) parent[from] = to;
  };
  std::set<std::string> values;
  for (size_t i = 0; i < ops().size(); ++i) {
    const QuantizableOp& op = ops()[i];
    const bool concatenates = op.type == "Concat" && op.followers.empty();
    if (!chosen_[i] || params_.count(op.result) == 0 || !concatenates) continue;
    values.insert(op.result);
    for (const std::string& name : op.reads) {
      values.insert(SourceOf(name));
      join(op.result, SourceOf(name));
    }
  }
  std::map<std::string, std::vector<std::string>> groups;
  for (const std::string& name : values) groups[root(name)].push_back(name);
  const auto width = [&](const std::string& name) {
    return params_.at(name).high() - params_.at(name).low();
  };
  for (const auto& [first, members] : groups) {
    double widest = 0, low = 0, high = 0;
    for (const std::string& name : members) widest = std::max(widest, width(name));
    std::vector<std::string> wide;
    for (const std::string& name : members) {
      if (2 * width(name) < widest) continue;
      wide.push_back(name);
      const QuantParams& params = params_.at(name);
      // A symmetric range is covered without the least integer (ParamsOfRange).
      low = std::min(low, options_.symmetric ? -params.high() : params.low());
      high = std::max(high, params.high());
    }
    const QuantParams shared = ParamsOfRange(low, high, options_.symmetric);
    for (const std::string& name : wide) params_[name] = shared;
  }
  for (size_t i = 0; i < ops().size(); ++i) {
    if (!chosen_[i] || ops()[i].role != QuantizedRole::kSelection) continue;
    params_[ops()[i].result] = params_.at(ops()[i].reads[0]);
  }
}

std::string Quantizer::SourceOf(std::string name) const {
  for (size_t i = ops().size(); i-- > 0;) {  // operands come before their users
    const bool selects = chosen_[i] && ops()[i].role == QuantizedRole::kSelection;
    if (selects && ops()[i].result == name) name = ops()[i].reads[0];
  }
  return name;
}

absl::Status Quantizer::Choose() {
  chosen_ = model_.Settled(candidates_);
  if (std::none_of(chosen_.begin(), chosen_.end(), [](bool b) { return b; })) {
    return absl::InvalidArgumentError(absl::StrCat(
        model_.path(), ": no operator can be quantized", FirstReason(),
        "; Conv, Gemm and MatMul in f32 can, with constant weights, and what lies between them"));
  }
  ShareParams();
  LEMMA_RETURN_IF_ERROR(KeepValues());
  LEMMA_RETURN_IF_ERROR(FindBounds());
  LEMMA_RETURN_IF_ERROR(TimeOperators());
  if (options_.alone || options_.max_error >= 0) LEMMA_RETURN_IF_ERROR(MeasureAlone());
  if (options_.max_error >= 0) LEMMA_RETURN_IF_ERROR(Search());
  return options_.correct_bias ? CorrectBiases() : absl::OkStatus();
}

}  // namespace lemma::api
