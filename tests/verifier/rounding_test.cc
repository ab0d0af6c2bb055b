// A proof is bit_exact only if both sides round the same values at the same places.
#include "gtest/gtest.h"
#include "tests/verifier/prover_testutil.h"

namespace lemma {
namespace {

std::string ContractOf(const Verdict& verdict) {
  auto* proved = std::get_if<Proved>(&verdict);
  return proved != nullptr ? Name(proved->contract) : ToString(verdict);
}

std::string Contract(const std::string& rule) { return ContractOf(ProveText("rule r" + rule)); }

TEST(Rounding, OneOperatorRoundsOnceAndTwoTwice) {
  EXPECT_EQ(Contract(R"((x: [n]) bit_exact { y = silu(x) return y } =>
                        { s = sigmoid(x) y = mul(x, s) return y })"),
            "reassociates");
  EXPECT_EQ(Contract(R"((x: [n,c,h,w], f: [k,c,r,s], b: [k]) bit_exact {
                          y = conv2d(x, f, b)
                          return y
                        } => {
                          p = conv2d(x, f)
                          a = reshape(b) {shape = [k,1,1]}
                          y = add(p, a)
                          return y
                        })"),
            "reassociates");
  EXPECT_EQ(Contract(R"((x: [m,n]) bit_exact { s = softmax(x) {axis = 1} y = log(s) return y } =>
                        { y = log_softmax(x) {axis = 1} return y })"),
            "real_only");
}

// Values inside an operator are not stored, so not rounded.
TEST(Rounding, WhatAnOperatorHasInsideIsNotRounded) {
  EXPECT_EQ(Contract(R"((x: [m,n]) bit_exact {
                          y = softmax(x) {axis = 1}
                          return y
                        } => {
                          a = reduce_max(x) {axes = [1], keepdims = 1}
                          d = sub(x, a)
                          e = exp(d)
                          s = reduce_sum(e) {axes = [1], keepdims = 1}
                          y = div(e, s)
                          return y
                        })"),
            "reassociates");
}

// x + x and its cube. The lists give, for each tensor, the operator that computes it.
Statement SumAndCube(std::vector<int> source, std::vector<int> target, std::vector<int> outputs) {
  Statement statement;
  const IndexExpr n = IndexExpr::Symbol("n");
  Definition d;
  d.inputs = {{DType::kF32, {n}}};
  auto read = [](TensorId id, VarId var) { return ScalarExpr::Read(id, {IndexExpr::Var(var)}); };
  d.tensors = {{DType::kF32, {{0, n}}, read(0, 0) + read(0, 0)},
               {DType::kF32, {{1, n}}, read(1, 1) * read(1, 1) * read(1, 1)}};
  d.outputs = {outputs.begin(), outputs.end()};
  d.num_vars = 2;
  statement.source = statement.target = d;
  statement.source_operators = std::move(source);
  statement.target_operators = std::move(target);
  return statement;
}

// Also if one of the operator's own tensors that it reads is an output.
TEST(Rounding, AnOperatorReadsItsOwnUnrounded) {
  for (const std::vector<int>& outputs : {std::vector<int>{2}, {1, 2}}) {
    const Statement one = SumAndCube({0, 0}, {0, 0}, outputs);
    const Statement two = SumAndCube({0, 1}, {0, 1}, outputs);
    const Statement both = SumAndCube({0, 0}, {0, 1}, outputs);
    EXPECT_EQ(ContractOf(Prove(one)), "bit_exact");
    EXPECT_EQ(ContractOf(Prove(two)), "bit_exact");
    EXPECT_EQ(ContractOf(Prove(both)), "reassociates");
    EXPECT_NE(ProofId(one), ProofId(two));
    EXPECT_NE(ProofId(one), ProofId(both));
  }
}

TEST(Rounding, MovingAndChoosingRoundNothing) {
  EXPECT_EQ(Contract(R"((x: [m,k], a: [k,n1], b: [k,n2]) bit_exact {
                          p = matmul(x, a)
                          q = matmul(x, b)
                          y = concat(p, q) {axis = 1}
                          return y
                        } => {
                          w = concat(a, b) {axis = 1}
                          y = matmul(x, w)
                          return y
                        })"),
            "bit_exact");
  EXPECT_EQ(Contract(R"((x: [m,n], y: [m,n]) bit_exact {
                          s = add(x, y)
                          r = relu(s)
                          t = transpose(r) {perm = [1, 0]}
                          return t
                        } => {
                          a = transpose(x) {perm = [1, 0]}
                          b = transpose(y) {perm = [1, 0]}
                          s = add(b, a)
                          r = relu(s)
                          t = relu(r)
                          return t
                        })"),
            "bit_exact");
  EXPECT_EQ(Contract(R"((x: [n], y: [n]) bit_exact { s = sub(x, y) a = abs(s) return a } =>
                        { m = neg(y) s = add(x, m) a = abs(s) b = abs(a) c = relu(b) return c })"),
            "reassociates");  // that abs(s) is not negative is a law of numbers
}

TEST(Rounding, WhatIsLeftAloneIsNotRoundedAgain) {
  EXPECT_EQ(Contract(R"((x: [n], y: [n]) bit_exact { s = mul(x, y) a = neg(s) b = neg(a) return b }
                        => { s = mul(y, x) return s })"),
            "bit_exact");
  EXPECT_EQ(Contract(R"((x: [n], y: [n], z: [n]) bit_exact { s = add(x, y) t = add(s, z) return t }
                        => { s = add(y, x) t = add(z, s) return t })"),
            "bit_exact");
  EXPECT_EQ(Contract(R"((x: [n], y: [n], z: [n]) bit_exact { s = add(x, y) t = add(s, z) return t }
                        => { s = add(y, z) t = add(x, s) return t })"),
            "reassociates");
}

}  // namespace
}  // namespace lemma
