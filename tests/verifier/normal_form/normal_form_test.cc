// Simplified normal forms against exhaustive evaluation, on random expressions.
#include "verifier/normal_form/normal_form.h"

#include <cmath>
#include <random>

#include "base/work.h"
#include "graph/expr/compose.h"
#include "gtest/gtest.h"
#include "tests/kernels/evaluate/naive_evaluator.h"
#include "verifier/identities/case_equality.h"
#include "verifier/identities/unroll.h"
#include "verifier/normal_form/build_form.h"
#include "verifier/normal_form/equality.h"
#include "verifier/normal_form/normalize.h"

namespace lemma::prover {
namespace {

using Point = std::map<Leaf, int64_t>;

// Evaluates a normal form by enumerating a box that contains all its axes' ranges.
class FormEvaluator {
 public:
  FormEvaluator(const Leaves& leaves, std::vector<Dense<double>> tensors)
      : leaves_(leaves), tensors_(std::move(tensors)) {}

  double Form(const NormalForm& form, const Point& at) {
    double sum = 0;
    for (const Summand& term : form.terms) {
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
      case Atom::Kind::kConstant:
        EXPECT_EQ(atom.name.substr(0, 2), "c:");
        return std::stod(atom.name.substr(2));
      case Atom::Kind::kFn:
        return Call(atom, at);
      case Atom::Kind::kInverse:
        return 1 / Form(*atom.args[0], at);
      case Atom::Kind::kSizeInverse:
        return 1 / static_cast<double>(Index(atom.index[0], at));
      case Atom::Kind::kMax: {
        const double sign = atom.name == "max" ? 1 : -1;
        double best = -INFINITY;
        for (const Alternative& alternative : atom.alternatives) {
          ForEach(alternative.axes, alternative.guards, at, [&](const Point& p) {
            best = std::max(best, sign * Form(*alternative.value, p));
          });
        }
        return sign * best;
      }
      case Atom::Kind::kReduce: {
        double result = atom.name == "sum" ? 0 : 1;
        ForEach(atom.alternatives[0].axes, atom.alternatives[0].guards, at, [&](const Point& p) {
          const double value = Form(*atom.alternatives[0].value, p);
          result = atom.name == "sum" ? result + value : result * value;
        });
        return result;
      }
      default:
        ADD_FAILURE() << "unexpected atom";
        return 0;
    }
  }

  // The function's value, computed by the oracle as a definition of one element.
  double Call(const Atom& atom, const Point& at) {
    std::vector<ScalarExpr> args;
    for (const NormalFormPtr& arg : atom.args) args.push_back(ScalarExpr(Form(*arg, at)));
    for (int i = 0; i < kNumScalarFns; ++i) {
      const ScalarFn fn = static_cast<ScalarFn>(i);
      if (atom.name != lemma::Info(fn).name) continue;
      Definition call;
      call.tensors = {{DType::kF64, {}, ScalarExpr::Apply(fn, args)}};
      call.outputs = {0};
      return AllTensorsNaively<double>(call, {})[0].data[0];
    }
    if (atom.name == "sum_empty") return 0;
    if (atom.name == "prod_empty") return 1;
    ADD_FAILURE() << "unexpected function " << atom.name;
    return 0;
  }

  const Leaves& leaves_;
  std::vector<Dense<double>> tensors_;
};

// Random scalar expressions over x: [n] and y: [n,m] whose reads are inside.
class Generator {
 public:
  // Choice number `flip` comes out differently; -1: none does.
  Generator(uint64_t seed, int num_vars, int flip = -1)
      : random_(seed), num_vars_(num_vars), flip_(flip) {}
  int num_vars() const { return num_vars_; }

  ScalarExpr Scalar(std::vector<VarId> vars, int depth) {
    auto child = [&](int cost = 1) { return Scalar(vars, depth - cost); };
    // At least 1/2.
    auto positive = [&] {
      const ScalarExpr x = child(2);
      return x * x + ScalarExpr(0.5);
    };
    switch (depth <= 0 ? 0 : Pick(12)) {
      case 0:
      case 1:
        if (Pick(4) == 0) return ScalarExpr(static_cast<double>(Pick(5)) - 2);
        if (Pick(2) == 0) return ScalarExpr::Read(0, {Mod(Index(vars), n_)});
        return ScalarExpr::Read(1, {Mod(Index(vars), n_), Mod(Index(vars), m_)});
      case 2:
        return Pick(3) == 0 ? child() - child() : child() + child();
      case 3:
        return child() * child();
      case 4:
        return Apply(Pick(3) == 0 ? ScalarFn::kMin : ScalarFn::kMax, child(), child());
      case 5:
        return Apply(ScalarFn::kExp, child(2) * ScalarExpr(0.25));
      case 6:
        return ScalarExpr::Select(Condition(vars), child(), child());
      case 7:
        return child() / positive();
      case 8: {
        const ScalarFn fns[] = {ScalarFn::kSqrt, ScalarFn::kLog, ScalarFn::kAbs, ScalarFn::kTanh};
        return Apply(fns[Pick(4)], positive());
      }
      default: {
        const VarId k = num_vars_++;
        const IndexExpr extent = Pick(3) == 0 ? m_ : Pick(3) == 0 ? n_ * m_ : n_;
        std::vector<VarId> inner = vars;
        inner.push_back(k);
        const ReduceKind kinds[] = {ReduceKind::kSum, ReduceKind::kSum,  ReduceKind::kSum,
                                    ReduceKind::kMax, ReduceKind::kProd, ReduceKind::kMin};
        const ReduceKind kind = kinds[Pick(6)];
        // A maximum over nothing would be infinite.
        const Guard where = kind == ReduceKind::kSum && Pick(2) == 0 ? Condition(inner) : Guard();
        return ScalarExpr::Reduce(kind, {{k, extent}}, where, Scalar(inner, depth - 2));
      }
    }
  }

 private:
  int Pick(int n) {
    const int choice = static_cast<int>(random_() % n);
    return flip_-- == 0 ? (choice + 1) % n : choice;
  }
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
  int num_vars_, flip_;
  IndexExpr n_ = IndexExpr::Symbol("n"), m_ = IndexExpr::Symbol("m");
};

// A random expression over x: [n] and y: [n,m], as the tensor z: [n].
Definition RandomDefinition(uint64_t seed, int depth, int flip = -1) {
  const IndexExpr n = IndexExpr::Symbol("n"), m = IndexExpr::Symbol("m");
  Generator generator(seed, 1, flip);
  Definition definition;
  definition.inputs = {{DType::kF64, {n}}, {DType::kF64, {n, m}}};
  definition.tensors = {{DType::kF64, {{0, n}}, generator.Scalar({0}, depth)}};
  definition.outputs = {2};
  definition.num_vars = generator.num_vars();
  return definition;
}

std::vector<Dense<double>> RandomInputs(uint64_t seed, int64_t n, int64_t m) {
  std::mt19937_64 random(seed);
  auto fill = [&](std::vector<int64_t> dims, int64_t count) {
    Dense<double> values{std::move(dims), {}};
    for (int64_t j = 0; j < count; ++j) {
      values.data.push_back(static_cast<double>(random() % 1000) / 500 - 1);
    }
    return values;
  };
  std::vector<Dense<double>> inputs = {fill({n}, n)};
  inputs.push_back(fill({n, m}, n * m));
  return inputs;
}

std::vector<double> Evaluate(const Definition& definition, uint64_t seed, int64_t n, int64_t m) {
  return AllTensorsNaively<double>(Bind(definition, {{"n", n}, {"m", m}}),
                                   RandomInputs(seed, n, m))[2]
      .data;
}

// The objects that a proof of an element at an index i needs.
struct Setting {
  Leaves leaves;
  NormalForms forms{&leaves};
  Arith arith{&leaves};
  Leaf n = leaves.Symbol("n"), m = leaves.Symbol("m"), i = leaves.NewVar("i");
  Facts facts = {Fact::Ge(Poly::Of(n) - 1), Fact::Ge(Poly::Of(m) - 1), Fact::Ge(Poly::Of(i)),
                 Fact::Ge(Poly::Of(n) - 1 - Poly::Of(i))};
  LeafMap nothing_solved;

  std::optional<NormalForm> Build(const Definition& definition, Laws laws) {
    FormBuilder builder(&forms, definition, laws, nothing_solved);
    NormalForm form = builder.Element(2, {Poly::Of(i)});
    if (!builder.error().empty() || form.terms.size() > 12) return std::nullopt;
    return form;
  }
};

class NormalFormTest : public testing::TestWithParam<Laws> {};

TEST_P(NormalFormTest, SimplificationKeepsValues) {
  int checked = 0;
  for (uint64_t seed = 1; seed <= 250; ++seed) {
    const Definition definition = RandomDefinition(seed, 4);
    Setting s;
    auto raw = s.Build(definition, GetParam());
    if (!raw) continue;
    const NormalForm form = Normalizer(&s.forms, &s.arith, GetParam()).Simplify(*raw, s.facts);
    for (int64_t n = 1; n <= 2; ++n) {
      for (int64_t m = 1; m <= 2; ++m) {
        const std::vector<double> expected = Evaluate(definition, seed, n, m);
        FormEvaluator evaluator(s.leaves, RandomInputs(seed, n, m));
        for (int64_t i = 0; i < n; ++i) {
          const double want = expected[i];
          if (!std::isfinite(want)) continue;
          const double got = evaluator.Form(form, {{s.n, n}, {s.m, m}, {s.i, i}});
          ++checked;
          ASSERT_NEAR(want, got, 1e-7 * (1 + std::abs(want)))
              << "seed " << seed << " n=" << n << " m=" << m << " i=" << i << "\n"
              << definition.ToString() << s.forms.Key(form);
        }
      }
    }
  }
  EXPECT_GT(checked, 500);
}

// If two forms are found equal, their values are equal. Compares an expression with itself after a
// change of one index, operator, condition or extent.
TEST_P(NormalFormTest, EqualFormsHaveEqualValues) {
  int equal = 0, different = 0;
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    const Definition a = RandomDefinition(seed, 3);
    const Definition b = RandomDefinition(seed, 3, static_cast<int>(seed % 23) - 1);
    Setting s;
    auto x = s.Build(a, GetParam()), y = s.Build(b, GetParam());
    if (!x || !y) continue;
    Equality equality(&s.forms, &s.arith, GetParam());
    if (!equality.AreEqual(*x, *y, s.facts)) {
      ++different;
      continue;
    }
    ++equal;
    for (int64_t n = 1; n <= 3; ++n) {
      for (int64_t m = 1; m <= 3; ++m) {
        const std::vector<double> u = Evaluate(a, seed, n, m), v = Evaluate(b, seed, n, m);
        for (int64_t i = 0; i < n; ++i) {
          if (!std::isfinite(u[i]) || !std::isfinite(v[i])) continue;
          ASSERT_NEAR(u[i], v[i], 1e-7 * (1 + std::abs(u[i])))
              << "seed " << seed << " n=" << n << " m=" << m << "\n"
              << a.ToString() << b.ToString();
        }
      }
    }
  }
  EXPECT_GT(equal, 50);
  EXPECT_GT(different, 50);
}

// Identities of functions, and axes written out, keep values too.
TEST(IdentitiesTest, KeepValues) {
  int checked = 0;
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    const int64_t n = 1 + static_cast<int64_t>(seed % 2), m = 2;
    const Definition definition = Bind(RandomDefinition(seed, 4), {{"n", n}, {"m", m}});
    Setting s;
    auto raw = s.Build(definition, Laws::kRealOnly);
    if (!raw) continue;
    const Facts facts = {Fact::Ge(Poly::Of(s.i)), Fact::Ge(Poly(n - 1) - Poly::Of(s.i))};
    Normalizer normalizer(&s.forms, &s.arith, Laws::kRealOnly);
    normalizer.UseIdentities(1 + static_cast<int64_t>(seed % 3));
    bool changed = false;
    const NormalForm simple = normalizer.Simplify(*raw, facts),
                     unrolled = Unrolled(&s.forms, Laws::kRealOnly, *raw, &changed);
    const std::vector<double> expected =
        AllTensorsNaively<double>(definition, RandomInputs(seed, n, m))[2].data;
    FormEvaluator evaluator(s.leaves, RandomInputs(seed, n, m));
    for (int64_t i = 0; i < n; ++i) {
      if (!std::isfinite(expected[i])) continue;
      for (const NormalForm* form : {&simple, &unrolled}) {
        ++checked;
        ASSERT_NEAR(expected[i], evaluator.Form(*form, {{s.i, i}}),
                    1e-7 * (1 + std::abs(expected[i])))
            << "seed " << seed << " i=" << i << "\n"
            << definition.ToString() << s.forms.Key(*form);
      }
    }
  }
  EXPECT_GT(checked, 500);
}

// What is found equal case by case has equal values.
TEST(IdentitiesTest, EqualCasesHaveEqualValues) {
  int equal = 0, different = 0;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    const absl::flat_hash_map<std::string, int64_t> sizes = {{"n", 2}, {"m", 2}};
    const Definition a = Bind(RandomDefinition(seed, 3), sizes);
    const Definition b = Bind(RandomDefinition(seed, 3, static_cast<int>(seed % 23) - 1), sizes);
    Setting s;
    auto x = s.Build(a, Laws::kRealOnly), y = s.Build(b, Laws::kRealOnly);
    if (!x || !y) continue;
    const Facts facts = {Fact::Ge(Poly::Of(s.i)), Fact::Ge(Poly(1) - Poly::Of(s.i))};
    WorkScope work(100'000'000);
    try {
      if (!CaseEquality(&s.forms, &s.arith, Laws::kRealOnly, 300000).AreEqual(*x, *y, facts)) {
        ++different;
        continue;
      }
    } catch (const WorkEnded&) {
      continue;
    }
    ++equal;
    for (uint64_t input = 0; input < 5; ++input) {
      const std::vector<Dense<double>> inputs = RandomInputs(input, 2, 2);
      const std::vector<double> u = AllTensorsNaively<double>(a, inputs)[2].data,
                                v = AllTensorsNaively<double>(b, inputs)[2].data;
      for (int64_t i = 0; i < 2; ++i) {
        if (!std::isfinite(u[i]) || !std::isfinite(v[i])) continue;
        ASSERT_NEAR(u[i], v[i], 1e-7 * (1 + std::abs(u[i]))) << "seed " << seed << "\n"
                                                             << a.ToString() << b.ToString();
      }
    }
  }
  EXPECT_GT(equal, 50);
  EXPECT_GT(different, 50);
}

INSTANTIATE_TEST_SUITE_P(, NormalFormTest,
                         testing::Values(Laws::kNone, Laws::kRing, Laws::kRealOnly),
                         [](const auto& info) {
                           return info.param == Laws::kNone   ? "None"
                                  : info.param == Laws::kRing ? "Ring"
                                                              : "RealOnly";
                         });

}  // namespace
}  // namespace lemma::prover
