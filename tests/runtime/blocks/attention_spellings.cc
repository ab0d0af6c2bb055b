#include "tests/runtime/blocks/attention_spellings.h"

#include <limits>
#include <utility>

namespace lemma {
namespace {

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

}  // namespace

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

}  // namespace lemma
