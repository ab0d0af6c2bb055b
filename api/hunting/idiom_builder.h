// Draws random shapes, numbers and operators, to build random models of idioms: patterns of
// operators that engines recognize and fuse (idioms.h).
#ifndef LEMMA_API_HUNTING_IDIOM_BUILDER_H_
#define LEMMA_API_HUNTING_IDIOM_BUILDER_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/builder.h"
#include "graph/graph.h"

namespace lemma::hunt {

// Builds one graph. Derived classes add the operators. An operator fails if its operands or
// attributes are not well-formed, or if its result has more than 4096 elements. After a failure,
// all further operators give empty values, and Build returns nullopt.
class IdiomBuilder {
 public:
  explicit IdiomBuilder(uint64_t seed) : random_(seed), builder_("idiom") {}

  // The graph with this output; nullopt after a failure. Call it only once.
  std::optional<Graph> Build(const Value& y) {
    if (failed_) return std::nullopt;
    builder_.Output("y", y);
    auto graph = std::move(builder_).Build();
    if (!graph.ok()) return std::nullopt;
    return *std::move(graph);
  }

 protected:
  using Ints = std::vector<int64_t>;

  // Uniform in [0, n).
  int64_t Below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
  // True with probability 1 / one_in.
  bool Sometimes(int64_t one_in) { return Below(one_in) == 0; }
  template <typename T>
  T OneOf(const std::vector<T>& all) {
    return all[Below(static_cast<int64_t>(all.size()))];
  }
  std::string OneName(const std::vector<std::string>& names) { return OneOf(names); }

  int64_t Size() { return OneOf<int64_t>({1, 2, 3, 4, 5, 8}); }
  Shape AnyShape(int64_t least_rank = 1) {
    Shape shape;
    for (int64_t rank = least_rank + Below(3); rank > 0; --rank) shape.push_back(Size());
    return shape;
  }
  // An axis of x, most often the last one; the last axis may be written as -1.
  int64_t Axis(const Value& x) {
    const int64_t rank = x.type().rank();
    return rank == 0 ? 0 : Sometimes(3) ? Below(rank) : Sometimes(2) ? -1 : rank - 1;
  }
  Ints Permutation(int64_t rank) {
    Ints perm(rank);
    for (int64_t i = 0; i < rank; ++i) perm[i] = i;
    if (rank >= 2 && Sometimes(2)) {
      std::swap(perm[rank - 1], perm[rank - 2]);
    } else {
      std::shuffle(perm.begin(), perm.end(), random_);
    }
    return perm;
  }

  // `right` with probability 3/4 or more, otherwise another number.
  double Near(double right) {
    if (!Sometimes(4)) return right;
    return OneOf<double>({0, 1, -1, 2, 3, 4, right * 1.01, right * 2, -right, 0.5});
  }
  // A random multiple of 0.001 in [-2, 2].
  double Real() { return static_cast<double>(Below(4001)) / 1000 - 2; }

  // A new input.
  Value X(const Shape& shape, DType dtype = DType::kF32) {
    return builder_.Input(absl::StrCat("x", names_++), {dtype, shape});
  }
  Value Filled(const Shape& shape, double value, DType dtype = DType::kF32) {
    return builder_.Constant(*Tensor::Filled({dtype, shape}, value));
  }
  // A new weight with random values, all positive with probability 1/2.
  Value W(const Shape& shape) {
    std::vector<double> values(static_cast<size_t>(NumElements(shape)));
    const bool positive = Sometimes(2);
    for (double& value : values) value = positive ? std::fabs(Real()) + 0.125 : Real();
    return builder_.Weight(absl::StrCat("w", names_++),
                           *Tensor::FromDoubles({DType::kF32, shape}, values));
  }
  // A constant with this number: a scalar, or a tensor of one or two dimensions of size 1.
  Value Number(double value, DType dtype = DType::kF32) {
    return Filled(Shape(Sometimes(3) ? Below(3) : 0, 1), value, dtype);
  }

  // The result of an operator. Swaps the operands of add and mul with probability 1/2.
  Value Op(const std::string& op, std::vector<Value> operands, Attrs attrs = {}) {
    if (failed_) return {};
    static const std::set<std::string> swapped = {"add", "mul"};
    if (swapped.count(op) > 0 && Sometimes(2)) std::swap(operands[0], operands[1]);
    auto result = builder_.Op(op, std::move(operands), std::move(attrs));
    failed_ = !result.ok() || result->type().num_elements() > 4096;
    return failed_ ? Value() : *result;
  }
  Shape ShapeOf(const Value& x) { return failed_ ? Shape{1} : x.shape(); }
  int64_t RankOf(const Value& x) { return static_cast<int64_t>(ShapeOf(x).size()); }

  Value Unary(const Value& x) {
    return Op(OneName({"relu", "tanh", "sigmoid", "neg", "abs", "exp", "softplus", "elu", "silu",
                       "leaky_relu", "hard_sigmoid", "hard_swish", "erf", "softsign"}),
              {x});
  }
  // A random function of x with probability 1/3, otherwise x itself.
  Value Maybe(const Value& x) { return Sometimes(3) ? Unary(x) : x; }
  // x * by, as a product or as a quotient.
  Value Scaled(const Value& x, double by) {
    return Sometimes(2) ? Op("mul", {x, Number(by)}) : Op("div", {x, Number(1 / by)});
  }

  std::mt19937_64 random_;
  bool failed_ = false;

 private:
  GraphBuilder builder_;
  int names_ = 0;
};

// As RandomIdiom (idioms.h), but only idioms of element-wise operators, normalizations, products
// and attention.
std::optional<Graph> RandomArithmeticIdiom(uint64_t seed);
// As RandomIdiom, but only idioms of convolutions, poolings, transposes, slices and the like.
std::optional<Graph> RandomLayoutIdiom(uint64_t seed);

}  // namespace lemma::hunt

#endif  // LEMMA_API_HUNTING_IDIOM_BUILDER_H_
