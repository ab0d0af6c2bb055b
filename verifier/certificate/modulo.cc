// A simple second evaluator: evaluates definitions element by element modulo a prime.
#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "verifier/certificate/exact.h"
#include "verifier/certificate/refusal.h"
#include "verifier/certificate/run_graphs.h"

namespace lemma::certificate {
namespace {

constexpr int64_t kSteps = int64_t{1} << 25;

// Numbers modulo a prime below 2^62.
class Modulo {
 public:
  explicit Modulo(uint64_t prime) : p_(prime) {}

  uint64_t Add(uint64_t a, uint64_t b) const { return a + b >= p_ ? a + b - p_ : a + b; }
  uint64_t Neg(uint64_t a) const { return a == 0 ? 0 : p_ - a; }
  uint64_t Mul(uint64_t a, uint64_t b) const {
    return static_cast<uint64_t>(static_cast<unsigned __int128>(a) * b % p_);
  }
  uint64_t Power(uint64_t a, uint64_t n) const {
    uint64_t result = 1;
    for (; n != 0; n >>= 1, a = Mul(a, a)) {
      if (n & 1) result = Mul(result, a);
    }
    return result;
  }
  uint64_t Inverse(uint64_t a) const { return Power(a, p_ - 2); }
  uint64_t OfInt(int64_t x) const {
    const int64_t r = x % static_cast<int64_t>(p_);
    return static_cast<uint64_t>(r < 0 ? r + static_cast<int64_t>(p_) : r);
  }
  // x must be finite.
  uint64_t OfDouble(double x) const {
    int exponent = 0;
    const auto digits = static_cast<int64_t>(std::ldexp(std::frexp(x, &exponent), 53));
    exponent -= 53;
    const uint64_t power = Power(2, static_cast<uint64_t>(std::abs(exponent)));
    return Mul(OfInt(digits), exponent < 0 ? Inverse(power) : power);
  }

 private:
  const uint64_t p_;
};

bool IsPrime(uint64_t n) {
  for (uint64_t d : {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37}) {
    if (n % d == 0) return n == d;
  }
  const Modulo m(n);
  // These bases decide primality of all 64-bit numbers.
  for (uint64_t base : {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37}) {
    uint64_t d = n - 1;
    while (d % 2 == 0) d /= 2;
    uint64_t x = m.Power(base, d);
    bool witness = x != 1;
    for (; d < n - 1 && witness; d *= 2) {
      if (x == n - 1) witness = false;
      x = m.Mul(x, x);
    }
    if (witness) return false;
  }
  return true;
}

class Reader {
 public:
  Reader(uint64_t prime, uint64_t seed) : m_(prime), prime_(prime), seed_(seed) {}

  // The element at a row-major position.
  uint64_t Element(const Value& value, int64_t position) {
    ++steps_;
    const Node& node = value.node();
    if (!node.is_op()) {
      if (node.kind() == Node::Kind::kConstant) return Number(node.payload().AtDouble(position));
      return HashCombine(SeedOf(seed_, value), position) % prime_;
    }
    auto [it, added] = tables_[value].try_emplace(position, 0);
    if (!added) return it->second;
    const Definition& definition = DefinitionFor(node);
    const uint64_t element = problem_.empty()
                                 ? Tensor(node, definition, definition.outputs[value.output()],
                                          IndexOf(value.shape(), position))
                                 : 0;
    tables_[value][position] = element;
    return element;
  }

  int64_t steps() const { return steps_; }
  const std::string& problem() const { return problem_; }

 private:
  using Index = std::vector<int64_t>;

  static Index IndexOf(const Shape& shape, int64_t position) {
    Index index(shape.size());
    for (size_t d = shape.size(); d-- > 0; position /= shape[d]) index[d] = position % shape[d];
    return index;
  }

  const Definition& DefinitionFor(const Node& node) {
    auto it = definitions_.find(&node);
    if (it != definitions_.end()) return *it->second;
    auto definition = FieldDefinitionOf(node);
    if (!definition.ok()) Fail("it has an operator without a definition");
    auto made =
        std::make_unique<Definition>(definition.ok() ? *std::move(definition) : Definition());
    return *(definitions_[&node] = std::move(made));
  }

  void Fail(absl::string_view why) {
    if (problem_.empty()) problem_ = std::string(why);
  }

  uint64_t Number(double x) {
    if (std::isfinite(x)) return m_.OfDouble(x);
    Fail("it has a constant that is no real number");
    return 0;
  }

  uint64_t Tensor(const Node& node, const Definition& d, TensorId id, const Index& at) {
    if (id < d.num_inputs()) {
      const Value& operand = node.inputs()[static_cast<size_t>(id)];
      int64_t position = 0;
      for (size_t i = 0; i < at.size(); ++i) {
        const int64_t dim = operand.shape()[i];
        if (at[i] < 0 || at[i] >= dim) Fail("it reads outside a tensor");
        position = position * dim + at[i];
      }
      return problem_.empty() ? Element(operand, position) : 0;
    }
    const TensorExpr& tensor = d.tensors[static_cast<size_t>(id - d.num_inputs())];
    std::vector<int64_t> vars(static_cast<size_t>(d.num_vars), 0);
    for (size_t i = 0; i < at.size(); ++i) vars[static_cast<size_t>(tensor.axes[i].var)] = at[i];
    return Scalar(node, d, tensor.body, &vars);
  }

  uint64_t Scalar(const Node& node, const Definition& d, const ScalarExpr& e, Index* vars) {
    ++steps_;
    if (!problem_.empty()) return 0;
    auto arg = [&](size_t i) { return Scalar(node, d, e.args()[i], vars); };
    switch (e.kind()) {
      case ScalarExpr::Kind::kConst:
        return Number(e.value());
      case ScalarExpr::Kind::kIndex:
        return m_.OfInt(At(e.index(), *vars));
      case ScalarExpr::Kind::kRead: {
        Index at;
        for (const IndexExpr& i : e.indices()) at.push_back(At(i, *vars));
        return Tensor(node, d, e.tensor(), at);
      }
      case ScalarExpr::Kind::kSelect:
        return arg(Holds(e.guard(), *vars) ? 0 : 1);
      case ScalarExpr::Kind::kReduce: {
        if (e.reduce() != ReduceKind::kSum) break;
        uint64_t sum = 0;
        Sum(node, d, e, 0, vars, &sum);
        return sum;
      }
      case ScalarExpr::Kind::kApply:
        return Apply(e.fn(), arg(0), e.args().size() > 1 ? arg(1) : 0);
      case ScalarExpr::Kind::kParam:
        break;
    }
    Fail("it is no sum of products");
    return 0;
  }

  uint64_t Apply(ScalarFn fn, uint64_t a, uint64_t b) {
    switch (fn) {
      case ScalarFn::kAdd:
        return m_.Add(a, b);
      case ScalarFn::kSub:
        return m_.Add(a, m_.Neg(b));
      case ScalarFn::kNeg:
        return m_.Neg(a);
      case ScalarFn::kMul:
        return m_.Mul(a, b);
      case ScalarFn::kDiv:
        if (b == 0) Fail("it divides by 0");
        return m_.Mul(a, m_.Inverse(b));
      default:
        Fail("it is no sum of products");
        return 0;
    }
  }

  void Sum(const Node& node, const Definition& d, const ScalarExpr& e, size_t axis, Index* vars,
           uint64_t* sum) {
    if (axis == e.axes().size()) {
      if (Holds(e.guard(), *vars)) *sum = m_.Add(*sum, Scalar(node, d, e.args()[0], vars));
      return;
    }
    const int64_t extent = At(e.axes()[axis].extent, *vars);
    for (int64_t i = 0; i < extent && problem_.empty(); ++i) {
      (*vars)[static_cast<size_t>(e.axes()[axis].var)] = i;
      Sum(node, d, e, axis + 1, vars, sum);
    }
  }

  int64_t At(const IndexExpr& e, const Index& vars) {
    ++steps_;
    switch (e.kind()) {
      case IndexExpr::Kind::kConst:
        return e.value();
      case IndexExpr::Kind::kVar:
        return vars[static_cast<size_t>(e.var())];
      case IndexExpr::Kind::kSymbol:
      case IndexExpr::Kind::kLoad:
        Fail("a position is not known");
        return 0;
      default:
        break;
    }
    const int64_t a = At(e.lhs(), vars), b = At(e.rhs(), vars);
    int64_t result = 0;
    switch (e.kind()) {
      case IndexExpr::Kind::kAdd:
        if (__builtin_add_overflow(a, b, &result)) Fail("a position is too large");
        return result;
      case IndexExpr::Kind::kMul:
        if (__builtin_mul_overflow(a, b, &result)) Fail("a position is too large");
        return result;
      case IndexExpr::Kind::kMin:
        return std::min(a, b);
      case IndexExpr::Kind::kMax:
        return std::max(a, b);
      default:
        break;
    }
    if (b <= 0) {
      Fail("a position is divided by what is not positive");
      return 0;
    }
    const int64_t quotient = a / b - (a % b < 0 ? 1 : 0);
    return e.kind() == IndexExpr::Kind::kMod ? a - b * quotient : quotient;
  }

  bool Holds(const Guard& g, const Index& vars) {
    switch (g.kind()) {
      case Guard::Kind::kTrue:
      case Guard::Kind::kFalse:
        return g.is_true();
      case Guard::Kind::kLe:
        return At(g.lhs(), vars) <= At(g.rhs(), vars);
      case Guard::Kind::kEq:
        return At(g.lhs(), vars) == At(g.rhs(), vars);
      case Guard::Kind::kAnd:
        return Holds(g.left(), vars) && Holds(g.right(), vars);
      case Guard::Kind::kOr:
        return Holds(g.left(), vars) || Holds(g.right(), vars);
      case Guard::Kind::kNot:
        return !Holds(g.left(), vars);
    }
    return false;
  }

  const Modulo m_;
  const uint64_t prime_, seed_;
  absl::flat_hash_map<const Node*, std::unique_ptr<Definition>> definitions_;
  absl::flat_hash_map<Value, absl::flat_hash_map<int64_t, uint64_t>> tables_;
  int64_t steps_ = 0;
  std::string problem_;
};

}  // namespace

uint64_t DrawPrime(uint64_t seed) {
  constexpr uint64_t kLeast = uint64_t{1} << 61;
  uint64_t candidate = kLeast + 1 + 2 * (HashCombine(seed, 61) % (kLeast / 2 - (1 << 20)));
  while (!IsPrime(candidate)) candidate += 2;
  return candidate;
}

absl::StatusOr<int64_t> CompareModulo(const Value& a, const Value& b, uint64_t prime,
                                      uint64_t seed) {
  std::vector<int64_t> order(static_cast<size_t>(a.type().num_elements()));
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
  std::mt19937_64 random(seed);
  std::shuffle(order.begin(), order.end(), random);
  Reader reader(prime, seed);
  int64_t compared = 0;
  for (int64_t position : order) {
    if (reader.steps() > kSteps) break;
    const uint64_t x = reader.Element(a, position), y = reader.Element(b, position);
    if (!reader.problem().empty()) return Refused(reader.problem());
    if (x != y) {
      return Refused(
          absl::StrCat("source and target differ modulo ", prime, " at element ", position));
    }
    ++compared;
  }
  return compared;
}

}  // namespace lemma::certificate
