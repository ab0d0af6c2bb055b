#include "graph/define/scalar_names.h"

#include "absl/strings/str_cat.h"

namespace lemma::define {

std::optional<ScalarFn> FunctionOf(absl::string_view name) {
  if (name == "+") return ScalarFn::kAdd;
  if (name == "-") return ScalarFn::kSub;
  if (name == "*") return ScalarFn::kMul;
  if (name == "/") return ScalarFn::kDiv;
  for (int i = 0; i < kNumScalarFns; ++i) {
    const auto fn = static_cast<ScalarFn>(i);
    if (!IsStored(fn) && Info(fn).name == name) return fn;
  }
  return std::nullopt;
}

std::string FunctionNames() {
  std::string names;
  for (int i = 0; i < kNumScalarFns; ++i) {
    const auto fn = static_cast<ScalarFn>(i);
    if (!IsStored(fn)) absl::StrAppend(&names, names.empty() ? "" : ", ", Info(fn).name);
  }
  return names;
}

}  // namespace lemma::define
