#include "graph/sizes/condition_text.h"

#include "absl/strings/str_cat.h"
#include "graph/sizes/symbolic_size.h"

namespace lemma {
namespace {

std::string Text(const IndexExpr& e) {
  auto size = ToSize(e);
  return size ? SizeName(*size) : e.ToString();
}

// A part of a conjunction: "or" binds less.
std::string Part(const Guard& condition) {
  const std::string text = ConditionText(condition);
  return condition.kind() == Guard::Kind::kOr ? absl::StrCat("(", text, ")") : text;
}

}  // namespace

std::string ConditionText(const Guard& condition) {
  switch (condition.kind()) {
    case Guard::Kind::kLe:
      return absl::StrCat(Text(condition.lhs()), " <= ", Text(condition.rhs()));
    case Guard::Kind::kEq:
      return absl::StrCat(Text(condition.lhs()), " = ", Text(condition.rhs()));
    case Guard::Kind::kAnd:
      return absl::StrCat(Part(condition.left()), " and ", Part(condition.right()));
    case Guard::Kind::kOr:
      return absl::StrCat(ConditionText(condition.left()), " or ",
                          ConditionText(condition.right()));
    default:
      return condition.ToString();
  }
}

}  // namespace lemma
