#include "graph/sizes/condition_text.h"

#include "absl/strings/str_cat.h"
#include "graph/sizes/symbolic_size.h"

namespace lemma {
namespace {

std::string Text(const IndexExpr& e) {
  auto size = ToSize(e);
  return size ? SizeName(*size) : e.ToString();
}

}  // namespace

std::string ConditionText(const Guard& condition) {
  switch (condition.kind()) {
    case Guard::Kind::kLe:
      return absl::StrCat(Text(condition.lhs()), " <= ", Text(condition.rhs()));
    case Guard::Kind::kEq:
      return absl::StrCat(Text(condition.lhs()), " = ", Text(condition.rhs()));
    case Guard::Kind::kAnd:
      return absl::StrCat(ConditionText(condition.left()), " and ",
                          ConditionText(condition.right()));
    case Guard::Kind::kOr:
      return absl::StrCat(ConditionText(condition.left()), " or ",
                          ConditionText(condition.right()));
    default:
      return condition.ToString();
  }
}

}  // namespace lemma
