#include "verifier/refutation/suggestions.h"

#include <cmath>
#include <cstdlib>
#include <set>

namespace lemma::prover {
namespace {

constexpr int64_t kReached = 5;         // small samples draw all sizes up to this one
constexpr double kReachedElement = 2;   // and elements around these
constexpr int64_t kLargestSize = 5000;  // more elements take too long
constexpr size_t kMostForPairs = 6;     // limit on constants whose sums and products are taken

class Constants {
 public:
  std::set<int64_t> whole;   // magnitudes
  std::set<double> element;  // finite

  void Collect(const IndexExpr& e) {
    switch (e.kind()) {
      case IndexExpr::Kind::kConst:
        Add(e.value());
        return;
      case IndexExpr::Kind::kSymbol:
      case IndexExpr::Kind::kVar:
        return;
      case IndexExpr::Kind::kLoad:
        Collect(ScalarExpr(e.load()));
        return;
      default:
        Collect(e.lhs());
        Collect(e.rhs());
    }
  }

  void Collect(const Guard& guard) {
    switch (guard.kind()) {
      case Guard::Kind::kTrue:
      case Guard::Kind::kFalse:
        return;
      case Guard::Kind::kLe:
      case Guard::Kind::kEq:
        Collect(guard.lhs());
        Collect(guard.rhs());
        return;
      case Guard::Kind::kAnd:
      case Guard::Kind::kOr:
        Collect(guard.right());
        [[fallthrough]];
      case Guard::Kind::kNot:
        Collect(guard.left());
    }
  }

  void Collect(const ScalarExpr& e) {
    switch (e.kind()) {
      case ScalarExpr::Kind::kConst:
        // It may be compared with positions, so it counts as a size too.
        if (std::abs(e.value()) > kReachedElement && std::isfinite(e.value())) {
          element.insert(e.value());
        }
        if (std::abs(e.value()) <= kLargestSize && e.value() == std::floor(e.value())) {
          Add(static_cast<int64_t>(e.value()));
        }
        return;
      case ScalarExpr::Kind::kIndex:
        Collect(e.index());
        return;
      case ScalarExpr::Kind::kRead:
        for (const IndexExpr& i : e.indices()) Collect(i);
        return;
      case ScalarExpr::Kind::kReduce:
        for (const Axis& axis : e.axes()) Collect(axis.extent);
        [[fallthrough]];
      case ScalarExpr::Kind::kSelect:
        Collect(e.guard());
        break;
      default:
        break;
    }
    for (const ScalarExpr& arg : e.args()) Collect(arg);
  }

 private:
  void Add(int64_t value) {
    if (value >= -kLargestSize && value <= kLargestSize && std::abs(value) > 1) {
      whole.insert(std::abs(value));
    }
  }
};

}  // namespace

Suggestions SuggestionsOf(const Statement& statement) {
  Constants constants;
  for (const Guard& guard : statement.requirements) constants.Collect(guard);
  for (const Definition* side : {&statement.source, &statement.target}) {
    for (const ExprType& input : side->inputs) {
      for (const IndexExpr& size : input.dims) constants.Collect(size);
    }
    for (const TensorExpr& tensor : side->tensors) {
      for (const Axis& axis : tensor.axes) constants.Collect(axis.extent);
      constants.Collect(tensor.body);
    }
  }
  std::set<int64_t> centers = constants.whole;
  if (constants.whole.size() <= kMostForPairs) {
    for (int64_t a : constants.whole) {
      for (int64_t b : constants.whole) {
        centers.insert(a + b);
        centers.insert(a * b);
      }
    }
  }
  std::set<int64_t> sizes;
  for (int64_t c : centers) {
    for (int64_t size : {c - 1, c, c + 1, 2 * c, 2 * c + 1}) {
      if (size > kReached && size <= kLargestSize) sizes.insert(size);
    }
  }
  Suggestions suggestions;
  suggestions.sizes.assign(sizes.begin(), sizes.end());
  for (double c : constants.element) {
    for (double x : {c - 1, c + 1, 2 * c}) suggestions.elements.push_back(x);
  }
  return suggestions;
}

}  // namespace lemma::prover
