// Patterns of convolutions and poolings, and of operators that only move elements.
#include "api/hunting/idiom_builder.h"

namespace lemma::hunt {
namespace {

class LayoutIdioms : public IdiomBuilder {
 public:
  using IdiomBuilder::IdiomBuilder;

  std::optional<Graph> Make() {
    using Idiom = Value (LayoutIdioms::*)();
    static constexpr Idiom kIdioms[] = {&LayoutIdioms::Convolution, &LayoutIdioms::Convolution,
                                        &LayoutIdioms::PaddedPool,  &LayoutIdioms::Transposes,
                                        &LayoutIdioms::Slices,      &LayoutIdioms::Gathers,
                                        &LayoutIdioms::Reshapes,    &LayoutIdioms::Expansions};
    return Build((this->*kIdioms[Below(std::size(kIdioms))])());
  }

 private:
  // Parameters of channels, or of something else by the broadcasting of their shape.
  Value ChannelWise(const Value& y) {
    const Shape s = ShapeOf(y);
    if (s.size() != 4) return Number(Real());
    const Shape shape = OneOf<Shape>({{1, s[1], 1, 1},
                                      {1, s[1], 1, 1},
                                      {s[1], 1, 1},
                                      {1},
                                      {},
                                      {1, 1, 1, s[3]},
                                      {1, 1, s[2], s[3]},
                                      {s[3]},
                                      s});
    return Sometimes(6) ? X(shape) : W(shape);
  }

  Value Pad(const Value& x) {
    const Ints pads = {0, Sometimes(4) ? Below(2) : 0, Below(3), Below(2),
                       0, Sometimes(6) ? Below(2) : 0, Below(2), Below(3)};
    Attrs attrs = {{"pads", pads}};
    if (Sometimes(4)) attrs["value"] = Real();
    if (Sometimes(6)) attrs["mode"] = OneName({"reflect", "edge"});
    return Op("pad", {x}, attrs);
  }

  Value Convolve(const Value& x) {
    const Shape s = ShapeOf(x);
    if (s.size() != 4) return x;
    const int64_t groups = Sometimes(4) ? s[1] : 1;
    const int64_t filters =
        groups * OneOf<int64_t>({1, 2, groups > 1 ? 1 : 8, groups > 1 ? 1 : 16});
    const int64_t r = 1 + Below(3), q = 1 + Below(3);
    std::vector<Value> operands = {x, W({filters, s[1] / groups, r, q})};
    if (Sometimes(2)) operands.push_back(W({filters}));
    Attrs attrs = {{"groups", groups}};
    if (Sometimes(2)) attrs["pads"] = Ints{Below(2), Below(2), Below(2), Below(2)};
    if (Sometimes(3)) attrs["strides"] = Ints{1 + Below(2), 1 + Below(2)};
    if (Sometimes(5)) attrs["dilations"] = Ints{1 + Below(2), 1 + Below(2)};
    return Op("conv2d", operands, attrs);
  }

  Value Pool(const Value& x) {
    Attrs attrs = {{"kernel", Ints{1 + Below(3), 1 + Below(3)}}};
    if (Sometimes(2)) attrs["strides"] = Ints{1 + Below(2), 1 + Below(2)};
    if (Sometimes(2)) attrs["pads"] = Ints{Below(2), Below(2), Below(2), Below(2)};
    if (Sometimes(3)) attrs["ceil_mode"] = int64_t{1};
    const bool is_average = Sometimes(2);
    if (is_average && Sometimes(2)) attrs["count_include_pad"] = int64_t{1};
    return Op(is_average ? "avg_pool2d" : "max_pool2d", {x}, attrs);
  }

  Value AfterConvolution(const Value& y) {
    const int64_t channels = ShapeOf(y).size() == 4 ? ShapeOf(y)[1] : 1;
    switch (Below(9)) {
      case 0:
        return Op("mul", {y, ChannelWise(y)});
      case 1:
        return Op(Sometimes(4) ? "sub" : "add", {y, ChannelWise(y)});
      case 2: {
        std::vector<Value> operands = {y};
        for (int i = 0; i < 3; ++i) operands.push_back(W({channels}));
        operands.push_back(Op("abs", {W({channels})}));
        return Op("batch_norm", operands, {{"epsilon", Near(1e-5)}});
      }
      case 3:
        return Op("clip", {y}, {{"min", Near(0)}, {"max", Near(6)}});
      case 4:
        return Op("leaky_relu", {y}, {{"alpha", Near(0.01)}});
      case 5:
        return Op("add", {y, X(ShapeOf(y))});
      case 6:
        return Pool(y);
      case 7:
        return Op("concat", {y, Sometimes(2) ? y : Unary(y)}, {{"axis", int64_t{1}}});
      default:
        return Unary(y);
    }
  }

  // With a pad before it and what engines fold into it or fuse behind it.
  Value Convolution() {
    const int64_t channels = OneOf<int64_t>({1, 2, 3, 4, 8, 16});
    Value x = X({1 + Below(2), channels, 3 + Below(4), 3 + Below(4)});
    if (Sometimes(3)) x = Pad(x);
    Value y = Convolve(x);
    for (int64_t i = Below(4); i >= 0; --i) y = AfterConvolution(y);
    return Sometimes(3) ? Convolve(y) : y;
  }

  Value PaddedPool() {
    const Value x = X({1 + Below(2), 1 + Below(3), 3 + Below(4), 3 + Below(4)});
    return Pool(Pad(Maybe(x)));
  }

  // Operators that a transpose can be moved past.
  Value Transposes() {
    Value x = X(AnyShape(2));
    const int64_t rank = x.type().rank();
    Value y = Op("transpose", {x}, {{"perm", Permutation(rank)}});
    for (int64_t i = 1 + Below(3); i > 0; --i) y = PastTranspose(y);
    const int64_t after = failed_ ? 1 : y.type().rank();
    return Op("transpose", {y}, {{"perm", Permutation(after)}});
  }

  Value PastTranspose(const Value& y) {
    const Shape s = ShapeOf(y);
    const auto rank = static_cast<int64_t>(s.size());
    if (rank == 0) return Unary(y);
    const int64_t axis = Below(rank);
    switch (Below(9)) {
      case 0:
        return Op(OneName({"reduce_sum", "reduce_max", "reduce_mean"}), {y},
                  {{"axes", Ints{Sometimes(2) ? axis - rank : axis}}, {"keepdims", Below(2)}});
      case 1:
        return Op("softmax", {y}, {{"axis", axis}});
      case 2:
        return Op("concat", {y, Unary(y)}, {{"axis", axis}});
      case 3: {
        Ints starts(rank, 0), sizes = s;
        starts[axis] = Below(s[axis]);
        sizes[axis] = s[axis] - starts[axis];
        return Op("slice", {y}, {{"starts", starts}, {"sizes", sizes}});
      }
      case 4:
        return Op("add", {y, W({s.back()})});
      case 5:
        return Op("mul", {y, X(Shape(s.begin() + Below(rank), s.end()))});
      case 6: {
        Ints pads(2 * rank, 0);
        pads[axis] = Below(2);
        pads[rank + Below(rank)] = 1;
        return Op("pad", {y}, {{"pads", pads}});
      }
      case 7:
        return Op(OneName({"argmax", "cumsum"}), {y}, {{"axis", axis}});
      default:
        return Unary(y);
    }
  }

  Value Part(const Value& x, int64_t axis, int64_t from, int64_t size) {
    Ints starts(ShapeOf(x).size(), 0), sizes = ShapeOf(x);
    starts[axis] = from;
    sizes[axis] = size;
    return Op("slice", {x}, {{"starts", starts}, {"sizes", sizes}});
  }

  // Slices of slices, and slices that are put together again.
  Value Slices() {
    const Value x = Maybe(X(AnyShape()));
    const int64_t axis = Below(static_cast<int64_t>(ShapeOf(x).size()));
    const int64_t size = ShapeOf(x)[axis], cut = Below(size + 1);
    const Value a = Part(x, axis, 0, cut), b = Part(x, axis, cut, size - cut);
    if (Sometimes(3)) return Op("concat", {b, a}, {{"axis", axis}});
    const Value y = Op("concat", {a, Maybe(b)}, {{"axis", axis}});
    return Sometimes(2) ? Part(y, axis, std::min(cut, size - 1), 1) : y;
  }

  // Parts of a value by constant positions, as for queries, keys and values.
  Value Gathers() {
    const Value x = Maybe(X(AnyShape()));
    const int64_t axis = Below(static_cast<int64_t>(ShapeOf(x).size()));
    const int64_t size = ShapeOf(x)[axis];
    Value y;
    for (int64_t i = 0; i < std::min<int64_t>(size, 3); ++i) {
      const int64_t at = Sometimes(4) ? Below(size) : i;
      const Shape shape = Sometimes(2) ? Shape{} : Shape{1};
      const Value index =
          Filled(shape, static_cast<double>(Sometimes(4) ? at - size : at), DType::kI64);
      const Value part = Op("gather", {x, index}, {{"axis", axis}});
      y = i == 0 ? part : Op(Sometimes(3) ? "sub" : "add", {y, Maybe(part)});
    }
    return y;
  }

  Value Reshapes() {
    Value y = Maybe(X(AnyShape()));
    for (int64_t i = 1 + Below(3); i > 0; --i) {
      Shape shape = ShapeOf(y);
      switch (Below(3)) {
        case 0:
          shape = {NumElements(shape)};
          break;
        case 1:
          shape.insert(shape.begin() + Below(static_cast<int64_t>(shape.size()) + 1), 1);
          break;
        default:
          std::shuffle(shape.begin(), shape.end(), random_);
      }
      y = Op("reshape", {Maybe(y)}, {{"shape", shape}});
      if (Sometimes(4)) {
        y = Op("transpose", {y}, {{"perm", Permutation(static_cast<int64_t>(shape.size()))}});
      }
    }
    return y;
  }

  // A value that is enlarged and used where the small one would do, or would not.
  Value Expansions() {
    const Shape large = AnyShape();
    Shape small = large;
    for (int64_t& size : small) size = Sometimes(2) ? 1 : size;
    const Value wide = Op("expand", {Maybe(X(small))}, {{"shape", large}});
    switch (Below(3)) {
      case 0:
        return Op("add", {wide, X(Sometimes(2) ? large : small)});
      case 1:
        return Op("reduce_sum", {wide}, {{"axes", Ints{0}}, {"keepdims", Below(2)}});
      default:
        return Unary(wide);
    }
  }
};

}  // namespace

std::optional<Graph> RandomLayoutIdiom(uint64_t seed) { return LayoutIdioms(seed).Make(); }

}  // namespace lemma::hunt
