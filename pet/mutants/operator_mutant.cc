#include "pet/mutants/operator_mutant.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/builder.h"
#include "pet/mutants/contraction.h"
#include "pet/mutants/layout_move.h"
#include "pet/mutants/operand.h"

namespace lemma::pet {
namespace {

constexpr size_t kMostAttrs = 2000;

// The candidate values of an attribute.
std::vector<AttrValue> ChoicesFor(const AttrSpec& spec, const Siblings& part) {
  std::vector<AttrValue> choices = {*spec.default_value};
  auto add = [&](AttrValue value) {
    if (value != choices[0]) choices.push_back(std::move(value));
  };
  if (auto* list = std::get_if<std::vector<int64_t>>(&choices[0])) {
    const size_t length = list->size();
    for (const std::vector<int64_t>& other : part.lists) {
      if (other.size() == length) add(other);
    }
  } else if (spec.kind == AttrKind::kInt) {
    for (int64_t number : part.numbers) add(number);
  }
  return choices;
}

std::vector<Attrs> AttrsFor(const OpDef& op, const Siblings& part) {
  std::vector<Attrs> all = {{}};
  for (const AttrSpec& spec : op.attrs) {
    std::vector<Attrs> longer;
    for (const Attrs& attrs : all) {
      for (const AttrValue& value : ChoicesFor(spec, part)) {
        longer.push_back(attrs);
        longer.back()[spec.name] = value;
      }
    }
    all = std::move(longer);
    if (all.size() > kMostAttrs) all.resize(kMostAttrs);
  }
  return all;
}

// " {groups = 2}": the attributes that differ from their defaults.
std::string TextOf(const OpDef& op, const Attrs& attrs) {
  std::string text;
  for (const auto& [name, value] : attrs) {
    if (value == *op.FindAttr(name)->default_value) continue;
    absl::StrAppend(&text, text.empty() ? " {" : ", ", name, " = ", lemma::ToString(value));
  }
  return text.empty() ? text : text + "}";
}

bool Permutes(const Regroup& regroup) {
  return !std::is_sorted(regroup.perm.begin(), regroup.perm.end());
}

class OperatorEnumeration {
 public:
  OperatorEnumeration(const Graph& original, const MutantOptions& options, Samples* samples,
                      const std::function<bool(Mutant)>& found)
      : original_(original),
        wanted_(original.outputs()[0]),
        options_(options),
        samples_(samples),
        found_(found),
        part_(SiblingsOf(original)) {}

  absl::Status Run() {
    if (part_.applications.empty()) return absl::OkStatus();
    const size_t places = part_.applications[0]->inputs().size();
    if (places == 0 || places > 3) return absl::OkStatus();
    const std::vector<Operand> operands[2] = {OperandsAt(part_, 0), OperandsAt(part_, 1)};
    if (places == 3) added_ = OperandsAt(part_, 2);
    divisors_ = {1};
    for (const std::vector<int64_t>& list : part_.lists) {
      const int64_t product = NumElements(list);
      if (places == 1 && product > 1) divisors_.insert(product);
    }
    LEMMA_RETURN_IF_ERROR(TryAll(operands, false));
    return part_.applications.size() > 1 ? absl::OkStatus() : TryAll(operands, true);
  }

 private:
  // Tries operands without permutations of dimensions or, if `permuted`, with some.
  absl::Status TryAll(const std::vector<Operand> (&operands)[2], bool permuted) {
    for (const Contraction& contraction : Contractions()) {
      const std::vector<Attrs> attrs = AttrsFor(*contraction.op, part_);
      for (int first : {0, 1}) {
        for (const Operand& a : operands[first]) {
          for (const Operand& b : operands[1 - first]) {
            LEMMA_RETURN_IF_ERROR(TryOperands(contraction, attrs, a, b, permuted));
            if (done_) return absl::OkStatus();
          }
        }
      }
    }
    return absl::OkStatus();
  }

  absl::Status TryOperands(const Contraction& contraction, const std::vector<Attrs>& attrs,
                           const Operand& a, const Operand& b, bool permuted) {
    // If both operands have four long dimensions, only the second one is permuted, and the first
    // one keeps its shape.
    const bool large = LongDims(a.value.shape()) > 3 && LongDims(b.value.shape()) > 3;
    for (const Regroup& x : a.groups) {
      if (static_cast<int>(x.shape.size()) != contraction.ranks[0]) continue;
      for (const Regroup& y : b.groups) {
        if (static_cast<int>(y.shape.size()) != contraction.ranks[1]) continue;
        if ((Permutes(x) || Permutes(y)) != permuted) continue;
        if (large && Permutes(x)) continue;
        if (large && permuted && (x.shape != a.value.shape() || y.shape.size() < 4)) continue;
        const std::vector<TensorType> types = {{a.value.dtype(), x.shape},
                                               {b.value.dtype(), y.shape}};
        for (const Attrs& chosen : attrs) {
          if (++tried_ > options_.max_operators_tried) done_ = true;
          if (done_) return absl::OkStatus();
          auto results = InferTypes(*contraction.op, types, chosen);
          if (!results.ok() || (*results)[0].num_elements() != wanted_.type().num_elements()) {
            continue;
          }
          const std::string how = absl::StrCat(
              contraction.op->name, TextOf(*contraction.op, chosen), " of ", a.how, " as ",
              lemma::ToString(x.shape), " and ", b.how, " as ", lemma::ToString(y.shape));
          LEMMA_ASSIGN_OR_RETURN(Value first, Applied(x, a.value));
          LEMMA_ASSIGN_OR_RETURN(Value second, Applied(y, b.value));
          LEMMA_RETURN_IF_ERROR(
              TryApplication(*contraction.op, {std::move(first), std::move(second)}, chosen, how));
        }
      }
    }
    return absl::OkStatus();
  }

  absl::Status TryApplication(const OpDef& op, const std::vector<Value>& operands,
                              const Attrs& attrs, const std::string& how) {
    if (IsApplication(op, operands)) return absl::OkStatus();
    auto plain = Apply1(op.name, operands, attrs);
    if (!plain.ok()) return absl::OkStatus();
    for (const Regroup& back : RegroupsTo(plain->shape(), wanted_.shape())) {
      LEMMA_ASSIGN_OR_RETURN(const Value y, Applied(back, *plain));
      if (added_.empty()) LEMMA_RETURN_IF_ERROR(TryDivided(y, how));
      for (const Operand& term : added_) {
        for (const Value& sum : Sums(y, term.value)) {
          LEMMA_RETURN_IF_ERROR(TryDivided(sum, absl::StrCat(how, ", and ", term.how)));
        }
        std::vector<Value> all = operands;
        all.push_back(term.value);
        auto fused = op.max_inputs > 2 ? Apply1(op.name, all, attrs)
                                       : absl::InvalidArgumentError("two operands");
        if (!fused.ok()) continue;
        LEMMA_ASSIGN_OR_RETURN(const Value z, Applied(back, *fused));
        LEMMA_RETURN_IF_ERROR(TryDivided(z, absl::StrCat(how, " and ", term.how)));
      }
    }
    return absl::OkStatus();
  }

  // Whether only attributes would differ from the original, such as the dilation of a 1x1 filter.
  bool IsApplication(const OpDef& op, const std::vector<Value>& operands) const {
    const Node& node = *part_.applications[0];
    return part_.applications.size() == 1 && &node.op() == &op && node.inputs().size() >= 2 &&
           node.inputs()[0] == operands[0] && node.inputs()[1] == operands[1];
  }

  // y plus a vector along each possible dimension of y, or plus a value of y's type.
  static std::vector<Value> Sums(const Value& y, const Value& term) {
    std::vector<Value> shaped;
    if (term.type().rank() == 1) {
      for (int d = 0; d < y.type().rank(); ++d) {
        if (y.shape()[static_cast<size_t>(d)] != term.shape()[0]) continue;
        Shape shape(static_cast<size_t>(y.type().rank() - d), 1);
        shape[0] = term.shape()[0];
        auto column = ReshapeTo(term, shape);
        if (column.ok()) shaped.push_back(*column);
      }
    } else if (term.type() == y.type()) {
      shaped.push_back(term);
    }
    std::vector<Value> sums;
    for (const Value& v : shaped) {
      auto sum = Apply1("add", {y, v});
      if (sum.ok() && sum->type() == y.type()) sums.push_back(*sum);
    }
    return sums;
  }

  absl::Status TryDivided(const Value& y, const std::string& how) {
    for (int64_t divisor : divisors_) {
      if (done_) return absl::OkStatus();
      if (divisor == 1) {
        LEMMA_RETURN_IF_ERROR(TryResult(y, how));
        continue;
      }
      LEMMA_ASSIGN_OR_RETURN(Tensor number,
                             Tensor::Filled({y.dtype(), {}}, static_cast<double>(divisor)));
      auto quotient = Apply1("div", {y, Value(Node::Constant(std::move(number)), 0)});
      if (!quotient.ok()) continue;
      LEMMA_RETURN_IF_ERROR(TryResult(*quotient, absl::StrCat(how, ", divided by ", divisor)));
    }
    return absl::OkStatus();
  }

  absl::Status TryResult(const Value& result, const std::string& how) {
    if (result.type() != wanted_.type() || result == wanted_) return absl::OkStatus();
    if (!seen_.insert(result).second) return absl::OkStatus();
    LEMMA_ASSIGN_OR_RETURN(const bool agrees, samples_->AgreeWith(result));
    if (agrees) done_ = !found_({original_.WithOutputs({result}), std::nullopt, how, Value()});
    return absl::OkStatus();
  }

  const Graph& original_;
  const Value wanted_;
  const MutantOptions& options_;
  Samples* const samples_;
  const std::function<bool(Mutant)>& found_;
  const Siblings part_;
  std::vector<Operand> added_;  // the operands after the first two
  std::set<int64_t> divisors_;
  absl::flat_hash_set<Value> seen_;
  int64_t tried_ = 0;
  bool done_ = false;
};

}  // namespace

absl::Status ForEachOperatorMutant(const Graph& original, const MutantOptions& options,
                                   Samples* samples, const std::function<bool(Mutant)>& found) {
  return OperatorEnumeration(original, options, samples, found).Run();
}

}  // namespace lemma::pet
