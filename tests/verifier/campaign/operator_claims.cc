#include "tests/verifier/campaign/operator_claims.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/examples/op_examples.h"
#include "rewrite/rules/rule_text.h"

namespace lemma {
namespace {

std::string DimsOf(const TensorType& type, bool open) {
  std::string dims;
  for (int64_t size : type.shape) {
    absl::StrAppend(&dims, dims.empty() ? "" : ",", open && size > 1 ? "d" : "", size);
  }
  return absl::StrCat("[", dims, "]");
}

// nullopt if there is no such claim: for an opaque operator, or an input without elements.
std::optional<Substitution> ClaimOf(const OpExample& example, bool open, int number) {
  auto types = InferTypes(*example.op, example.inputs, example.attrs);
  if (!types.ok() || !example.op->define) return std::nullopt;
  std::string vars, operands, attrs, results;
  for (size_t i = 0; i < example.inputs.size(); ++i) {
    const TensorType& type = example.inputs[i];
    if (type.num_elements() == 0) return std::nullopt;
    const bool common = open && type.dtype == DType::kF32;
    absl::StrAppend(&vars, i ? ", x" : "x", i, ": ", common ? "" : Name(type.dtype),
                    DimsOf(type, open));
    absl::StrAppend(&operands, i ? ", x" : "x", i);
  }
  for (const auto& [name, value] : example.attrs) {
    absl::StrAppend(&attrs, attrs.empty() ? "" : ", ", name, " = ", ToString(value));
  }
  for (size_t i = 0; i < types->size(); ++i) absl::StrAppend(&results, i ? ", y" : "y", i);
  const std::string body = absl::StrCat("{ ", results, " = ", example.op->name, "(", operands,
                                        ") {", attrs, "} return ", results, " }");
  auto rules = ParseRules(absl::StrCat("rule ", example.op->name, "_", number, "(", vars,
                                       ") real_only ", body, " => ", body));
  if (!rules.ok() || rules->size() != 1) return std::nullopt;
  return std::move((*rules)[0]);
}

}  // namespace

std::vector<Substitution> OperatorClaims() {
  std::vector<Substitution> claims;
  for (const OpExample& example : AllExamples()) {
    for (bool open : {false, true}) {
      auto claim = ClaimOf(example, open, static_cast<int>(claims.size()));
      if (claim) claims.push_back(*std::move(claim));
    }
  }
  return claims;
}

}  // namespace lemma
