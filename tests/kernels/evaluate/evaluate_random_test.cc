// Random definitions, evaluated by loop nests and naively. A failure prints its seed.
#include <random>

#include "graph/expr/compose.h"
#include "gtest/gtest.h"
#include "kernels/loops/bounds.h"
#include "tests/kernels/loops/definition_testutil.h"

namespace lemma {
namespace {

// Draws definitions of one to three tensors. Every read is in bounds: its indices are reduced
// into range, guarded, or plain where the sizes allow.
class Generator {
 public:
  explicit Generator(uint32_t seed) : random_(seed) {}

  Definition Draw() {
    for (int i = Below(2) + 1; i > 0; --i) dims_.push_back(DrawDims());
    for (auto& dims : dims_) builder_.Input(dims);
    builder_.Input({4, 3}, DType::kI64);
    dims_.push_back({4, 3});
    integers_ = static_cast<TensorId>(dims_.size()) - 1;
    for (int i = Below(3) + 1; i > 0; --i) {
      std::vector<int64_t> dims = DrawDims();
      auto body = [&](const Idx& o) {
        scope_.clear();
        for (size_t d = 0; d < dims.size(); ++d) scope_.push_back({o[d], dims[d]});
        shared_.clear();
        return Scalar(3);
      };
      Idx out(dims.begin(), dims.end());
      i > 1 && Below(2) == 0 ? builder_.Local(out, body) : builder_.Output(out, body);
      dims_.push_back(dims);
    }
    return builder_.definition();
  }

 private:
  struct Var {
    IndexExpr e;
    int64_t extent;
  };

  int64_t Below(int64_t n) { return static_cast<int64_t>(random_() % n); }

  std::vector<int64_t> DrawDims() {
    std::vector<int64_t> dims;
    for (int64_t rank = Below(4); rank > 0; --rank) {
      dims.push_back(Below(6) == 0 ? 20 + Below(20) : 1 + Below(6));
    }
    return dims;
  }

  IndexExpr Index() {
    IndexExpr e = Below(4) - 1;
    for (int i = 0; i < 2 && !scope_.empty(); ++i) {
      const Var& v = scope_[Below(scope_.size())];
      switch (Below(6)) {
        case 0:
          e = e + v.e * (Below(5) - 2);
          break;
        case 1:
          e = e + FloorDiv(v.e + Below(3), 1 + Below(4));
          break;
        case 2:
          e = e + Mod(v.e * 3 + Below(5), 1 + Below(5));
          break;
        case 3:
          e = Below(2) == 0 ? Min(e, v.e) : Max(v.e, e);
          break;
        default:
          e = e + v.e;
      }
    }
    return e;
  }

  Guard Condition() {
    Guard g = Below(3) == 0 ? Eq(Index(), Index()) : Le(Index(), Index());
    if (Below(4) == 0) g = g && Le(Index(), Index());
    if (Below(6) == 0) g = g || Eq(Mod(Index(), 2), 0);
    return Below(5) == 0 ? !g : g;
  }

  ScalarExpr DrawRead() {
    TensorId t = static_cast<TensorId>(Below(dims_.size()));
    Guard inside = true;
    Idx indices;
    for (int64_t dim : dims_[t]) {
      // A variable that fits, one that wraps around, or one under a guard.
      const Var* v = scope_.empty() ? nullptr : &scope_[Below(scope_.size())];
      IndexExpr index = Index();
      if (v != nullptr && v->extent <= dim && Below(4) != 0) {
        index = Below(4) == 0 ? dim - 1 - v->e : v->e;
      } else if (Below(8) == 0) {
        index = Mod(Load(Read(integers_, {Mod(index, 4), Below(3)})) + index, dim);
      } else if (Below(2) == 0) {
        index = Mod(index, dim);
      } else {
        inside = inside && InRange(index, dim);
      }
      indices.push_back(index);
    }
    return ScalarExpr::Select(inside, Read(t, indices), Below(2));
  }

  ScalarExpr DrawReduce(int depth) {
    std::vector<Axis> axes;
    const size_t outside = scope_.size();
    auto shared = shared_;
    for (int64_t n = 1 + Below(2); n > 0; --n) {
      int64_t extent = Below(5) == 0 ? 10 + Below(30) : 1 + Below(4);
      Axis axis{builder_.NewVar(), extent};
      if (!scope_.empty() && Below(5) == 0) {
        const Var& v = scope_[Below(scope_.size())];
        axis.extent = v.e + Below(2);
        extent = v.extent;
      }
      axes.push_back(axis);
      scope_.push_back({IndexExpr::Var(axis.var), extent});
    }
    Guard where = Below(3) == 0 ? Condition() : Guard(true);
    ScalarExpr body = Scalar(depth - 1);
    // Often a contraction.
    if (Below(2) == 0) body = DrawRead() * DrawRead();
    scope_.resize(outside);
    shared_ = shared;
    ReduceKind kinds[] = {ReduceKind::kSum, ReduceKind::kSum, ReduceKind::kMax, ReduceKind::kMin};
    return ScalarExpr::Reduce(kinds[Below(4)], axes, where, body);
  }

  ScalarExpr Scalar(int depth) {
    if (!shared_.empty() && Below(4) == 0) return shared_[Below(shared_.size())];
    ScalarExpr e = Draw(depth);
    shared_.push_back(e);
    return e;
  }

  ScalarExpr Draw(int depth) {
    if (depth == 0) return Below(4) == 0 ? ScalarExpr(Below(3)) : DrawRead();
    switch (Below(7)) {
      case 0:
        return DrawRead();
      case 1:
      case 2:
        return DrawReduce(depth);
      case 3:
        return ScalarExpr::Select(Condition(), Scalar(depth - 1), Scalar(depth - 1));
      case 4:
        return ScalarExpr::Index(Index()) + Scalar(depth - 1);
      default: {
        ScalarFn fns[] = {ScalarFn::kAdd, ScalarFn::kSub,  ScalarFn::kMul,  ScalarFn::kMax,
                          ScalarFn::kMin, ScalarFn::kLess, ScalarFn::kWhere};
        ScalarFn fn = fns[Below(7)];
        std::vector<ScalarExpr> args;
        for (int i = 0; i < Info(fn).arity; ++i) args.push_back(Scalar(depth - 1));
        return ScalarExpr::Apply(fn, args);
      }
    }
  }

  std::mt19937 random_;
  DefinitionBuilder builder_;
  std::vector<std::vector<int64_t>> dims_;
  TensorId integers_ = -1;
  std::vector<Var> scope_;
  std::vector<ScalarExpr> shared_;
};

TEST(EvaluateRandom, AgreesWithNaive) {
  for (uint32_t seed = 1; seed <= 250 && !testing::Test::HasFatalFailure(); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Definition d = Generator(seed).Draw();
    ExpectEvaluatesAsNaively(d, seed);
    ExpectEvaluatesAsNaively(Inline(d), seed);
  }
}

}  // namespace
}  // namespace lemma
