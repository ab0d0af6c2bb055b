// Simplified normal forms against exhaustive evaluation, on random expressions.
#include "verifier/normal_form.h"

#include <cmath>
#include <random>

#include "graph/expr/compose.h"
#include "gtest/gtest.h"
#include "tests/graph/expr/naive_evaluator.h"
#include "verifier/build_form.h"
#include "verifier/normalize.h"

namespace lemma::verify {
namespace {

using Point = std::map<Leaf, int64_t>;

// Evaluates a normal form by enumerating a box that contains all its axes' ranges.
class FormEvaluator {
 public:
  FormEvaluator(const Leaves& leaves, std::vector<Dense<double>> tensors)
      : leaves_(leaves), tensors_(std::move(tensors)) {}

  double Form(const NormalForm& form, const Point& at) {
    double sum = 0;
    for (const Term& term : form.terms) {
      ForEach(term.axes, term.guards, at, [&](const Point& p) {
        double product = static_cast<double>(Index(term.coefficient, p)) / term.denominator;
        for (const Atom& atom : term.atoms) product *= Value(atom, p);
        sum += product;
      });
    }
    return sum;
  }

 private:
  void ForEach(const std::vector<Leaf>& axes, const Facts& guards, const Point& at,
               const std::function<void(const Point&)>& visit, size_t next = 0) {
    if (next < axes.size()) {
      for (int64_t v = -3; v <= 7; ++v) {
        Point p = at;
        p[axes[next]] = v;
        ForEach(axes, guards, p, visit, next + 1);
      }
      return;
    }
    for (const Fact& fact : guards) {
      const int64_t v = Index(fact.p, at);
      if (fact.kind == Fact::Kind::kGe ? v < 0 : (fact.kind == Fact::Kind::kEq) != (v == 0)) return;
    }
    visit(at);
  }

  int64_t Index(const Poly& p, const Point& at) {
    int64_t sum = 0;
    for (const auto& [m, c] : p.terms()) {
      int64_t product = c;
      for (Leaf leaf : m) {
        const LeafInfo& info = leaves_.Info(leaf);
        if (info.kind == LeafInfo::Kind::kDiv) {
          const int64_t a = Index(info.a, at), b = Index(info.b, at);
          product *= a / b - (a % b < 0 ? 1 : 0);
        } else {
          product *= at.at(leaf);
        }
      }
      sum += product;
    }
    return sum;
  }

  double Value(const Atom& atom, const Point& at) {
    switch (atom.kind) {
      case Atom::Kind::kRead: {
        const Dense<double>& tensor = tensors_[atom.tensor];
        int64_t offset = 0;
        for (size_t d = 0; d < atom.index.size(); ++d) {
          const int64_t i = Index(atom.index[d], at);
          EXPECT_TRUE(i >= 0 && i < tensor.dims[d]);
          offset = offset * tensor.dims[d] + i;
        }
        return tensor.data.at(offset);
      }
      case Atom::Kind::kFn:
        EXPECT_EQ(atom.name, "exp");
        return std::exp(Form(*atom.args[0], at));
      case Atom::Kind::kInverse:
        return 1 / Form(*atom.args[0], at);
      case Atom::Kind::kSizeInverse:
        return 1 / static_cast<double>(Index(atom.index[0], at));
      case Atom::Kind::kMax: {
        double best = -INFINITY;
        for (const Alternative& alternative : atom.alternatives) {
          ForEach(alternative.axes, alternative.guards, at,
                  [&](const Point& p) { best = std::max(best, Form(*alternative.value, p)); });
        }
        return best;
      }
      default:
        ADD_FAILURE() << "unexpected atom";
        return 0;
    }
  }

  const Leaves& leaves_;
  std::vector<Dense<double>> tensors_;
};

// Random scalar expressions over x: [n] and y: [n,m] whose reads are inside.
class Generator {
 public:
  Generator(uint64_t seed, int num_vars) : random_(seed), num_vars_(num_vars) {}
  int num_vars() const { return num_vars_; }

  ScalarExpr Scalar(std::vector<VarId> vars, int depth) {
    switch (depth <= 0 ? 0 : Pick(9)) {
      case 0:
      case 1:
        if (Pick(4) == 0) return ScalarExpr(static_cast<double>(Pick(5)) - 2);
        if (Pick(2) == 0) return ScalarExpr::Read(0, {Mod(Index(vars), n_)});
        return ScalarExpr::Read(1, {Mod(Index(vars), n_), Mod(Index(vars), m_)});
      case 2:
        return Scalar(vars, depth - 1) + Scalar(vars, depth - 1);
      case 3:
        return Scalar(vars, depth - 1) * Scalar(vars, depth - 1);
      case 4:
        return Apply(ScalarFn::kMax, Scalar(vars, depth - 1), Scalar(vars, depth - 1));
      case 5:
        return Apply(ScalarFn::kExp, Scalar(vars, depth - 2) * ScalarExpr(0.25));
      case 6:
        return ScalarExpr::Select(Condition(vars), Scalar(vars, depth - 1),
                                  Scalar(vars, depth - 1));
      default: {
        const VarId k = num_vars_++;
        const IndexExpr extent = Pick(3) == 0 ? m_ : Pick(3) == 0 ? n_ * m_ : n_;
        std::vector<VarId> inner = vars;
        inner.push_back(k);
        const ReduceKind kind = Pick(3) == 0 ? ReduceKind::kMax : ReduceKind::kSum;
        // A maximum over nothing would be infinite.
        const Guard where = kind == ReduceKind::kSum && Pick(2) == 0 ? Condition(inner) : Guard();
        return ScalarExpr::Reduce(kind, {{k, extent}}, where, Scalar(inner, depth - 2));
      }
    }
  }

 private:
  int Pick(int n) { return static_cast<int>(random_() % n); }
  IndexExpr Index(const std::vector<VarId>& vars) {
    const IndexExpr v = IndexExpr::Var(vars[Pick(static_cast<int>(vars.size()))]);
    switch (Pick(6)) {
      case 0:
        return v + 1;
      case 1:
        return FloorDiv(v, m_);
      case 2:
        return v * m_ + IndexExpr::Var(vars[Pick(static_cast<int>(vars.size()))]);
      case 3:
        return n_ - 1 - v;
      default:
        return v;
    }
  }
  Guard Condition(const std::vector<VarId>& vars) {
    const IndexExpr a = Index(vars), b = Pick(2) == 0 ? Index(vars) : IndexExpr(Pick(3));
    switch (Pick(5)) {
      case 0:
        return Eq(a, b);
      case 1:
        return Eq(Mod(a, m_), 0);
      case 2:
        return Le(a, b) || Eq(b, 1);
      default:
        return Lt(a, b);
    }
  }

  std::mt19937_64 random_;
  int num_vars_;
  IndexExpr n_ = IndexExpr::Symbol("n"), m_ = IndexExpr::Symbol("m");
};

TEST(NormalForm, SimplificationKeepsValues) {
  int checked = 0;
  for (uint64_t seed = 1; seed <= 250; ++seed) {
    const IndexExpr n = IndexExpr::Symbol("n"), m = IndexExpr::Symbol("m");
    Generator generator(seed, 1);
    Definition definition;
    definition.inputs = {{DType::kF64, {n}}, {DType::kF64, {n, m}}};
    definition.tensors = {{DType::kF64, {{0, n}}, generator.Scalar({0}, 4)}};
    definition.outputs = {2};
    definition.num_vars = generator.num_vars();

    Leaves leaves;
    Forms forms(&leaves);
    Arith arith(&leaves);
    const Leaf nl = leaves.Symbol("n"), ml = leaves.Symbol("m"), il = leaves.NewVar("i");
    const Facts facts = {Fact::Ge(Poly::Of(nl) - 1), Fact::Ge(Poly::Of(ml) - 1),
                         Fact::Ge(Poly::Of(il)), Fact::Ge(Poly::Of(nl) - 1 - Poly::Of(il))};
    const LeafMap nothing_solved;
    FormBuilder builder(&forms, definition, Laws::kRealOnly, nothing_solved);
    NormalForm raw = builder.Element(2, {Poly::Of(il)});
    ASSERT_EQ(builder.error(), "");
    if (raw.terms.size() > 12) continue;
    NormalForm form = Normalizer(&forms, &arith, Laws::kRealOnly).Simplify(raw, facts);

    for (int64_t size_n = 1; size_n <= 2; ++size_n) {
      for (int64_t size_m = 1; size_m <= 2; ++size_m) {
        std::mt19937_64 random(seed);
        auto fill = [&](std::vector<int64_t> dims, int64_t count) {
          Dense<double> values{std::move(dims), {}};
          for (int64_t j = 0; j < count; ++j) {
            values.data.push_back(static_cast<double>(random() % 1000) / 500 - 1);
          }
          return values;
        };
        std::vector<Dense<double>> inputs = {fill({size_n}, size_n),
                                              fill({size_n, size_m}, size_n * size_m)};
        const std::vector<double> expected =
            EvaluateNaively<double>(Bind(definition, {{"n", size_n}, {"m", size_m}}), inputs)[2]
                .data;
        FormEvaluator evaluator(leaves, inputs);
        for (int64_t i = 0; i < size_n; ++i) {
          const double want = expected[i];
          const double got = evaluator.Form(form, {{nl, size_n}, {ml, size_m}, {il, i}});
          if (!std::isfinite(want)) continue;
          ++checked;
          ASSERT_NEAR(want, got, 1e-7 * (1 + std::abs(want)))
              << "seed " << seed << " n=" << size_n << " m=" << size_m << " i=" << i << "\n"
              << definition.ToString() << forms.Key(form);
        }
      }
    }
  }
  EXPECT_GT(checked, 500);
}

}  // namespace
}  // namespace lemma::verify
