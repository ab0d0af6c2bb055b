#include "tests/runtime/blocks/cascade_spellings.h"

#include <cmath>
#include <limits>
#include <random>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/substitute.h"
#include "graph/builder.h"
#include "graph/grad/gradient.h"
#include "gtest/gtest.h"
#include "tests/runtime/runtime_testutil.h"

namespace lemma {
namespace {

std::string Dims(const Shape& shape) { return absl::StrCat("[", absl::StrJoin(shape, ","), "]"); }

// Writes a graph, line by line.
class Speller {
 public:
  explicit Speller(uint64_t seed) : random_(seed) {}

  int Pick(int n) { return static_cast<int>(random_() % static_cast<uint64_t>(n)); }
  bool Flip() { return Pick(2) == 0; }
  template <typename T>
  T OneOf(const std::vector<T>& all) {
    return all[Pick(static_cast<int>(all.size()))];
  }

  // A new input "NAME_N"; InputsOf knows the names.
  std::string Input(const std::string& name, const std::string& type, const Shape& shape) {
    const std::string full = absl::StrCat(name, "_", ++used_);
    inputs_.push_back(absl::StrCat(full, ": ", type, Dims(shape)));
    return full;
  }
  template <typename... T>
  std::string Op(const char* format, const T&... args) {
    const std::string name = absl::StrCat("v", ++used_);
    absl::StrAppend(&body_, "  ", name, " = ", absl::Substitute(format, args...), "\n");
    return name;
  }
  std::string Number(double value) { return Op("constant f32[] fill $0", Literal(value)); }
  std::string Integer(int64_t value) { return Op("constant i64[] fill $0", value); }
  std::string Numbers(const std::string& type, const Shape& shape,
                      const std::vector<std::string>& values) {
    return Op("constant $0$1 [$2]", type, Dims(shape), absl::StrJoin(values, ","));
  }
  std::string Reshape(const std::string& x, const Shape& shape) {
    return Op("reshape($0) {shape = $1}", x, Dims(shape));
  }
  std::string Transpose(const std::string& x, const std::vector<int64_t>& perm) {
    return Op("transpose($0) {perm = $1}", x, Dims(perm));
  }
  std::string Add(const std::string& a, const std::string& b) {
    return Flip() ? Op("add($0, $1)", a, b) : Op("add($0, $1)", b, a);
  }
  std::string Mul(const std::string& a, const std::string& b) {
    return Flip() ? Op("mul($0, $1)", a, b) : Op("mul($0, $1)", b, a);
  }
  // a * factor, in one of several ways.
  std::string Scaled(const std::string& a, double factor) {
    switch (Pick(3)) {
      case 0:
        return Mul(a, Number(factor));
      case 1:
        return Op("div($0, $1)", a, Number(1 / factor));
      default:
        return Op("scalar_mul($0) {alpha = $1}", a, Literal(factor));
    }
  }
  std::string Finish(const std::string& result) {
    return absl::StrCat("graph g(", absl::StrJoin(inputs_, ", "), ") {\n", body_, "  y = neg(",
                        result, ")\n  return y\n}");
  }

 private:
  static std::string Literal(double value) {
    std::string text = absl::StrCat(value);
    if (text.find_first_of(".en") == std::string::npos) text += ".0";
    return text;
  }

  std::mt19937_64 random_;
  std::vector<std::string> inputs_;
  std::string body_;
  int used_ = 0;
};

struct Sizes {
  int64_t batch = 2, heads = 3, queries = 24, keys = 24, width = 4;
  int64_t groups = 0;  // heads of keys; 0: as many as of queries
};

// How scores are laid out.
enum class Layout {
  kHeads,   // [batch, heads, queries, keys]
  kEinsum,  // the same, made by an einsum of [batch, length, heads, width]
  kMerged,  // [batch * heads, queries, keys]
  kTurned,  // [batch, heads, keys, queries]
  kGroups,  // [batch, groups, heads of a group, queries, keys]
  kRows,    // [batch, groups, heads of a group * queries, keys]
};

class Attention {
 public:
  Attention(Cascade form, const Sizes& sizes, Speller* f) : form_(form), n_(sizes), f_(*f) {
    if (n_.groups == 0) {
      layout_ =
          f_.OneOf<Layout>({Layout::kHeads, Layout::kEinsum, Layout::kMerged, Layout::kTurned});
    } else {
      layout_ = f_.OneOf<Layout>({Layout::kHeads, Layout::kMerged, Layout::kTurned, Layout::kGroups,
                                  Layout::kGroups, Layout::kRows, Layout::kRows});
    }
  }

  bool divides_sums() const { return divides_sums_; }
  std::string Result() {
    const int scale_at = f_.Pick(4);  // on the queries, keys or scores, or nowhere
    std::string q = Operand("q", n_.queries, n_.heads), k = Operand("k", n_.keys, KeyHeads());
    const std::string v = Operand("v", n_.keys, KeyHeads());
    if (scale_at == 0) q = f_.Scaled(q, 0.5);
    if (scale_at == 1) k = f_.Scaled(k, 0.5);
    std::string s = Scores(q, k);
    if (scale_at == 2) s = f_.Scaled(s, 0.5);
    if (form_ == Cascade::kSoftCapped) s = Capped(s);
    if (form_ == Cascade::kBiased) s = Biased(s);
    if (form_ == Cascade::kCausal || form_ == Cascade::kWindowed ||
        (form_ != Cascade::kBiased && f_.Pick(3) == 0)) {
      s = Masked(s);
    }
    return Joined(Weighted(s, v));
  }

 private:
  int64_t KeyHeads() const { return n_.groups == 0 ? n_.heads : n_.groups; }
  int64_t Shared() const { return n_.heads / KeyHeads(); }
  bool turned() const { return layout_ == Layout::kTurned; }
  int64_t Last() const { return turned() ? -2 : -1; }  // the axis of the keys

  Shape ScoreShape() const {
    switch (layout_) {
      case Layout::kHeads:
      case Layout::kEinsum:
        return {n_.batch, n_.heads, n_.queries, n_.keys};
      case Layout::kMerged:
        return {n_.batch * n_.heads, n_.queries, n_.keys};
      case Layout::kTurned:
        return {n_.batch, n_.heads, n_.keys, n_.queries};
      case Layout::kGroups:
        return {n_.batch, n_.groups, Shared(), n_.queries, n_.keys};
      case Layout::kRows:
        return {n_.batch, n_.groups, Shared() * n_.queries, n_.keys};
    }
    return {};
  }
  int64_t Axis() const {
    const int64_t rank = static_cast<int64_t>(ScoreShape().size());
    return f_.Flip() ? rank + Last() : Last();
  }
  // The shape of one number for each query.
  Shape RowShape() const {
    Shape shape = ScoreShape();
    shape[shape.size() + Last()] = 1;
    return shape;
  }

  // [batch, heads, length, width], as [batch, length, heads, width] in the layout kEinsum.
  std::string Operand(const std::string& name, int64_t length, int64_t heads) {
    if (layout_ == Layout::kEinsum) {
      if (f_.Flip()) return f_.Input(name, "f32", {n_.batch, length, heads, n_.width});
      return f_.Reshape(f_.Input(name, "f32", {n_.batch, length, heads * n_.width}),
                        {n_.batch, length, heads, n_.width});
    }
    std::string x;
    switch (f_.Pick(3)) {
      case 0:
        x = f_.Input(name, "f32", {n_.batch, heads, length, n_.width});
        break;
      case 1: {
        const std::string flat = f_.Input(name, "f32", {n_.batch, length, heads * n_.width});
        x = f_.Transpose(f_.Reshape(flat, {n_.batch, length, heads, n_.width}), {0, 2, 1, 3});
        break;
      }
      default:
        x = f_.Op("einsum($0) {equation = \"blhd->bhld\"}",
                  f_.Input(name, "f32", {n_.batch, length, heads, n_.width}));
    }
    if (heads == n_.heads) return x;
    switch (layout_) {
      case Layout::kGroups:
        return f_.Reshape(x, {n_.batch, n_.groups, 1, length, n_.width});
      case Layout::kRows:
        return x;
      default:
        break;
    }
    // Each head of keys is repeated.
    const std::string one = f_.Reshape(x, {n_.batch, n_.groups, 1, length, n_.width});
    return f_.Reshape(f_.Op("expand($0) {shape = $1}", one,
                            Dims({n_.batch, n_.groups, Shared(), length, n_.width})),
                      {n_.batch, n_.heads, length, n_.width});
  }

  std::string Scores(std::string q, std::string k) {
    switch (layout_) {
      case Layout::kEinsum:
        return f_.Flip() ? f_.Op("einsum($0, $1) {equation = \"bthd,bshd->bhts\"}", q, k)
                         : f_.Op("einsum($1, $0) {equation = \"bshd,bthd->bhts\"}", q, k);
      case Layout::kMerged:
        q = f_.Reshape(q, {n_.batch * n_.heads, n_.queries, n_.width});
        k = f_.Reshape(k, {n_.batch * n_.heads, n_.keys, n_.width});
        if (f_.Flip()) return f_.Op("einsum($0, $1) {equation = \"ntd,nsd->nts\"}", q, k);
        return f_.Op("matmul($0, $1)", q, f_.Transpose(k, {0, 2, 1}));
      case Layout::kTurned:
        return f_.Op("matmul($0, $1)", k, f_.Transpose(q, {0, 1, 3, 2}));
      case Layout::kGroups:
        q = f_.Reshape(q, {n_.batch, n_.groups, Shared(), n_.queries, n_.width});
        return f_.Op("matmul($0, $1)", q, f_.Transpose(k, {0, 1, 2, 4, 3}));
      case Layout::kRows:
        q = f_.Reshape(q, {n_.batch, n_.groups, Shared() * n_.queries, n_.width});
        break;
      default:
        break;
    }
    return f_.Op("matmul($0, $1)", q, f_.Transpose(k, {0, 1, 3, 2}));
  }

  std::string Capped(const std::string& s) {
    const double cap = f_.OneOf<double>({2, 4});
    return f_.Scaled(f_.Op("tanh($0)", f_.Scaled(s, 1 / cap)), cap);
  }

  // Positions of queries as a column, of keys as a row, or the other way in the layout kTurned;
  // known before the graph runs, or inputs.
  std::pair<std::string, std::string> Positions() {
    std::string i, j;
    if (f_.Flip()) {
      i = f_.Op("iota() {size = $0}", n_.queries);
      j = f_.Op("iota() {size = $0}", n_.keys);
    } else {
      i = f_.Input("places", "i64", {n_.queries});
      j = f_.Input("keyplaces", "i64", {n_.keys});
    }
    if (turned()) return {f_.Reshape(i, {1, n_.queries}), f_.Reshape(j, {n_.keys, 1})};
    return {f_.Reshape(i, {n_.queries, 1}), f_.Reshape(j, {1, n_.keys})};
  }
  Shape PlaneShape() const {
    return turned() ? Shape{n_.keys, n_.queries} : Shape{n_.queries, n_.keys};
  }

  // The scores with heads as dimensions of their own, to which masks and biases of `rank`
  // dimensions broadcast; the function restores the layout.
  template <typename F>
  std::string WithHeads(const std::string& s, F change) {
    if (layout_ == Layout::kMerged) {
      return f_.Reshape(change(f_.Reshape(s, {n_.batch, n_.heads, n_.queries, n_.keys})),
                        ScoreShape());
    }
    if (layout_ == Layout::kRows) {
      return f_.Reshape(change(f_.Reshape(s, {n_.batch, n_.groups, Shared(), n_.queries, n_.keys})),
                        ScoreShape());
    }
    return change(s);
  }

  std::string Biased(const std::string& s) {
    std::string bias;
    switch (f_.Pick(4)) {
      case 0: {  // ALiBi: a slope of each head times the distance
        const auto [i, j] = Positions();
        const std::string slopes =
            f_.Flip()
                ? f_.Input("bias", "f32", {n_.heads, 1, 1})
                : f_.Numbers("f32", {n_.heads, 1, 1}, std::vector<std::string>(n_.heads, "0.25"));
        const std::string distance =
            f_.Op("cast($0) {dtype = \"f32\"}", f_.Op("sub($0, $1)", j, i));
        bias = f_.Mul(slopes, distance);
        break;
      }
      case 1: {  // a table of relative positions
        const auto [i, j] = Positions();
        const std::string limited =
            f_.Op("min($0, $1)", f_.Op("max($0, $1)", f_.Op("sub($0, $1)", j, i), f_.Integer(-4)),
                  f_.Integer(4));
        const std::string at = f_.Op("add($0, $1)", limited, f_.Integer(4));
        // Its gradient adds to the table at positions, which no blocks divide.
        const std::string table = f_.Input("fixed", "f32", {9, n_.heads});
        bias = f_.Transpose(f_.Op("gather($0, $1) {axis = 0}", table, at), {2, 0, 1});
        break;
      }
      case 2: {
        Shape shape = PlaneShape();
        shape.insert(shape.begin(), n_.heads);
        bias = f_.Input("fixed", "f32", shape);
        break;
      }
      default:
        bias = f_.Input("bias", "f32", PlaneShape());
    }
    return WithHeads(s, [&](const std::string& x) { return f_.Add(x, bias); });
  }

  // Whether a query may see a key.
  std::string Visible() {
    const Shape plane = PlaneShape();
    if (form_ == Cascade::kCausal || form_ == Cascade::kWindowed) {
      const auto [i, j] = Positions();
      const std::string before =
          f_.Flip() ? f_.Op("less_equal($0, $1)", j, i) : f_.Op("greater_equal($0, $1)", i, j);
      if (form_ == Cascade::kCausal) return before;
      const std::string near = f_.Op("less($0, $1)", f_.Op("sub($0, $1)", i, j), f_.Integer(8));
      return f_.Flip() ? f_.Op("and($0, $1)", before, near) : f_.Op("and($0, $1)", near, before);
    }
    if (layout_ == Layout::kGroups || layout_ == Layout::kRows || f_.Flip()) {
      return f_.Input("mask", "bool", plane);
    }
    if (f_.Flip()) return f_.Input("mask", "bool", {n_.batch, 1, plane[0], plane[1]});
    return turned() ? f_.Input("mask", "bool", {n_.batch, 1, n_.keys, 1})
                    : f_.Input("mask", "bool", {n_.batch, 1, 1, n_.keys});
  }

  std::string Masked(const std::string& s) {
    const double none = f_.OneOf<double>({-std::numeric_limits<double>::infinity(), -1e30, -1e9});
    if (f_.Pick(5) == 0 && form_ != Cascade::kCausal && form_ != Cascade::kWindowed) {
      const std::string added = f_.Input("added", "f32", PlaneShape());
      return WithHeads(s, [&](const std::string& x) { return f_.Add(x, added); });
    }
    const std::string visible = Visible();
    return WithHeads(s, [&](const std::string& x) {
      switch (f_.Pick(5)) {
        case 0:
          return f_.Op("where($0, $1, $2)", visible, x, f_.Number(none));
        case 1:
          return f_.Op("where($0, $1, $2)", f_.Op("not($0)", visible), f_.Number(none), x);
        case 2: {
          const std::string zero = f_.Number(0), low = f_.Number(none);
          return f_.Add(x, f_.Op("where($0, $1, $2)", visible, zero, low));
        }
        case 3: {
          const std::string number = f_.Op("cast($0) {dtype = \"f32\"}", visible);
          const std::string hidden = f_.Op("sub($0, $1)", f_.Number(1), number);
          return f_.Add(x, f_.Mul(hidden, f_.Number(-1e9)));
        }
        default: {
          Shape whole = ScoreShape();
          if (layout_ == Layout::kMerged) {
            whole = {n_.batch, n_.heads, n_.queries, n_.keys};
          } else if (layout_ == Layout::kRows) {
            whole = {n_.batch, n_.groups, Shared(), n_.queries, n_.keys};
          }
          return f_.Op("where($0, $1, $2)", f_.Op("expand($0) {shape = $1}", visible, Dims(whole)),
                       x, f_.Number(none));
        }
      }
    });
  }

  // The softmax of the scores, and its product with the values.
  std::string Weighted(const std::string& s, const std::string& v) {
    const int64_t axis = Axis();
    auto reduced = [&](const char* op, const std::string& x) {
      if (f_.Flip()) return f_.Op("$0($1) {axes = [$2], keepdims = 1}", op, x, axis);
      return f_.Reshape(f_.Op("$0($1) {axes = [$2]}", op, x, axis), RowShape());
    };
    const int way = f_.Pick(8);
    std::string p;
    switch (way) {
      case 0:
      case 1:
        p = f_.Op("softmax($0) {axis = $1}", s, axis);
        break;
      case 2:
        p = f_.Op("exp($0)", f_.Op("log_softmax($0) {axis = $1}", s, axis));
        break;
      case 3:
        p = f_.Op("exp($0)", f_.Op("sub($0, $1)", s, reduced("reduce_logsumexp", s)));
        break;
      default: {
        std::string d = s;
        if (way != 7) {
          const std::string most = reduced("reduce_max", s);
          d = f_.Flip() ? f_.Op("sub($0, $1)", s, most) : f_.Add(s, f_.Op("neg($0)", most));
        }
        const std::string e = f_.Op("exp($0)", d);
        if (way >= 6 && form_ != Cascade::kDropout) {  // divided after the product
          divides_sums_ = way == 7;
          return Divided(Product(e, v), e, axis);
        }
        const std::string sum = reduced("reduce_sum", e);
        p = f_.Flip() ? f_.Op("div($0, $1)", e, sum) : f_.Mul(e, f_.Op("reciprocal($0)", sum));
      }
    }
    if (form_ == Cascade::kDropout) p = Dropped(p);
    return Product(p, v);
  }

  std::string Divided(const std::string& y, const std::string& e, int64_t axis) {
    std::string sum = f_.Op("reduce_sum($0) {axes = [$1]}", e, axis);
    Shape shape = RowShape();
    if (turned()) std::swap(shape[2], shape[3]);
    if (layout_ == Layout::kEinsum) shape = {n_.batch, n_.heads, n_.queries, 1};
    sum = f_.Reshape(sum, shape);
    if (layout_ == Layout::kEinsum) sum = f_.Transpose(sum, {0, 2, 1, 3});
    return f_.Op("div($0, $1)", y, sum);
  }

  std::string Dropped(const std::string& p) {
    const Shape shape = ScoreShape();
    switch (f_.Pick(4)) {
      case 0:
        return f_.Scaled(f_.Mul(p, f_.Input("keep", "f32", shape)), 1.25);
      case 1:
        return f_.Op("where($0, $1, $2)", f_.Input("mask", "bool", shape), f_.Scaled(p, 1.25),
                     f_.Number(0));
      default:
        break;
    }
    // Pseudo-random numbers of the positions, as graph/ops/random/dropout.cc makes them.
    const std::string prime = f_.Integer(67108859);
    const std::string key = f_.Op("mod($0, $1)", f_.Input("seed", "i64", {}), prime);
    std::string h = key;
    int64_t stride = 1;
    for (const int64_t size : shape) stride *= size;
    for (size_t d = 0; d < shape.size(); ++d) {
      stride /= shape[d];
      Shape line(shape.size() - d, 1);
      line[0] = shape[d];
      std::vector<std::string> terms;
      for (int64_t i = 0; i < shape[d]; ++i) terms.push_back(absl::StrCat(i * stride * 7919));
      h = f_.Op("add($0, $1)", h, f_.Numbers("i64", line, terms));
    }
    for (const int64_t addend : {7919, 15485863}) {
      h = f_.Op("mod($0, $1)", h, prime);
      h = f_.Op("mod($0, $1)", f_.Op("mul($0, $1)", h, f_.Add(h, f_.Integer(addend))), prime);
    }
    const std::string dropped = f_.Op("less($0, $1)", h, f_.Integer(13421772));
    return f_.Op("where($0, $1, $2)", dropped, f_.Number(0), f_.Scaled(p, 1.25));
  }

  std::string Product(const std::string& p, std::string v) {
    switch (layout_) {
      case Layout::kEinsum:
        return f_.Op("einsum($0, $1) {equation = \"bhts,bshd->bthd\"}", p, v);
      case Layout::kMerged:
        v = f_.Reshape(v, {n_.batch * n_.heads, n_.keys, n_.width});
        return f_.Op("matmul($0, $1)", p, v);
      case Layout::kTurned:
        if (f_.Flip()) return f_.Op("einsum($0, $1) {equation = \"bhst,bhsd->bhtd\"}", p, v);
        return f_.Op("matmul($0, $1)", f_.Transpose(p, {0, 1, 3, 2}), v);
      default:
        return f_.Op("matmul($0, $1)", p, v);
    }
  }

  // The heads of the result, side by side.
  std::string Joined(std::string y) {
    if (layout_ != Layout::kEinsum) {
      if (layout_ == Layout::kTurned || layout_ == Layout::kHeads) {
        if (f_.Flip()) return y;
      } else {
        y = f_.Reshape(y, {n_.batch, n_.heads, n_.queries, n_.width});
      }
      y = f_.Transpose(y, {0, 2, 1, 3});
    }
    return f_.Reshape(y, {n_.batch, n_.queries, n_.heads * n_.width});
  }

  const Cascade form_;
  const Sizes n_;
  Speller& f_;
  Layout layout_;
  bool divides_sums_ = false;
};

Spelling SpellAttention(Cascade form, Speller* f, bool gradient) {
  Sizes n;
  n.batch = f->OneOf<int64_t>({1, 2, 3});
  if (gradient) {  // what is recomputed is a small part of all operations
    n.queries = 32;
    n.keys = 36;
    n.width = 12;
  }
  if (form == Cascade::kCross) {
    n.keys = f->OneOf<int64_t>({20, 45});
    n.queries = f->OneOf<int64_t>({30, 31});
  }
  if (form == Cascade::kGroupedQueries) {
    n.heads = 4;
    n.groups = f->OneOf<int64_t>({1, 2});
  }
  Attention attention(form, n, f);
  Spelling spelling;
  const std::string result = attention.Result();
  spelling.text = f->Finish(result);
  spelling.divides_sums = gradient || attention.divides_sums();
  if (gradient) spelling.parameters = {"q", "k", "v", "bias"};
  spelling.whole_bytes = n.batch * n.heads * n.queries * n.keys * 4;
  return spelling;
}

// x / sqrt(mean(x^2) + epsilon) * g, or with the mean of x subtracted before, then a product.
Spelling SpellNormalized(Speller& f, bool gradient) {
  const int64_t batch = f.OneOf<int64_t>({1, 2}), length = 32, width = 24, columns = 5;
  const bool flat = f.Flip();
  const Shape shape = flat ? Shape{batch * length, width} : Shape{batch, length, width};
  Shape row = shape;
  row.back() = 1;
  const int64_t axis = f.Flip() ? -1 : static_cast<int64_t>(shape.size()) - 1;
  auto mean = [&](const std::string& x) {
    switch (f.Pick(4)) {
      case 0:
        return f.Op("reduce_mean($0) {axes = [$1], keepdims = 1}", x, axis);
      case 1:
        return f.Reshape(f.Op("reduce_mean($0) {axes = [$1]}", x, axis), row);
      default:
        return f.Scaled(f.Op("reduce_sum($0) {axes = [$1], keepdims = 1}", x, axis), 1.0 / width);
    }
  };
  // The end of a residual layer, since blocks do not divide inputs.
  std::string x = f.Add(f.Input("x", "f32", shape), f.Input("x", "f32", shape));
  const std::string g = f.Input("gain", "f32", {width});
  const std::string w = f.Input("w", "f32", {width, columns});
  auto product = [&](const std::string& h) {
    if (f.Flip()) return f.Op("matmul($0, $1)", h, w);
    return f.Op(flat ? "einsum($0, $1) {equation = \"nd,dm->nm\"}"
                     : "einsum($0, $1) {equation = \"btd,dm->btm\"}",
                h, w);
  };
  Spelling spelling;
  spelling.divides_sums = true;
  std::string result;
  if (f.Pick(4) == 0) {
    const std::string normal =
        f.Op("layer_norm($0, $1, $2) {axis = $3}", x, g, f.Input("gain", "f32", {width}), axis);
    result = product(normal);
  } else {
    if (f.Flip()) x = f.Op("sub($0, $1)", x, mean(x));
    const std::string squares =
        f.Flip() ? f.Op("mul($0, $0)", x) : f.Op("pow($0, $1)", x, f.Number(2));
    const std::string variance = f.Add(mean(squares), f.Number(1e-5));
    std::string factor;
    bool divide = false;
    switch (f.Pick(3)) {
      case 0:
        factor = f.Op("rsqrt($0)", variance);
        break;
      case 1:
        factor = f.Op("reciprocal($0)", f.Op("sqrt($0)", variance));
        break;
      default:
        factor = f.Op("sqrt($0)", variance);
        divide = true;
    }
    auto by_factor = [&](const std::string& h) {
      return divide ? f.Op("div($0, $1)", h, factor) : f.Mul(h, factor);
    };
    switch (f.Pick(3)) {
      case 0:
        result = product(f.Mul(by_factor(x), g));
        break;
      case 1:
        result = product(by_factor(f.Mul(x, g)));
        break;
      default:  // the factor behind the product
        result = by_factor(product(f.Mul(x, g)));
    }
  }
  spelling.text = f.Finish(result);
  if (gradient) spelling.parameters = {"w", "gain"};  // the gradient of x is as large as x
  spelling.whole_bytes = batch * length * width * 4;
  return spelling;
}

// The mean over the tokens of log(sum(exp(logits))) - logit of the label.
Spelling SpellCrossEntropy(Speller& f) {
  const int64_t batch = f.OneOf<int64_t>({1, 2, 4}), length = 20, width = 6, classes = 50;
  const int64_t tokens = batch * length;
  bool flat = f.Flip();
  const std::string x = f.Input("x", "f32", {batch, length, width});
  std::string w, logits;
  if (f.Flip()) {
    w = f.Input("w", "f32", {width, classes});
  } else {
    w = f.Transpose(f.Input("w", "f32", {classes, width}), {1, 0});
  }
  switch (f.Pick(3)) {
    case 0:
      logits = f.Op("matmul($0, $1)", x, w);
      break;
    case 1:
      logits = f.Op("einsum($0, $1) {equation = \"btd,dv->btv\"}", x, w);
      break;
    default:
      logits = f.Reshape(f.Op("matmul($0, $1)", f.Reshape(x, {tokens, width}), w),
                         {batch, length, classes});
  }
  if (f.Pick(3) == 0) logits = f.Scaled(logits, 0.5);
  if (f.Pick(3) == 0) logits = f.Add(logits, f.Input("gain", "f32", {classes}));
  const Shape rows = flat ? Shape{tokens} : Shape{batch, length};
  Shape column = rows, all = rows, line(rows.size(), 1);
  column.push_back(1);
  all.push_back(classes);
  line.push_back(classes);
  if (flat) logits = f.Reshape(logits, all);
  const int64_t axis = f.Flip() ? -1 : static_cast<int64_t>(rows.size());
  const std::string labels = f.Input("label", "i64", f.Flip() ? rows : column);
  const std::string in_column = f.Reshape(labels, column);
  const std::string numbers = f.Reshape(f.Op("iota() {size = $0}", classes), line);
  auto chosen_of = [&](const std::string& v) {  // by row
    if (f.Pick(3) == 0) {
      return f.Reshape(f.Op("gather_elements($0, $1) {axis = $2}", v, in_column, axis), rows);
    }
    const std::string is_label = f.Flip() ? f.Op("equal($0, $1)", in_column, numbers)
                                          : f.Op("equal($0, $1)", numbers, in_column);
    const std::string kept = f.Flip() ? f.Op("where($0, $1, $2)", is_label, v, f.Number(0))
                                      : f.Mul(f.Op("cast($0) {dtype = \"f32\"}", is_label), v);
    return f.Op("reduce_sum($0) {axes = [$1]}", kept, axis);
  };
  std::string by_row;
  switch (f.Pick(4)) {
    case 0:
      by_row = chosen_of(f.Op("log_softmax($0) {axis = $1}", logits, axis));
      break;
    case 1:
      by_row = chosen_of(f.Op("log($0)", f.Op("softmax($0) {axis = $1}", logits, axis)));
      break;
    case 2: {
      const std::string total = f.Op("reduce_logsumexp($0) {axes = [$1]}", logits, axis);
      by_row = f.Op("sub($0, $1)", chosen_of(logits), total);
      break;
    }
    default: {
      const std::string most = f.Op("reduce_max($0) {axes = [$1], keepdims = 1}", logits, axis);
      const std::string d = f.Op("sub($0, $1)", logits, most);
      const std::string total =
          f.Op("log($0)", f.Op("reduce_sum($0) {axes = [$1]}", f.Op("exp($0)", d), axis));
      by_row = f.Op("sub($0, $1)", chosen_of(d), total);
    }
  }
  const std::string every = flat ? "[0]" : "[0,1]";
  const std::string loss = f.Flip() ? f.Op("reduce_mean($0) {axes = $1}", by_row, every)
                                    : f.Op("reduce_sum($0) {axes = $1}", by_row, every);
  Spelling spelling;
  spelling.text = f.Finish(loss);
  spelling.parameters = {"x", "w", "gain"};
  spelling.divides_sums = true;
  spelling.whole_bytes = tokens * classes * 4;
  return spelling;
}

// The part of an input's name before the number.
std::string Role(const std::string& name) { return name.substr(0, name.find('_')); }

}  // namespace

const char* Name(Cascade form) {
  constexpr const char* kNames[] = {"attention",       "attention with its gradient",
                                    "causal",          "windowed",
                                    "biased",          "soft-capped",
                                    "grouped queries", "cross-attention",
                                    "dropout",         "normalization and product",
                                    "cross entropy"};
  static_assert(sizeof(kNames) / sizeof(kNames[0]) == kNumCascades);
  return kNames[static_cast<int>(form)];
}

Spelling Spell(Cascade form, uint64_t seed, bool gradient) {
  Speller f(seed * kNumCascades + static_cast<uint64_t>(form));
  if (form == Cascade::kCrossEntropy) return SpellCrossEntropy(f);
  if (form == Cascade::kNormalized) return SpellNormalized(f, gradient);
  return SpellAttention(form, &f, gradient || form == Cascade::kAttentionGradient);
}

Graph GraphOf(const Spelling& spelling) {
  const Graph graph = GraphWithWeights(spelling.text);
  if (spelling.parameters.empty()) return graph;
  GraphBuilder builder("step");
  std::vector<Value> parameters;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const Value& x = graph.inputs()[i];
    builder.Input(graph.input_names()[i], x.type());
    const std::string role = Role(graph.input_names()[i]);
    for (const std::string& name : spelling.parameters) {
      if (role == name) parameters.push_back(x);
    }
  }
  const Value& y = graph.outputs()[0];
  Value seed = y;  // of sum(y^2) / 2
  if (y.type().rank() == 0) seed = builder.Constant(*Tensor::FromDoubles(y.type(), {1}));
  absl::StatusOr<std::vector<Value>> gradients = Gradient({y}, {seed}, parameters);
  EXPECT_TRUE(gradients.ok()) << gradients.status() << spelling.text;
  builder.Output("y", y);
  for (size_t i = 0; gradients.ok() && i < gradients->size(); ++i) {
    if ((*gradients)[i]) builder.Output(absl::StrCat("d", i), (*gradients)[i]);
  }
  absl::StatusOr<Graph> step = std::move(builder).Build();
  EXPECT_TRUE(step.ok()) << step.status();
  return *std::move(step);
}

std::vector<Tensor> InputsOf(const Graph& graph, Numbers numbers, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> real(-1, 1);
  const double inf = std::numeric_limits<double>::infinity();
  std::vector<Tensor> inputs;
  for (size_t k = 0; k < graph.inputs().size(); ++k) {
    const TensorType& type = graph.inputs()[k].type();
    const std::string role = Role(graph.input_names()[k]);
    std::vector<double> values(static_cast<size_t>(type.num_elements()));
    for (size_t i = 0; i < values.size(); ++i) {
      double& x = values[i];
      if (role == "places" || role == "keyplaces") {
        x = static_cast<double>(i);
      } else if (role == "label") {
        x = static_cast<double>(random() % 50);
      } else if (role == "seed") {
        x = static_cast<double>(random() % 1000000);
      } else if (type.dtype == DType::kBool) {
        x = static_cast<double>(random() % 2);
      } else {
        x = real(random);
      }
      if (numbers == Numbers::kLarge && (role == "q" || role == "x")) x *= 1e4;
      if (numbers == Numbers::kNotFinite && IsFloat(type.dtype) && random() % 97 == 0) {
        x = random() % 3 == 0 ? std::nan("") : random() % 2 == 0 ? inf : -inf;
      }
    }
    if (numbers == Numbers::kMasked) {
      // Some queries see no key. Which dimension has the queries does not matter.
      if (role == "places") values[3] = -1;
      if (role == "mask" || role == "added") {
        const int64_t row = type.shape.back();
        for (size_t i = 0; i < values.size(); ++i) {
          const int64_t at = static_cast<int64_t>(i);
          if (at / row % 5 == 1 || at % row == 2) values[i] = role == "mask" ? 0 : -inf;
        }
      }
    }
    inputs.push_back(*Tensor::FromDoubles(type, values));
  }
  return inputs;
}

}  // namespace lemma
