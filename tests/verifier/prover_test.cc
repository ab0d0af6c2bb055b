// The prover's answers for graphs, contracts and logs.
#include "verifier/prover/prover.h"

#include "absl/strings/str_cat.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "tests/verifier/prover_testutil.h"
#include "verifier/arithmetic/solver.h"

namespace lemma {
namespace {

Verdict ProveGraphTexts(const std::string& a, const std::string& b) {
  auto x = ParseGraph(a), y = ParseGraph(b);
  EXPECT_TRUE(x.ok() && y.ok()) << x.status() << y.status();
  return ProveGraphs(*x, *y);
}

TEST(ProveGraphs, AtTheirShapes) {
  const char* source = R"(graph g(x: f32[4,6]) {
    s = softmax(x) {axis = 1}
    y = log(s)
    return y
  })";
  const char* target = R"(graph h(x: f32[4,6]) {
    y = log_softmax(x) {axis = 1}
    return y
  })";
  Verdict verdict = ProveGraphTexts(source, target);
  ASSERT_TRUE(IsProved(verdict)) << ToString(verdict);
  EXPECT_EQ(std::get<Proved>(verdict).contract, FloatContract::kRealOnly);
  Verdict wrong = ProveGraphTexts(source, R"(graph h(x: f32[4,6]) {
    y = log_softmax(x) {axis = 0}
    return y
  })");
  EXPECT_TRUE(IsRefuted(wrong)) << ToString(wrong);
}

TEST(ProveGraphs, ConstantsAreValues) {
  EXPECT_TRUE(IsProved(ProveGraphTexts(R"(graph g(x: f32[3]) {
    c = constant f32[3] fill 2.0
    y = mul(x, c)
    return y
  })",
                                       R"(graph h(x: f32[3]) {
    y = add(x, x)
    return y
  })")));
}

FloatContract ContractOf(const std::string& rule) {
  ProverOptions options;
  options.keep_obligations = true;
  Verdict verdict = ProveText(rule, options);
  EXPECT_TRUE(IsProved(verdict)) << ToString(verdict);
  return IsProved(verdict) ? std::get<Proved>(verdict).contract : FloatContract::kBitExact;
}

// (x + y) - y = x, unless y is infinite; the other output reads y on both sides.
TEST(Contract, AnInputThatOneSideDoesNotReadMayBeInfinite) {
  EXPECT_EQ(ContractOf(R"(rule r(x: [n], y: [n]) real_only {
      s = add(x, y)
      z = sub(s, y)
      n = neg(y)
      return z, n
    } => {
      n = neg(y)
      return x, n
    })"),
            FloatContract::kRealOnly);
  EXPECT_EQ(ContractOf(R"(rule r(x: [n], y: [n]) real_only {
      s = add(x, y)
      z = mul(x, s)
      return z
    } => {
      a = mul(x, x)
      b = mul(y, x)
      z = add(a, b)
      return z
    })"),
            FloatContract::kReassociates);
}

// Each half of the product reads one weight, although the whole product reads both.
TEST(Contract, WhatGuardsExcludeIsNotRead) {
  EXPECT_EQ(ContractOf(R"(rule r(x: [m,k], a: [k,n1], b: [k,n2]) real_only {
      p = matmul(x, a)
      q = matmul(x, b)
      s = add(p, p)
      return s, q
    } => {
      w = concat(a, b) {axis = 1}
      y = matmul(x, w)
      p, q = split(y) {axis = 1, sizes = [n1, n2]}
      two = constant [] fill 2.0
      s = mul(p, two)
      return s, q
    })"),
            FloatContract::kReassociates);
}

// The rows of y are not read, but that shows only after the reshape is simplified.
TEST(Contract, WhatReshapedGuardsExcludeIsNotRead) {
  EXPECT_EQ(ContractOf(R"(rule r(x: [m,k], y: [m,k], w: [k,n]) real_only {
      c = concat(x, y) {axis = 0}
      p = matmul(c, w)
      r = reshape(p) {shape = [2, m, n]}
      z = slice(r) {starts = [0, 0, 0], sizes = [1, m, n], steps = [1, 1, 1]}
      return z
    } => {
      s = add(x, y)
      d = sub(s, y)
      p = matmul(d, w)
      z = reshape(p) {shape = [1, m, n]}
      return z
    })"),
            FloatContract::kRealOnly);
}

TEST(Prover, CounterexamplesAreSmall) {
  Verdict verdict = ProveText(R"(
    rule wrong(x: [m,n]) reassociates {
      y = reduce_sum(x) {axes = [1]}
      return y
    } => {
      y = reduce_max(x) {axes = [1]}
      return y
    })");
  ASSERT_TRUE(IsRefuted(verdict)) << ToString(verdict);
  EXPECT_EQ(std::get<Refuted>(verdict).values.at("m"), "1");
  EXPECT_EQ(std::get<Refuted>(verdict).values.at("n"), "2");
}

// Any solver can answer the queries of the log again.
TEST(Prover, LogsWhatCanBeRepeated) {
  ProverOptions options;
  options.keep_obligations = true;
  Verdict verdict = ProveText(R"(
    rule halves(x: [m+n]) reassociates {
      p, q = split(x) {axis = 0, sizes = [m, n]}
      a = reduce_sum(p) {axes = [0]}
      b = reduce_sum(q) {axes = [0]}
      z = add(a, b)
      return z
    } => {
      z = reduce_sum(x) {axes = [0]}
      return z
    })",
                              options);
  ASSERT_TRUE(IsProved(verdict)) << ToString(verdict);
  const ProofLog& log = std::get<Proved>(verdict).log;
  EXPECT_FALSE(log.queries.empty());
  EXPECT_FALSE(log.steps.empty());
  prover::Solver solver;
  for (const ProofLog::Query& query : log.queries) {
    EXPECT_EQ(solver.Check(query.smt2, 1000000), prover::Satisfiable::kNo) << query.smt2;
  }
}

TEST(Prover, TheIdChangesWithTheStatement) {
  const std::string rule = R"(rule r(x: [n]) bit_exact {
      y = relu(x)
      z = relu(y)
      return z
    } => {
      z = relu(x)
      return z
    })";
  Verdict a = ProveText(rule);
  std::string other = rule;
  other.replace(other.find("[n]"), 3, "[n,n]");
  Verdict b = ProveText(other);
  ASSERT_TRUE(IsProved(a) && IsProved(b)) << ToString(a) << ToString(b);
  EXPECT_NE(std::get<Proved>(a).id, std::get<Proved>(b).id);
}

TEST(Prover, TheCoverageSaysWhatIsRequiredOnceAndNotThatSizesArePositive) {
  Verdict verdict = ProveText(R"(
    rule parts(x: [m,n,2]) bit_exact where n >= 1, 2 <= m, m >= 2 {
      y = slice(x) {starts = [0, a, 0], sizes = [m, b, 2]}
      z = relu(y)
      return z
    } => {
      y = relu(x)
      z = slice(y) {starts = [0, a, 0], sizes = [m, b, 2]}
      return z
    })");
  ASSERT_TRUE(IsProved(verdict)) << ToString(verdict);
  EXPECT_EQ(std::get<Proved>(verdict).coverage,
            "all sizes >= 1 with (b == 0 or (0 <= a and (a + b) <= n)), 0 <= b, 2 <= m");
}

// x to the power of 2^40, with each factor written out, ends with an answer and not for lack of
// memory.
TEST(Prover, LargeExpressionsAreUnknown) {
  std::string body = "a0 = neg(x)\n";
  for (int i = 0; i < 40; ++i) {
    const std::string a = absl::StrCat("a", i);
    absl::StrAppend(&body, "a", i + 1, " = mul(", a, ", ", a, ")\n");
  }
  Verdict verdict =
      ProveText(absl::StrCat("rule r(x: [n]) real_only {\n", body, "return a40\n} => {\n", body,
                             "y = neg(a40)\nz = neg(y)\nreturn z\n}"));
  ASSERT_TRUE(std::holds_alternative<Unknown>(verdict)) << ToString(verdict);
  EXPECT_EQ(std::get<Unknown>(verdict).reason, "output 0: the expression is too large");
}

}  // namespace
}  // namespace lemma
