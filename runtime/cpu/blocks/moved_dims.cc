#include "runtime/cpu/blocks/moved_dims.h"

#include <algorithm>
#include <set>

#include "graph/expr/free_vars.h"
#include "graph/expr/simplify.h"
#include "graph/expr/substitute.h"
#include "runtime/cpu/blocks/carried_dims.h"

namespace lemma::cpu {
namespace {

// Most positions that MovesBlock compares one by one in a dimension.
constexpr int64_t kMostPositions = int64_t{1} << 16;

// The stride that the digit of variable `var` has in `e`; 0 if `e` does not depend on it. The
// answer is a guess: nothing is known about the other terms of a sum.
std::optional<int64_t> StrideIn(const IndexExpr& e, VarId var, int64_t stride, int64_t extent,
                                int64_t* inner) {
  switch (e.kind()) {
    case IndexExpr::Kind::kConst:
      return 0;
    case IndexExpr::Kind::kVar:
      return e.var() == var ? stride : 0;
    case IndexExpr::Kind::kAdd: {
      const auto a = StrideIn(e.lhs(), var, stride, extent, inner);
      const auto b = StrideIn(e.rhs(), var, stride, extent, inner);
      if (!a || !b || (*a > 0 && *b > 0)) return std::nullopt;
      return *a + *b;
    }
    case IndexExpr::Kind::kMul: {
      const bool left = e.lhs().is_const();
      const IndexExpr& factor = left ? e.lhs() : e.rhs();
      const auto a = StrideIn(left ? e.rhs() : e.lhs(), var, stride, extent, inner);
      if (!a || *a == 0) return a;
      if (!factor.is_const() || factor.value() <= 0) return std::nullopt;
      return *a * factor.value();
    }
    case IndexExpr::Kind::kFloorDiv:
    case IndexExpr::Kind::kMod: {
      const auto a = StrideIn(e.lhs(), var, stride, extent, inner);
      if (!a || *a == 0) return a;
      if (!e.rhs().is_const() || e.rhs().value() <= 0) return std::nullopt;
      const int64_t divisor = e.rhs().value();
      const bool quotient = e.kind() == IndexExpr::Kind::kFloorDiv;
      if (*a % divisor == 0) return quotient ? *a / divisor : 0;
      if (divisor % (*a * extent) == 0) return quotient ? 0 : *a;
      if (divisor % *a == 0 && extent % (divisor / *a) == 0) *inner = divisor / *a;
      return std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

void AddConstants(const IndexExpr& e, std::set<int64_t>* constants) {
  switch (e.kind()) {
    case IndexExpr::Kind::kConst:
      if (e.value() > 0) constants->insert(e.value());
      return;
    case IndexExpr::Kind::kAdd:
    case IndexExpr::Kind::kMul:
    case IndexExpr::Kind::kFloorDiv:
    case IndexExpr::Kind::kMod:
      AddConstants(e.lhs(), constants);
      AddConstants(e.rhs(), constants);
      return;
    default:
      return;
  }
}

// Dimensions of the results on which the positions in dimension `d` of the inputs depend.
std::vector<size_t> DependsOn(const MovedDims& whole, const MovedDims& block, size_t d) {
  FreeVars free;
  const VarSet of_whole = free.Of(whole.at[d]), of_block = free.Of(block.at[d]);
  std::vector<size_t> dims;
  for (size_t i = 0; i < whole.vars.size(); ++i) {
    if (Contains(of_whole, whole.vars[i]) || Contains(of_block, block.vars[i])) dims.push_back(i);
  }
  return dims;
}

std::optional<int64_t> At(const MovedDims& moved, size_t d, const std::vector<int64_t>& index) {
  IndexEnv env;
  env.var = [&](VarId var) -> std::optional<int64_t> {
    for (size_t i = 0; i < moved.vars.size(); ++i) {
      if (moved.vars[i] == var) return index[i];
    }
    return std::nullopt;
  };
  return EvaluateIndex(moved.at[d], env);
}

// Whether the ranges of the indices show that the positions in dimension `d` are those of the
// block.
bool SimplifyToTheSame(const MovedDims& whole, int64_t begin, const std::vector<Range>& of_result,
                       const MovedDims& block, size_t d) {
  if (whole.vars != block.vars) return false;
  Simplifier simplifier;
  ExprSubstitution at;
  for (size_t i = 0; i < whole.vars.size(); ++i) {
    simplifier.SetExtent(whole.vars[i], of_result[i].size);
    at.vars[whole.vars[i]] = of_result[i].size == 1
                                 ? IndexExpr(of_result[i].begin)
                                 : IndexExpr::Var(whole.vars[i]) + of_result[i].begin;
  }
  const IndexExpr there = simplifier.Simplify(Substitute(whole.at[d], at));
  const IndexExpr here = simplifier.Simplify(block.at[d] + begin);
  return there.ToString() == here.ToString();
}

}  // namespace

std::optional<MovedDims> MovedDimsOf(const Node& node) {
  if (!node.is_op() || node.inputs().size() != 1) return std::nullopt;
  // The definition of a cast looks like a move.
  if (node.inputs()[0].dtype() != node.type(0).dtype) return std::nullopt;
  const std::optional<Definition> definition = InlinedDefinition(node);
  if (!definition || definition->tensors[0].body.kind() != ScalarExpr::Kind::kRead) {
    return std::nullopt;
  }
  MovedDims moved{node.inputs()[0].shape(), node.type(0).shape, {}, {}};
  for (const Axis& axis : definition->tensors[0].axes) moved.vars.push_back(axis.var);
  moved.at = definition->tensors[0].body.indices();
  return moved;
}

std::optional<Digit> DigitOfInput(const MovedDims& moved, const Digit& of_result, int64_t extent,
                                  int64_t* inner) {
  if (NumElements(moved.from) != NumElements(moved.to)) return std::nullopt;
  Digit found;
  for (size_t d = 0; d < moved.at.size(); ++d) {
    const std::optional<int64_t> stride =
        StrideIn(moved.at[d], moved.vars[of_result.dim], of_result.stride, extent, inner);
    if (!stride) return std::nullopt;
    if (*stride == 0) continue;
    if (found.dim >= 0) return std::nullopt;
    found = {static_cast<int>(d), *stride};
  }
  return found;
}

std::optional<Digit> DigitOfResult(const MovedDims& moved, const Digit& of_input, int64_t extent,
                                   int64_t* inner) {
  std::set<int64_t> constants = {1};
  for (const IndexExpr& at : moved.at) AddConstants(at, &constants);
  for (const int64_t part : {int64_t{1}, int64_t{0}}) {  // the whole digit, or else an inner part
    for (auto size = constants.rbegin(); size != constants.rend(); ++size) {
      int64_t wanted = extent;
      if (part == 0) {
        if (*size % of_input.stride != 0) continue;
        wanted = *size / of_input.stride;
        if (wanted <= 1 || wanted >= extent || extent % wanted != 0) continue;
      }
      for (size_t d = 0; d < moved.to.size(); ++d) {
        for (const int64_t over : constants) {
          for (const int64_t under : constants) {
            if (of_input.stride * over % under != 0) continue;
            const Digit digit{static_cast<int>(d), of_input.stride * over / under};
            if (moved.to[d] % (digit.stride * wanted) != 0) continue;
            int64_t ignored = 0;
            if (DigitOfInput(moved, digit, wanted, &ignored) != of_input) continue;
            if (part == 1) return digit;
            *inner = wanted;
            return std::nullopt;
          }
        }
      }
      if (part == 1) break;
    }
  }
  return std::nullopt;
}

bool MovesBlock(const MovedDims& whole, const std::vector<Range>& of_input,
                const std::vector<Range>& of_result, const MovedDims& block) {
  for (size_t d = 0; d < whole.at.size(); ++d) {
    const std::vector<size_t> dims = DependsOn(whole, block, d);
    if (SimplifyToTheSame(whole, of_input[d].begin, of_result, block, d)) continue;
    int64_t positions = 1;
    for (const size_t i : dims) positions *= of_result[i].size;
    if (positions > kMostPositions) return false;
    std::vector<int64_t> in_block(whole.vars.size(), 0), in_whole(whole.vars.size(), 0);
    for (int64_t p = 0; p < positions; ++p) {
      int64_t rest = p;
      for (const size_t i : dims) {
        in_block[i] = rest % of_result[i].size;
        in_whole[i] = of_result[i].begin + in_block[i];
        rest /= of_result[i].size;
      }
      const std::optional<int64_t> there = At(whole, d, in_whole), here = At(block, d, in_block);
      if (!there || !here || *there != of_input[d].begin + *here) return false;
    }
  }
  return true;
}

}  // namespace lemma::cpu
