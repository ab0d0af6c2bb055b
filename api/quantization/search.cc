// Chooses the operators that keep to the budget of error, by the errors of each alone.
#include <algorithm>
#include <limits>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "api/execution/timing.h"
#include "api/quantization/quantizer.h"
#include "base/status_macros.h"

namespace lemma::api {
namespace {

// Operators that were given up may come back, in as many attempts.
constexpr int kReturns = 8;

}  // namespace

absl::Status Quantizer::TimeOperators() {
  if (options_.runs == 0) return absl::OkStatus();
  LEMMA_RETURN_IF_ERROR(ReportProgress("measuring times"));
  LEMMA_RETURN_IF_ERROR(f32_->Prepare(samples_[0]));
  LEMMA_ASSIGN_OR_RETURN(
      const std::vector<KernelTiming> rows,
      ProfileRuns(&f32_->executable(), samples_[0], static_cast<int>(options_.runs)));
  std::map<std::string, double> ms;
  for (const KernelTiming& row : rows) ms[row.label] += row.ms;
  for (size_t i = 0; i < ops().size(); ++i) {
    for (const std::string& value : ops()[i].inner) {
      auto row = ms.find(value);
      if (row == ms.end()) continue;
      f32_ms_[i] = f32_ms_[i].value_or(0) + row->second;
      ms.erase(row);
    }
  }
  // A kernel that computes what follows too, such as a bias, has the name of the last value.
  for (size_t i = 0; i < ops().size(); ++i) {
    if (f32_ms_[i] || ops()[i].role != QuantizedRole::kProduct) continue;
    for (const std::string& value : model_.ValuesAfter(static_cast<int>(i))) {
      auto row = ms.find(value);
      if (row == ms.end()) continue;
      f32_ms_[i] = row->second;
      ms.erase(row);
      break;
    }
  }
  return absl::OkStatus();
}

absl::Status Quantizer::MeasureOneAlone(size_t number) {
  Choice alone(ops().size(), false);
  alone[number] = true;
  LEMMA_ASSIGN_OR_RETURN(const QuantizedModel model, model_.Quantize(PlanFor(alone)));
  SampleRunner runner = RunnerOf(model, {ops()[number].result});
  ErrorSums sums(output_names_.size());
  ErrorSum own;
  for (size_t s = 0; s < values_.size(); ++s) {
    LEMMA_ASSIGN_OR_RETURN(const std::vector<Tensor> outputs, runner.Run(samples_[s]));
    AddErrors(outputs, expected_[s], output_names_.size(), &sums);
    const auto& names = runner.graph().output_names();
    const auto at = std::find(names.begin(), names.end(), ops()[number].result) - names.begin();
    own.Add(outputs[static_cast<size_t>(at)], values_[s].at(ops()[number].result));
  }
  alone_[number] = Worst(sums);
  errors_[number].measured = own.largest();
  return absl::OkStatus();
}

absl::Status Quantizer::MeasureAlone() {
  size_t count = 0, done = 0;
  for (size_t i = 0; i < ops().size(); ++i) {
    count += chosen_[i] && ops()[i].role == QuantizedRole::kProduct ? 1 : 0;
  }
  for (size_t i = 0; i < ops().size(); ++i) {
    if (!chosen_[i] || ops()[i].role != QuantizedRole::kProduct) continue;
    LEMMA_RETURN_IF_ERROR(
        ReportProgress(absl::StrCat("quantizing one operator alone: ", ++done, " of ", count)));
    LEMMA_RETURN_IF_ERROR(MeasureOneAlone(i));
  }
  return absl::OkStatus();
}

// Those with the largest error alone per time in f32: to give them up costs the least time. Without
// times, by the error.
std::vector<size_t> Quantizer::WorstFirst() const {
  std::vector<size_t> order;
  for (size_t i = 0; i < ops().size(); ++i) {
    if (chosen_[i] && ops()[i].role == QuantizedRole::kProduct) order.push_back(i);
  }
  auto loss = [&](size_t i) { return *alone_[i] / std::max(1e-6, f32_ms_[i].value_or(1)); };
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return loss(a) > loss(b); });
  return order;
}

Choice Quantizer::Without(const std::vector<size_t>& products, size_t count) const {
  Choice choice = model_.Settled(candidates_);
  for (size_t i = 0; i < count; ++i) choice[products[i]] = false;
  return model_.Settled(choice);
}

absl::StatusOr<TriedModel> Quantizer::Try(const Choice& chosen) {
  TriedModel tried;
  for (size_t i = 0; i < ops().size(); ++i) {
    tried.operators += chosen[i] && ops()[i].role == QuantizedRole::kProduct ? 1 : 0;
  }
  LEMMA_ASSIGN_OR_RETURN(const QuantizedModel model, model_.Quantize(PlanFor(chosen)));
  SampleRunner runner = RunnerOf(model, {});
  const auto samples = absl::MakeSpan(samples_);
  const auto expected = absl::MakeSpan(expected_);
  LEMMA_ASSIGN_OR_RETURN(const ErrorSums errors, ErrorsOf(&runner, samples.subspan(0, calibration_),
                                                          expected.subspan(0, calibration_)));
  LEMMA_ASSIGN_OR_RETURN(const ErrorSums held, ErrorsOf(&runner, samples.subspan(calibration_),
                                                        expected.subspan(calibration_)));
  tried.error = std::max(Worst(errors), Worst(held));
  if (options_.runs > 0) {
    LEMMA_RETURN_IF_ERROR(runner.Prepare(samples_[0]));
    LEMMA_ASSIGN_OR_RETURN(const std::vector<double> ms,
                           TimeRuns(&runner.executable(), samples_[0],
                                    static_cast<int>(options_.runs), options_.execution.threads));
    tried.ms = Median(ms);
  }
  result_.tried.push_back(tried);
  return tried;
}

absl::Status Quantizer::Search() {
  const std::vector<size_t> order = WorstFirst();
  auto keeps = [&](const TriedModel& tried) { return tried.error <= options_.max_error; };
  LEMMA_ASSIGN_OR_RETURN(const TriedModel all, Try(chosen_));
  if (keeps(all)) return absl::OkStatus();
  // The fewest that have to be given up, as if the error fell with each; without all, it is 0.
  size_t too_few = 0, enough = order.size();
  while (enough - too_few > 1) {
    const size_t middle = (too_few + enough) / 2;
    LEMMA_ASSIGN_OR_RETURN(const TriedModel tried, Try(Without(order, middle)));
    (keeps(tried) ? enough : too_few) = middle;
  }
  // The last ones given up cost the most time; some may come back.
  std::vector<size_t> given_up(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(enough));
  int left = kReturns;
  for (size_t i = given_up.size(); i-- > 0 && left > 0 && given_up.size() > 1; --left) {
    std::vector<size_t> fewer = given_up;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    LEMMA_ASSIGN_OR_RETURN(const TriedModel tried, Try(Without(fewer, fewer.size())));
    if (keeps(tried)) given_up.swap(fewer);
  }
  for (const size_t i : given_up) {
    reasons_[i] = absl::StrCat("over the budget: alone ", *alone_[i]);
  }
  chosen_ = Without(given_up, given_up.size());
  return absl::OkStatus();
}

}  // namespace lemma::api
