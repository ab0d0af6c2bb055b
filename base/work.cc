#include "base/work.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace lemma {
namespace {

constexpr int64_t kBetweenLooks = 1 << 14;  // steps; a millisecond or so

// Of numbers whose result is not negative; INT64_MAX if it is larger.
int64_t Difference(int64_t a, int64_t b) {
  int64_t result;
  return __builtin_sub_overflow(a, b, &result) ? INT64_MAX : result;
}
int64_t Sum(int64_t a, int64_t b) {
  int64_t result;
  return __builtin_add_overflow(a, b, &result) ? INT64_MAX : result;
}

}  // namespace

std::string WorkEnded::Reason(const std::string& in) const {
  if (limit == 0) return "interrupted";
  return absl::StrCat("work limit of ", limit, " steps reached in ", in);
}

// Adds the work since the last call to every scope.
void WorkScope::Settle() {
  const int64_t done = Difference(work_meter.granted, work_meter.left);
  for (WorkScope* s = work_meter.innermost; s != nullptr; s = s->outer_) {
    s->spent_ = Sum(s->spent_, done);
  }
  work_meter.granted = work_meter.left;
}

void WorkScope::Grant() {
  int64_t grant = work_meter.innermost == nullptr ? kUnlimitedWork : kBetweenLooks;
  for (WorkScope* s = work_meter.innermost; s != nullptr; s = s->outer_) {
    grant = std::min(grant, std::max<int64_t>(0, s->limit_ - s->spent_));
  }
  work_meter.granted = work_meter.left = grant;
}

WorkScope::WorkScope(int64_t limit, const std::atomic<bool>* interrupted)
    : outer_(work_meter.innermost), limit_(limit), interrupted_(interrupted) {
  Settle();
  work_meter.innermost = this;
  Grant();
}

WorkScope::~WorkScope() {
  Settle();
  work_meter.innermost = outer_;
  Grant();
}

int64_t WorkScope::spent() const {
  Settle();
  return spent_;
}

void CheckWork() {
  WorkScope::Settle();
  const WorkScope* over = nullptr;
  for (const WorkScope* s = work_meter.innermost; s != nullptr; s = s->outer_) {
    if (s->spent_ > s->limit_) over = s;
    if (s->interrupted_ != nullptr && *s->interrupted_) throw WorkEnded{0};
  }
  WorkScope::Grant();
  if (over != nullptr) throw WorkEnded{over->limit_};
}

}  // namespace lemma
