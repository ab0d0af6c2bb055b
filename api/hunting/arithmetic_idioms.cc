// Patterns of activations, normalizations and products.
#include "api/hunting/idiom_builder.h"

namespace lemma::hunt {
namespace {

class ArithmeticIdioms : public IdiomBuilder {
 public:
  using IdiomBuilder::IdiomBuilder;

  std::optional<Graph> Make() {
    using Idiom = Value (ArithmeticIdioms::*)();
    static constexpr Idiom kIdioms[] = {
        &ArithmeticIdioms::Gelu,          &ArithmeticIdioms::TanhGelu,
        &ArithmeticIdioms::QuickGelu,     &ArithmeticIdioms::Normalization,
        &ArithmeticIdioms::Normalization, &ArithmeticIdioms::Dense,
        &ArithmeticIdioms::Transposed,    &ArithmeticIdioms::Clips,
        &ArithmeticIdioms::Casts,         &ArithmeticIdioms::Neutral,
        &ArithmeticIdioms::Choice,        &ArithmeticIdioms::Infinities,
        &ArithmeticIdioms::Attention};
    return Build((this->*kIdioms[Below(std::size(kIdioms))])());
  }

 private:
  Value Gelu() {
    const Value x = Maybe(X(AnyShape()));
    const Value e = Op("erf", {Scaled(x, Near(std::sqrt(0.5)))});
    const Value s = Op("add", {e, Number(Near(1))});
    if (Sometimes(2)) return Op("mul", {Scaled(x, Near(0.5)), s});
    return Scaled(Op("mul", {x, s}), Near(0.5));
  }

  Value TanhGelu() {
    const Value x = Maybe(X(AnyShape()));
    const Value cube =
        Sometimes(2) ? Op("pow", {x, Number(Near(3))}) : Op("mul", {x, Op("mul", {x, x})});
    const Value inner = Op("add", {x, Op("mul", {cube, Number(Near(0.044715))})});
    const Value t = Op("tanh", {Op("mul", {inner, Number(Near(0.7978845608))})});
    const Value s = Op("add", {t, Number(Near(1))});
    return Op("mul", {Op("mul", {x, Number(Near(0.5))}), s});
  }

  Value QuickGelu() {
    const Value x = Maybe(X(AnyShape()));
    const Value other = Sometimes(5) ? X(ShapeOf(x)) : x;
    return Op("mul", {other, Op("sigmoid", {Op("mul", {x, Number(Near(1.702))})})});
  }

  Value Mean(const Value& x, const Ints& axes) {
    return Op("reduce_mean", {x}, {{"axes", axes}, {"keepdims", int64_t{1}}});
  }

  // A layer normalization, or one without means, written out.
  Value Normalization() {
    Value x = X(AnyShape());
    if (Sometimes(2)) x = Op("add", {x, Sometimes(2) ? X(ShapeOf(x)) : W({ShapeOf(x).back()})});
    const Ints axes = Sometimes(4) ? Ints{Axis(x), 0} : Ints{Axis(x)};
    const Value d = Sometimes(3) ? x : Op("sub", {x, Mean(x, axes)});
    const Value square = Sometimes(3) ? Op("mul", {d, d}) : Op("pow", {d, Number(Near(2))});
    const Value variance = Op("add", {Mean(square, axes), Number(Near(1e-5))});
    const Value root = Op("sqrt", {variance});
    Value y = Sometimes(3) ? Op("mul", {d, Op("reciprocal", {root})}) : Op("div", {d, root});
    const Shape last = Sometimes(4) ? Shape{1} : Shape{ShapeOf(x).back()};
    y = Op("mul", {y, W(last)});
    return Sometimes(3) ? y : Op("add", {y, W(Sometimes(4) ? ShapeOf(y) : last)});
  }

  Shape BiasShape(int64_t m, int64_t n) {
    return OneOf<Shape>({{n}, {n}, {1, n}, {m, 1}, {m, n}, {1}, {}, {1, 1, n}});
  }

  // A product with bias and activation.
  Value Dense() {
    const int64_t m = Size(), k = Size(), n = Size();
    Shape rows = {m, k};
    if (Sometimes(3)) rows.insert(rows.begin(), Size());
    const Value a = Maybe(X(rows)), b = Sometimes(4) ? X({k, n}) : W({k, n});
    Value y = Op("matmul", {a, b});
    if (Sometimes(4)) y = Op("mul", {y, Number(Real())});
    const Value bias = Sometimes(4) ? X(BiasShape(m, n)) : W(BiasShape(m, n));
    y = Op(Sometimes(6) ? "sub" : "add", {y, bias});
    return Sometimes(2) ? Unary(y) : y;
  }

  // Products of transposed and scaled operands.
  Value Transposed() {
    const int64_t m = Size(), k = Size(), n = Size(), batch = Size();
    const auto operand = [&](int64_t rows, int64_t columns) {
      Shape shape = {rows, columns};
      if (Sometimes(2)) shape.insert(shape.begin(), batch);
      const Ints perm = Permutation(static_cast<int64_t>(shape.size()));
      Shape before(shape.size());
      for (size_t i = 0; i < perm.size(); ++i) before[perm[i]] = shape[i];
      const Value t = Op("transpose", {X(before)}, {{"perm", perm}});
      return Sometimes(3) ? Op("mul", {t, Number(Real())}) : t;
    };
    const Value y = Op("matmul", {operand(m, k), operand(k, n)});
    if (!Sometimes(2)) return y;
    return Sometimes(2) ? Op("transpose", {y}, {{"perm", Permutation(RankOf(y))}})
                        : Scaled(y, 0.25 + std::fabs(Real()));
  }

  Value Clips() {
    Value y = Op("clip", {X(AnyShape())}, {{"min", Real()}, {"max", Real()}});
    for (int64_t i = Below(3); i >= 0; --i) {
      y = Clipped(y, Below(5));
    }
    return y;
  }

  Value Clipped(const Value& y, int64_t how) {
    Attrs attrs;
    switch (how) {
      case 0:
        if (!Sometimes(4)) attrs["min"] = Real();
        if (!Sometimes(4)) attrs["max"] = Real();
        return Op("clip", {y}, attrs);
      case 1:
        return Op("relu", {y});
      case 2:
        return Op("max", {y, Number(Real())});
      case 3:
        return Op("min", {y, Number(Real())});
      default:
        return Op("leaky_relu", {y});
    }
  }

  Value Casts() {
    Value y = X(AnyShape());
    for (int64_t i = 1 + Below(3); i > 0; --i) {
      y = Op("cast", {y}, {{"dtype", OneName({"f16", "f32", "f64", "i32", "i64", "i8", "bool"})}});
      if (!failed_ && y.dtype() == DType::kF32 && Sometimes(2)) y = Unary(y);
    }
    return Op("cast", {y}, {{"dtype", std::string("f32")}});
  }

  // Operations with a neutral element, or nearly so, whose shape may enlarge the result.
  Value Neutral() {
    Value y = Maybe(X(AnyShape()));
    for (int64_t i = Below(2); i >= 0; --i) {
      static constexpr const char* kNames[] = {"add", "sub", "mul", "div", "pow"};
      const int64_t which = Below(5);
      const std::string op = kNames[which];
      const double neutral = which < 2 ? 0 : 1;
      Shape shape = OneOf<Shape>({{}, {1}, {1, 1, 1, 1}, {ShapeOf(y).back()}, {3, 1}, ShapeOf(y)});
      const Value other = Filled(shape, Near(neutral));
      y = which < 4 && Sometimes(3) ? Op(op, {other, y}) : Op(op, {y, other});
    }
    return Maybe(y);
  }

  Value Choice() {
    const Shape shape = AnyShape();
    const Value x = X(shape);
    Value condition = Op(OneName({"less", "greater", "equal", "less_equal"}), {x, Number(Real())});
    for (int64_t i = Below(3); i > 0; --i) condition = Op("not", {condition});
    const Value a = Sometimes(2) ? Number(Real()) : Unary(x);
    return Op("where", {condition, a, Sometimes(2) ? x : X({shape.back()})});
  }

  Value Infinities() {
    const Value x = Unary(X(AnyShape()));
    const Value found = Op(Sometimes(2) ? "is_inf" : "is_nan", {x});
    const Value number = Op("cast", {found}, {{"dtype", OneName({"f32", "i64", "i32"})}});
    return Op(OneName({"reduce_sum", "reduce_max"}), {number},
              {{"axes", Ints{Axis(x)}}, {"keepdims", Below(2)}});
  }

  Value Attention() {
    const int64_t b = 1 + Below(2), h = 1 + Below(2), s = Size(), d = Size();
    const auto head = [&](const Ints& perm) {
      const Value x =
          Sometimes(2) ? Op("matmul", {X({b, s, h * d}), W({h * d, h * d})}) : X({b, s, h * d});
      const Value split = Op("reshape", {x}, {{"shape", Ints{b, s, h, d}}});
      return Op("transpose", {split}, {{"perm", perm}});
    };
    Value scores = Op("matmul", {head({0, 2, 1, 3}), head({0, 2, 3, 1})});
    scores = Scaled(scores, Near(1 / std::sqrt(static_cast<double>(d))));
    if (Sometimes(2)) {
      scores =
          Op("add", {scores, X(OneOf<Shape>({{b, 1, 1, s}, {s, s}, {b, h, s, s}, {1, 1, s, s}}))});
    }
    const Value p = Op("softmax", {scores}, {{"axis", Sometimes(5) ? int64_t{2} : int64_t{-1}}});
    const Value y =
        Op("transpose", {Op("matmul", {p, head({0, 2, 1, 3})})}, {{"perm", Ints{0, 2, 1, 3}}});
    return Op("reshape", {y}, {{"shape", Ints{b, s, h * d}}});
  }
};

}  // namespace

std::optional<Graph> RandomArithmeticIdiom(uint64_t seed) { return ArithmeticIdioms(seed).Make(); }

}  // namespace lemma::hunt
