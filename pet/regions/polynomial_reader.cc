// Reads elements of graphs from definitions.
#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "pet/regions/add_summand.h"
#include "pet/regions/affine.h"
#include "pet/regions/polynomial.h"
#include "rewrite/matching/match.h"

namespace lemma::pet {
namespace {

constexpr size_t kMostTerms = 1000000;

// An unfinished summand; its axes are variables of the scope.
struct RawSummand {
  Rational coefficient = Rational::Of(1);
  std::vector<int> axes;
  std::vector<std::pair<int, Affine>> reads;  // leaf, row-major position
};
using RawSummands = std::vector<RawSummand>;

// The variables of one definition while its body is evaluated.
struct Frame {
  const Node* node = nullptr;
  const Definition* definition = nullptr;
  std::vector<Affine> vars;
};

}  // namespace

class PolynomialReader::Impl {
 public:
  absl::StatusOr<Family> Read(const Value& value, const Box& box) {
    scope_ = AffineScope();
    status_ = absl::OkStatus();
    count_ = 0;
    std::vector<Affine> at;
    for (size_t d = 0; d < box.size(); ++d) {
      const int var = scope_.Add(box[d].count);
      at.push_back(PositionsOf(box[d], var));
    }
    outer_ = static_cast<int>(box.size());
    RawSummands terms;
    Family family;
    if (Element(value, at, &terms)) {
      for (const RawSummand& term : terms) Add(term, &family.terms);
      return family;
    }
    if (!status_.ok()) return status_;
    if (cut_.var >= outer_) return absl::InternalError("a sum was not cut where it had to be");
    for (const Range& piece : cut_.Pieces(box[cut_.var])) {
      family.pieces.push_back(box);
      family.pieces.back()[cut_.var] = piece;
    }
    return family;
  }

  int NumberOf(const Value& leaf) const {
    auto it = leaves_.find(leaf);
    return it == leaves_.end() ? -1 : it->second;
  }

 private:
  // The functions below return false if the box or a sum must be cut first (see cut_), or on an
  // error (see status_).

  bool Fail(absl::Status status) {
    if (status_.ok()) status_ = std::move(status);
    return false;
  }
  bool NoPolynomial(const Frame& frame, absl::string_view what) {
    return Fail(absl::UnimplementedError(
        absl::StrCat("the operator ", frame.node->op().name, " is no sum of products: ", what)));
  }

  bool Element(const Value& value, const std::vector<Affine>& at, RawSummands* terms) {
    const Node& node = value.node();
    if (node.kind() == Node::Kind::kConstant && value.type().num_elements() > 0 &&
        IsUniform(node.payload())) {
      return Number(Rational::OfDouble(node.payload().AtDouble(0)), terms);
    }
    if (!node.is_op()) return Leaf(value, at, terms);
    const Definition* definition = DefinitionFor(value.node_ptr());
    if (definition == nullptr) return false;
    Frame frame{&node, definition, {}};
    return Body(definition->outputs[value.output()], at, frame, terms);
  }

  const Definition* DefinitionFor(const NodePtr& node) {
    auto it = definitions_.find(node);
    if (it != definitions_.end()) return it->second.get();
    auto definition = DefinitionOf(*node);
    if (!definition.ok()) {
      Fail(absl::UnimplementedError(
          absl::StrCat("the operator ", node->op().name, " has no definition")));
      return nullptr;
    }
    auto& kept = definitions_[node];
    kept = std::make_unique<Definition>(*std::move(definition));
    return kept.get();
  }

  // Element `at` of a tensor that the frame's definition computes.
  bool Body(TensorId tensor, const std::vector<Affine>& at, const Frame& outer,
            RawSummands* terms) {
    const TensorExpr& made = outer.definition->tensors[tensor - outer.definition->num_inputs()];
    Frame frame{outer.node, outer.definition, {}};
    frame.vars.resize(static_cast<size_t>(outer.definition->num_vars));
    for (size_t d = 0; d < at.size(); ++d) frame.vars[made.axes[d].var] = at[d];
    return Scalar(made.body, frame, terms);
  }

  bool Leaf(const Value& value, const std::vector<Affine>& at, RawSummands* terms) {
    const int leaf = leaves_.try_emplace(value, static_cast<int>(leaves_.size())).first->second;
    const std::vector<int64_t> strides = RowMajorStrides(value.shape());
    Affine flat;
    for (size_t d = 0; d < at.size(); ++d) {
      const Interval bounds = scope_.Bounds(at[d]);
      if (bounds.lo < 0 || bounds.hi >= value.shape()[d]) {
        return Fail(absl::InternalError("a read lies outside its tensor"));
      }
      flat = Sum(flat, at[d], strides[d]);
    }
    RawSummand term;
    term.reads.emplace_back(leaf, std::move(flat));
    terms->push_back(std::move(term));
    return true;
  }

  bool Number(Rational value, RawSummands* terms) {
    if (!value.valid()) {
      return Fail(absl::ResourceExhaustedError("a constant is not finite, too large or too fine"));
    }
    if (value.is_zero()) return true;
    terms->push_back({value, {}, {}});
    return true;
  }

  bool Scalar(const ScalarExpr& e, Frame& frame, RawSummands* terms) {
    switch (e.kind()) {
      case ScalarExpr::Kind::kConst:
        return Number(Rational::OfDouble(e.value()), terms);
      case ScalarExpr::Kind::kIndex: {
        Affine index;
        if (!Index(e.index(), frame, &index)) return false;
        if (index.is_const()) return Number(Rational::Of(index.base), terms);
        cut_ = {index.terms[0].first, 1, 0};
        return false;
      }
      case ScalarExpr::Kind::kRead:
        return Read(e, frame, terms);
      case ScalarExpr::Kind::kApply:
        return Apply(e, frame, terms);
      case ScalarExpr::Kind::kSelect: {
        bool holds = false;
        return Holds(e.guard(), frame, &holds) && Scalar(e.args()[holds ? 0 : 1], frame, terms);
      }
      case ScalarExpr::Kind::kReduce:
        return Reduce(e, frame, terms);
      case ScalarExpr::Kind::kParam:
        break;
    }
    return NoPolynomial(frame, "a number is not known");
  }

  bool Read(const ScalarExpr& e, const Frame& frame, RawSummands* terms) {
    std::vector<Affine> at(e.indices().size());
    for (size_t d = 0; d < at.size(); ++d) {
      if (!Index(e.indices()[d], frame, &at[d])) return false;
    }
    if (e.tensor() >= frame.definition->num_inputs()) return Body(e.tensor(), at, frame, terms);
    return Element(frame.node->inputs()[e.tensor()], at, terms);
  }

  bool Apply(const ScalarExpr& e, Frame& frame, RawSummands* terms) {
    const bool product = e.fn() == ScalarFn::kMul || e.fn() == ScalarFn::kDiv;
    const bool sum =
        e.fn() == ScalarFn::kAdd || e.fn() == ScalarFn::kSub || e.fn() == ScalarFn::kNeg;
    if (!product && !sum) return NoPolynomial(frame, Info(e.fn()).name);
    RawSummands a, b;
    if (!Scalar(e.args()[0], frame, &a)) return false;
    if (e.args().size() > 1 && !(product && a.empty()) && !Scalar(e.args()[1], frame, &b)) {
      return false;
    }
    if (e.fn() == ScalarFn::kSub) Negate(&b);
    if (e.fn() == ScalarFn::kNeg) Negate(&a);
    if (sum) {
      terms->insert(terms->end(), a.begin(), a.end());
      terms->insert(terms->end(), b.begin(), b.end());
      return Fits(terms->size());
    }
    if (a.empty()) return true;
    if (e.fn() == ScalarFn::kDiv && !Invert(frame, &b)) return false;
    for (const RawSummand& x : a) {
      for (const RawSummand& y : b) {
        RawSummand term = x;
        term.coefficient = x.coefficient * y.coefficient;
        term.axes.insert(term.axes.end(), y.axes.begin(), y.axes.end());
        term.reads.insert(term.reads.end(), y.reads.begin(), y.reads.end());
        terms->push_back(std::move(term));
      }
      if (!Fits(terms->size())) return false;
    }
    return true;
  }

  static void Negate(RawSummands* terms) {
    for (RawSummand& term : *terms) term.coefficient = -term.coefficient;
  }

  // Replaces the summands, which must be a number, by their reciprocal.
  bool Invert(const Frame& frame, RawSummands* terms) {
    Rational value;
    for (const RawSummand& term : *terms) {
      if (!term.reads.empty()) return NoPolynomial(frame, "it divides by what is not constant");
      Rational summand = term.coefficient;
      for (int axis : term.axes) summand = summand * Rational::Of(scope_.extent(axis));
      value = value + summand;
    }
    if (value.is_zero()) return NoPolynomial(frame, "it divides by 0");
    terms->clear();
    return Number(value.Inverse(), terms);
  }

  bool Reduce(const ScalarExpr& e, Frame& frame, RawSummands* terms) {
    if (e.reduce() != ReduceKind::kSum) return NoPolynomial(frame, Name(e.reduce()));
    Box whole;
    for (const Axis& axis : e.axes()) {
      Affine extent;
      if (!Index(axis.extent, frame, &extent)) return false;
      if (!extent.is_const()) {
        cut_ = {extent.terms[0].first, 1, 0};
        return false;
      }
      if (extent.base <= 0) return true;
      whole.push_back({0, extent.base, 1});
    }
    std::vector<Box> pending = {std::move(whole)};
    while (!pending.empty()) {
      const Box box = std::move(pending.back());
      pending.pop_back();
      if (!Fits(++count_)) return false;
      const RawSummands::difference_type before =
          static_cast<RawSummands::difference_type>(terms->size());
      std::vector<int> axes;
      const int first = BindAxes(e, box, frame, &axes);
      bool holds = true;
      if (Holds(e.guard(), frame, &holds) && (!holds || Scalar(e.args()[0], frame, terms))) {
        for (auto it = terms->begin() + before; it != terms->end(); ++it) {
          it->axes.insert(it->axes.end(), axes.begin(), axes.end());
        }
        continue;
      }
      if (!status_.ok() || box.empty() || cut_.var < first) return false;
      const auto axis = static_cast<size_t>(cut_.var - first);
      if (axis >= box.size()) return Fail(absl::InternalError("a cut of no variable"));
      terms->resize(static_cast<size_t>(before));
      const std::vector<Range> pieces = cut_.Pieces(box[axis]);
      for (auto piece = pieces.rbegin(); piece != pieces.rend(); ++piece) {
        pending.push_back(box);
        pending.back()[axis] = *piece;
      }
    }
    return true;
  }

  // Binds the axes of a sum to the ranges of the box; returns their first variable.
  int BindAxes(const ScalarExpr& e, const Box& box, Frame& frame, std::vector<int>* axes) {
    int first = -1;
    for (size_t i = 0; i < box.size(); ++i) {
      const int var = scope_.Add(box[i].count);
      if (i == 0) first = var;
      if (box[i].count > 1) axes->push_back(var);
      frame.vars[e.axes()[i].var] = PositionsOf(box[i], var);
    }
    return first;
  }

  bool Fits(size_t n) {
    if (n <= kMostTerms) return true;
    return Fail(absl::ResourceExhaustedError(absl::StrCat("more than ", kMostTerms, " terms")));
  }

  bool Index(const IndexExpr& e, const Frame& frame, Affine* result) {
    switch (e.kind()) {
      case IndexExpr::Kind::kConst:
        *result = Affine::Of(e.value());
        return true;
      case IndexExpr::Kind::kVar:
        *result = frame.vars[e.var()];
        return true;
      case IndexExpr::Kind::kSymbol:
      case IndexExpr::Kind::kLoad:
        return NoPolynomial(frame, "a position depends on data");
      default:
        break;
    }
    Affine a, b;
    if (!Index(e.lhs(), frame, &a) || !Index(e.rhs(), frame, &b)) return false;
    switch (e.kind()) {
      case IndexExpr::Kind::kAdd:
        *result = Sum(a, b);
        return true;
      case IndexExpr::Kind::kMul:
        return Product(a, b, result);
      case IndexExpr::Kind::kFloorDiv:
      case IndexExpr::Kind::kMod:
        return Digit(e.kind(), a, b, frame, result);
      default:  // kMin, kMax
        return Extreme(e.kind() == IndexExpr::Kind::kMin, a, b, result);
    }
  }

  bool Product(const Affine& a, const Affine& b, Affine* result) {
    if (!a.is_const() && !b.is_const()) {
      cut_ = {a.terms[0].first, 1, 0};
      return false;
    }
    *result = a.is_const() ? Sum(Affine(), b, a.base) : Sum(Affine(), a, b.base);
    return true;
  }

  bool Digit(IndexExpr::Kind kind, const Affine& a, const Affine& b, const Frame& frame,
             Affine* result) {
    if (!b.is_const() || b.base <= 0) return NoPolynomial(frame, "a divisor is not constant");
    auto quotient = scope_.Quotient(a, b.base, &cut_);
    if (!quotient) return false;
    *result = kind == IndexExpr::Kind::kMod ? Sum(a, *quotient, -b.base) : *std::move(quotient);
    return true;
  }

  bool Extreme(bool min, const Affine& a, const Affine& b, Affine* result) {
    auto larger = scope_.IsNonNegative(Sum(b, a, -1), &cut_);
    if (!larger) return false;
    *result = *larger == min ? a : b;
    return true;
  }

  bool Holds(const Guard& guard, const Frame& frame, bool* holds) {
    switch (guard.kind()) {
      case Guard::Kind::kTrue:
      case Guard::Kind::kFalse:
        *holds = guard.is_true();
        return true;
      case Guard::Kind::kLe:
      case Guard::Kind::kEq: {
        Affine a, b;
        if (!Index(guard.lhs(), frame, &a) || !Index(guard.rhs(), frame, &b)) return false;
        const Affine f = Sum(b, a, -1);
        auto answer = guard.kind() == Guard::Kind::kLe ? scope_.IsNonNegative(f, &cut_)
                                                       : scope_.IsZero(f, &cut_);
        if (!answer) return false;
        *holds = *answer;
        return true;
      }
      case Guard::Kind::kNot:
        if (!Holds(guard.left(), frame, holds)) return false;
        *holds = !*holds;
        return true;
      case Guard::Kind::kAnd:
      case Guard::Kind::kOr: {
        // One side may decide even if the other cannot be decided yet.
        const bool decisive = guard.kind() == Guard::Kind::kOr;
        const bool left = Holds(guard.left(), frame, holds);
        if (left && *holds == decisive) return true;
        if (!status_.ok()) return false;
        const Cut cut = cut_;
        const bool right = Holds(guard.right(), frame, holds);
        if (right && *holds == decisive) return true;
        if (left && right) return true;
        if (!left) cut_ = cut;
        return false;
      }
    }
    return false;
  }

  void Add(const RawSummand& raw, Polynomial* sum) const {
    Summand term;
    for (int axis : raw.axes) term.extents.push_back(scope_.extent(axis));
    for (const auto& [leaf, at] : raw.reads) {
      TermRead read{leaf, at.base, std::vector<int64_t>(static_cast<size_t>(outer_), 0),
                    std::vector<int64_t>(raw.axes.size(), 0)};
      for (const auto& [var, coefficient] : at.terms) {
        if (var < outer_) {
          read.outer[static_cast<size_t>(var)] = coefficient;
          continue;
        }
        auto axis = std::find(raw.axes.begin(), raw.axes.end(), var);
        read.inner[static_cast<size_t>(axis - raw.axes.begin())] = coefficient;
      }
      term.reads.push_back(std::move(read));
    }
    AddSummand(std::move(term), raw.coefficient, sum);
  }

  AffineScope scope_;
  absl::Status status_;
  Cut cut_;
  int outer_ = 0;
  size_t count_ = 0;
  absl::flat_hash_map<Value, int> leaves_;
  absl::flat_hash_map<NodePtr, std::unique_ptr<Definition>> definitions_;
};

PolynomialReader::PolynomialReader() : impl_(std::make_unique<Impl>()) {}
PolynomialReader::~PolynomialReader() = default;

absl::StatusOr<Family> PolynomialReader::Read(const Value& value, const Box& box) {
  return impl_->Read(value, box);
}

int PolynomialReader::NumberOf(const Value& leaf) const { return impl_->NumberOf(leaf); }

}  // namespace lemma::pet
