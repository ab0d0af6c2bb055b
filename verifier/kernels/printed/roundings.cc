#include "verifier/kernels/printed/roundings.h"

#include <algorithm>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"

namespace lemma::kernels {
namespace {

class Roundings {
 public:
  Roundings(const PrintedKernel& kernel, absl::Span<const SlotInfo> slots)
      : kernel_(kernel), slots_(slots), values_(kernel.variables.size()) {
    Visit(*kernel.body);
  }

  std::string Check() const {
    for (const Call* call : joins_) {
      for (const ExprPtr& arg : call->args) {
        if (!Has(DType::kBF16, *arg)) return "it cuts numbers to bf16 that may have more digits";
      }
    }
    for (const Call* call : bytes_) {
      const DType dtype = ByteTypeOf(kernel_.words, call->sizes[0] != 0);
      for (const ExprPtr& arg : call->args) {
        if (!Has(dtype, *arg)) {
          return absl::StrCat("it multiplies numbers as ", Name(dtype),
                              " that may be no such ones");
        }
      }
    }
    for (const codegen::BulkSource& map : kernel_.maps) {
      const bool known = map.slot >= 0 && map.slot < static_cast<int>(slots_.size());
      const DType dtype = known ? slots_[map.slot].dtype : DType::kF32;
      const Words words = dtype == DType::kF16    ? Words::kF16
                          : dtype == DType::kBF16 ? Words::kBf16
                                                  : Words::kNone;
      if (words == Words::kNone || words != kernel_.words) {
        return absl::StrCat("it multiplies numbers of type ", Name(dtype), " as ",
                            NameOf(kernel_.words));
      }
    }
    return "";
  }

  bool RoundsNothing() const {
    if (kernel_.words == Words::kTf32) {
      return std::all_of(makes_.begin(), makes_.end(), [&](const Call* call) {
        return IsTf32(*call->args[0]);  // a word holds one number
      });
    }
    if (kernel_.words != Words::kF16 && kernel_.words != Words::kBf16) return makes_.empty();
    const DType dtype = kernel_.words == Words::kF16 ? DType::kF16 : DType::kBF16;
    return std::all_of(makes_.begin(), makes_.end(), [&](const Call* call) {
      return std::all_of(call->args.begin(), call->args.end(),
                         [&](const ExprPtr& arg) { return Has(dtype, *arg); });
    });
  }

 private:
  // Finds the values of each variable, and the words that are made.
  void Visit(const Statement& s) {
    if ((s.kind == Statement::Kind::kDeclare || s.kind == Statement::Kind::kAssign) &&
        s.value != nullptr) {
      values_[s.variable].push_back(s.value.get());
    }
    if (s.call != nullptr && s.call->function == Call::Function::kMakeWord) {
      (AreBytes(kernel_.words) ? bytes_ : s.call->joins ? joins_ : makes_).push_back(s.call.get());
    }
    for (size_t i = 0; s.call != nullptr && i < s.call->places.size(); ++i) {
      changed_.insert(s.call->places[i].variable);
    }
    for (const StatementPtr& inner : s.body) Visit(*inner);
    if (s.first != nullptr) Visit(*s.first);
    if (s.next != nullptr) Visit(*s.next);
  }

  // Whether `e` is a number of the type `dtype`. `depth`: of variables, which may be assigned from
  // themselves.
  static constexpr int kDeepest = 4;
  bool Has(DType dtype, const Expr& e, int depth = 0) const {
    switch (e.kind) {
      case Expr::Kind::kLiteral:
        if ((dtype == DType::kU8 || dtype == DType::kI8) && !IsReal(e.type)) {
          return IsByte(dtype, e.value);
        }
        return e.special == Expr::Special::kNone && e.real == 0 && e.value == 0;
      case Expr::Kind::kConvert:
        return Has(dtype, *e.args[0], depth);
      case Expr::Kind::kRead:
        return slots_[e.slot].dtype == dtype;
      case Expr::Kind::kElementOf:
        return slots_[kernel_.variables[e.variable].slot].dtype == dtype;
      case Expr::Kind::kFunction:
        return e.fn == StoredAs(dtype);
      case Expr::Kind::kVariable:
        return depth < kDeepest && AllValues(e.variable, [&](const Expr& value) {
                 return Has(dtype, value, depth + 1);
               });
      default:
        return false;
    }
  }

  // Whether `e` is a TF32 number, as f16 and bf16 numbers are.
  bool IsTf32(const Expr& e, int depth = 0) const {
    if (Has(DType::kF16, e) || Has(DType::kBF16, e)) return true;
    switch (e.kind) {
      case Expr::Kind::kConvert:
        return e.type == Type::kFloat && IsTf32(*e.args[0], depth);
      case Expr::Kind::kFunction:
        return e.fn == ScalarFn::kRoundTf32;
      case Expr::Kind::kVariable:
        return depth < kDeepest &&
               AllValues(e.variable, [&](const Expr& value) { return IsTf32(value, depth + 1); });
      default:
        return false;
    }
  }

  // Whether the condition holds for everything that is assigned to the variable, and no call may
  // change the variable.
  template <class Condition>
  bool AllValues(int variable, const Condition& condition) const {
    const std::vector<const Expr*>& values = values_[variable];
    return !values.empty() && changed_.count(variable) == 0 &&
           std::all_of(values.begin(), values.end(),
                       [&](const Expr* value) { return condition(*value); });
  }

  const PrintedKernel& kernel_;
  const absl::Span<const SlotInfo> slots_;
  std::vector<std::vector<const Expr*>> values_;    // by variable
  std::set<int> changed_;                           // variables that calls may change
  std::vector<const Call*> joins_, makes_, bytes_;  // of kMakeWord
};

}  // namespace

std::string CheckRoundings(const PrintedKernel& kernel, absl::Span<const SlotInfo> slots) {
  return Roundings(kernel, slots).Check();
}

bool RoundsNothing(const PrintedKernel& kernel, absl::Span<const SlotInfo> slots) {
  return Roundings(kernel, slots).RoundsNothing();
}

}  // namespace lemma::kernels
