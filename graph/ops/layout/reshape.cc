#include <algorithm>

#include "graph/gradient_builder.h"
#include "graph/onnx/composites/axes.h"
#include "graph/onnx_conversion.h"
#include "graph/op_def.h"
#include "graph/ops/checks.h"
#include "graph/sizes/symbolic_size.h"

namespace lemma::ops {
namespace {

// A product of a constant and symbols, to compare the sizes of groups of dimensions.
struct Monomial {
  int64_t coefficient = 1;
  std::vector<std::string> symbols;  // sorted
  bool known = true;                 // false: the size is not such a product

  void MultiplyBy(const IndexExpr& size) {
    if (size.is_const()) {
      if (__builtin_mul_overflow(coefficient, size.value(), &coefficient)) known = false;
    } else if (size.kind() == IndexExpr::Kind::kSymbol) {
      symbols.insert(std::upper_bound(symbols.begin(), symbols.end(), size.name()), size.name());
    } else if (size.kind() == IndexExpr::Kind::kMul) {
      MultiplyBy(size.lhs());
      MultiplyBy(size.rhs());
    } else {
      known = false;
    }
  }
  friend bool operator==(const Monomial& a, const Monomial& b) {
    return a.known && b.known && a.coefficient == b.coefficient && a.symbols == b.symbols;
  }
  bool Divides(const Monomial& other) const {
    return known && other.known && coefficient != 0 && other.coefficient % coefficient == 0 &&
           std::includes(other.symbols.begin(), other.symbols.end(), symbols.begin(),
                         symbols.end());
  }
};

// Dimensions [from, from_end) of x and [to, to_end) of y with equally many elements, and so have
// all dimensions before them. Positions in a group are mapped independently of other groups.
struct Group {
  size_t from = 0, from_end = 0, to = 0, to_end = 0;
};

// The finest partition into groups that is known to be correct.
std::vector<Group> Groups(const Idx& from, const Idx& to) {
  std::vector<Group> groups;
  Group group;
  Monomial left, right;
  while (group.from_end < from.size() || group.to_end < to.size()) {
    const bool more_left = group.from_end < from.size(), more_right = group.to_end < to.size();
    // Extend the side that lacks a factor, or both if neither is known to lack one.
    const bool extend_left = more_left && (!more_right || !right.Divides(left) || left == right);
    const bool extend_right = more_right && (!more_left || !left.Divides(right) || left == right);
    if (extend_left || !extend_right) left.MultiplyBy(from[group.from_end++]);
    if (extend_right) right.MultiplyBy(to[group.to_end++]);
    if (left == right) {
      groups.push_back(group);
      group = {group.from_end, group.from_end, group.to_end, group.to_end};
      left = right = Monomial();
    }
  }
  if (group.from != group.from_end || group.to != group.to_end) groups.push_back(group);
  return groups;
}

// The position in x's dimensions of a group, for position `out` in y: as mixed-radix numbers, both
// have the same value.
void AppendDigits(const Group& g, const Idx& from, const Idx& to, const Idx& out, Idx* at) {
  IndexExpr flat = 0;
  for (size_t i = g.to; i < g.to_end; ++i) flat = flat + out[i] * Product(to, i + 1, g.to_end);
  bool first = true;
  for (size_t i = g.from; i < g.from_end; ++i) {
    if (from[i].is_const() && from[i].value() == 1) {
      at->push_back(0);
      continue;
    }
    IndexExpr digit = FloorDiv(flat, Product(from, i + 1, g.from_end));
    at->push_back(first ? digit : Mod(digit, from[i]));
    first = false;
  }
}

// y[i…] = x[j…] with equal row-major positions.
absl::Status DefineReshape(OpContext& c) {
  const Idx &from = c.dims(0), &to = c.Sizes("shape");
  for (const IndexExpr& size : to) {
    LEMMA_REQUIRE(c, Ge(size, 0), "the size ", size.ToString(), " is negative");
  }
  Monomial before, after;
  for (const IndexExpr& size : from) before.MultiplyBy(size);
  for (const IndexExpr& size : to) after.MultiplyBy(size);
  if (!(before == after)) {
    LEMMA_REQUIRE(c, Eq(Product(from), Product(to)), "x has ", Product(from).ToString(),
                  " elements, the shape has ", Product(to).ToString());
  }
  auto is_zero = [](const IndexExpr& size) { return size.is_const() && size.value() == 0; };
  const bool empty = std::any_of(to.begin(), to.end(), is_zero);
  c.Output(c.dtype(0), to, [&](const Idx& out) {
    Idx at;
    if (empty) {
      at.assign(from.size(), 0);
    } else {
      for (const Group& group : Groups(from, to)) AppendDigits(group, from, to, out, &at);
    }
    return c.Read(0, std::move(at));
  });
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Value>> One(absl::StatusOr<Value> value) {
  if (!value.ok()) return value.status();
  return std::vector<Value>{*std::move(value)};
}

absl::StatusOr<std::vector<Value>> ImportReshape(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(0));
  LEMMA_ASSIGN_OR_RETURN(int64_t zero_is_zero, node.Int("allowzero", 0));
  std::vector<int64_t> shape;
  if (node.opset() < 5) {
    LEMMA_ASSIGN_OR_RETURN(shape, node.Ints("shape"));
  } else {
    LEMMA_ASSIGN_OR_RETURN(Tensor constant, node.ConstantInput(1));
    shape = constant.ToInts();
  }
  int64_t known = 1;
  int free = -1;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0 && zero_is_zero == 0) {
      if (i >= x.shape().size()) {
        return absl::InvalidArgumentError("a size 0 stands for a dimension that x does not have");
      }
      shape[i] = x.shape()[i];
    }
    if (shape[i] == -1 && free < 0) {
      free = static_cast<int>(i);
      continue;
    }
    // Where a computed size is 0 or -1, it means something else.
    if (IsSymbolic(shape[i]) && !node.IsAtLeast(shape[i], zero_is_zero == 0 ? 1 : 0,
                                                OnnxImport::ShorterMeans::kSomethingElse)) {
      return node.Unsupported(absl::StrCat("the size ", SizeName(shape[i]),
                                           " may be 0 or -1, which have another meaning"));
    }
    known = ProductOf({known, shape[i]});
    if (shape[i] < 0 || known == INT64_MAX) {
      return absl::InvalidArgumentError(
          absl::StrCat("the shape ", ToString(shape), " is no shape"));
    }
  }
  if (free >= 0) {
    const auto size = QuotientOf(ProductOf(x.shape()), known);
    if (!size) {
      return absl::InvalidArgumentError(
          absl::StrCat(x.type().ToString(), " cannot be reshaped to ", ToString(shape)));
    }
    shape[free] = *size;
  }
  return One(Reshape(node, x, shape));
}

absl::StatusOr<std::vector<Value>> ImportFlatten(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(0));
  LEMMA_ASSIGN_OR_RETURN(int64_t axis, node.Int("axis", 1));
  const int64_t rank = x.type().rank();
  if (axis < -rank || axis > rank) {
    return absl::InvalidArgumentError(absl::StrCat("axis ", axis, " is outside rank ", rank));
  }
  auto middle = x.shape().begin() + (axis < 0 ? axis + rank : axis);
  return One(Reshape(
      node, x,
      {ProductOf(Shape(x.shape().begin(), middle)), ProductOf(Shape(middle, x.shape().end()))}));
}

// Axes are an attribute before operator set 13 and an input since then.
absl::StatusOr<std::optional<std::vector<int64_t>>> ReadAxes(OnnxImport& node) {
  if (node.HasInput(1)) {
    LEMMA_ASSIGN_OR_RETURN(Tensor constant, node.ConstantInput(1));
    return std::optional(constant.ToInts());
  }
  if (node.FindAttr("axes") == nullptr) return std::optional<std::vector<int64_t>>();
  LEMMA_ASSIGN_OR_RETURN(std::vector<int64_t> axes, node.Ints("axes"));
  return std::optional(std::move(axes));
}

absl::StatusOr<std::vector<Value>> ImportSqueeze(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(0));
  LEMMA_ASSIGN_OR_RETURN(auto axes, ReadAxes(node));
  std::vector<bool> drop(x.shape().size(), false);
  for (size_t d = 0; d < drop.size(); ++d) {
    drop[d] = !axes && x.shape()[d] == 1;
    if (!axes && IsSymbolic(x.shape()[d]) && !IsAtLeast(x.shape()[d], 2)) {
      return node.Unsupported(absl::StrCat("no axes: whether dimension ", d, " of ",
                                           x.type().ToString(), " is 1 is not known"));
    }
  }
  for (int64_t given : axes.value_or(std::vector<int64_t>())) {
    LEMMA_ASSIGN_OR_RETURN(int64_t axis, NormalizeOnnxAxis(given, x.type().rank()));
    if (x.shape()[axis] != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("dimension ", axis, " of ", x.type().ToString(), " is not 1"));
    }
    drop[axis] = true;
  }
  Shape shape;
  for (size_t d = 0; d < drop.size(); ++d) {
    if (!drop[d]) shape.push_back(x.shape()[d]);
  }
  return One(Reshape(node, x, shape));
}

absl::StatusOr<std::vector<Value>> ImportUnsqueeze(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(0));
  LEMMA_ASSIGN_OR_RETURN(auto axes, ReadAxes(node));
  if (!axes) return absl::InvalidArgumentError("axes are missing");
  const size_t rank = x.shape().size() + axes->size();
  std::vector<bool> added(rank, false);
  for (int64_t given : *axes) {
    LEMMA_ASSIGN_OR_RETURN(int64_t axis, NormalizeOnnxAxis(given, static_cast<int>(rank)));
    if (added[axis]) return absl::InvalidArgumentError(absl::StrCat("axis ", axis, " twice"));
    added[axis] = true;
  }
  Shape shape;
  auto next = x.shape().begin();
  for (size_t d = 0; d < rank; ++d) shape.push_back(added[d] ? 1 : *next++);
  return One(Reshape(node, x, shape));
}

absl::StatusOr<std::vector<Value>> ImportIdentity(OnnxImport& node) { return One(node.Input(0)); }

}  // namespace

OpDef Make_reshape() {
  OpDef op;
  op.name = "reshape";
  op.group = "layout";
  op.equation = "y[i…] = x[j…] where i… and j… are equal row-major positions";
  op.doc = "ONNX's Flatten, Squeeze and Unsqueeze are reshapes too.";
  op.input_names = {"x"};
  op.attrs = {{"shape", AttrKind::kInts, std::nullopt, true, "shape of the result"}};
  op.define = DefineReshape;
  // dx[j…] = dy[i…]
  op.gradient = [](GradientBuilder& f) {
    return std::vector<Value>{f.Reshape(f.ResultGradient(), f.Input(0).shape())};
  };
  op.examples = {"(f32[2,3,4]) {shape = [6,4]}",
                 "(f32[2,3,4]) {shape = [4,3,2]}",
                 "(f32[12]) {shape = [2,1,6]}",
                 "(f32[]) {shape = [1,1]}",
                 "(f32[1]) {shape = []}",
                 "(f32[2,1,3]) {shape = [2,3]}",
                 "(i64[0,3]) {shape = [5,0]}",
                 "(f32[2,4,3,2]) {shape = [8,2,1,3]}",
                 "(f32[2,3,4,5]) {shape = [2,12,5]}",
                 "(f32[6,10]) {shape = [4,15]}"};
  op.onnx_import = {{"Reshape", ImportReshape},
                    {"Flatten", ImportFlatten},
                    {"Squeeze", ImportSqueeze},
                    {"Unsqueeze", ImportUnsqueeze},
                    {"Identity", ImportIdentity}};
  op.onnx_export = [](OnnxExport& out) {
    std::vector<int64_t> shape = out.node().Ints("shape");
    std::vector<std::pair<std::string, OnnxAttr>> attrs;
    // A computed size that may be less than 1 at some sizes of the inputs follows from the others.
    const auto may_be_less = [](int64_t size) { return !IsAtLeast(size, 1); };
    const auto first = std::find_if(shape.begin(), shape.end(), may_be_less);
    const bool is_only = std::count_if(shape.begin(), shape.end(), may_be_less) == 1;
    if (is_only && IsSymbolic(*first)) {
      *first = -1;
      out.Emit("Reshape", {out.Input(0), out.Constant(Tensor::Ints(shape))}, {out.Output(0)});
      return absl::OkStatus();
    }
    // A size of 0 would mean the input's size.
    if (MayBeEmpty(shape)) attrs = {{"allowzero", int64_t{1}}};
    out.Emit("Reshape", {out.Input(0), out.Constant(Tensor::Ints(shape))}, {out.Output(0)},
             std::move(attrs));
    return absl::OkStatus();
  };
  return op;
}

}  // namespace lemma::ops
