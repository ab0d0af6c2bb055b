#include "tests/optimizer/transformer_text.h"

#include "absl/strings/str_cat.h"

namespace lemma::optimizer {
namespace {

class Writer {
 public:
  explicit Writer(const TransformerSizes& s) : s_(s), width_(s.heads * s.head_size) {}

  std::string Write() {
    std::string x = "input";
    for (layer_ = 0; layer_ < s_.layers; ++layer_) x = Layer(x);
    return absl::StrCat("graph transformer(input: f32[1,", s_.sequence, ",", width_, "]", params_,
                        ") {\n  two = constant f32[] fill 2.0\n  epsilon = constant f32[] fill ",
                        "1e-05\n  root2 = constant f32[] fill 1.4142135\n",
                        "  one = constant f32[] fill 1.0\n  half = constant f32[] fill 0.5\n",
                        "  scale = constant f32[] fill 4.0\n", body_, "  return ", x, "\n}\n");
  }

 private:
  std::string Weight(const std::string& name, const std::string& dims) {
    std::string weight = absl::StrCat("w", layer_, ".", name);
    absl::StrAppend(&params_, ", ", weight, ": weight f32[", dims, "]");
    return weight;
  }
  std::string Emit(const std::string& expression) {
    std::string name = absl::StrCat("v", next_++);
    absl::StrAppend(&body_, "  ", name, " = ", expression, "\n");
    return name;
  }
  std::string Op(const std::string& op, const std::string& a, const std::string& b,
                 const std::string& attrs = "") {
    return Emit(absl::StrCat(op, "(", a, b.empty() ? "" : ", ", b, ")", attrs));
  }
  // x · w' + b
  std::string Linear(const std::string& x, const std::string& name, int in, int out) {
    std::string w =
        Op("transpose", Weight(name, absl::StrCat(out, ",", in)), "", " {perm = [1, 0]}");
    std::string y = Op("matmul", x, w);
    return Op("add", Weight(name + "_bias", absl::StrCat(out)), y);
  }
  std::string Heads(const std::string& x, const std::string& perm) {
    std::string split =
        Op("reshape", x, "",
           absl::StrCat(" {shape = [1, ", s_.sequence, ", ", s_.heads, ", ", s_.head_size, "]}"));
    return Op("transpose", split, "", " {perm = " + perm + "}");
  }
  std::string Norm(const std::string& x, const std::string& name) {
    const std::string axes = " {axes = [2], keepdims = 1}";
    std::string mean = Op("reduce_mean", x, "", axes);
    std::string centered = Op("sub", x, mean);
    std::string variance = Op("reduce_mean", Op("pow", centered, "two"), "", axes);
    std::string deviation = Op("sqrt", Op("add", variance, "epsilon"), "");
    std::string scaled =
        Op("mul", Op("div", centered, deviation), Weight(name, absl::StrCat(width_)));
    return Op("add", scaled, Weight(name + "_bias", absl::StrCat(width_)));
  }
  std::string Attention(const std::string& x) {
    std::string q = Heads(Linear(x, "query", width_, width_), "[0, 2, 1, 3]");
    std::string k = Heads(Linear(x, "key", width_, width_), "[0, 2, 3, 1]");
    std::string v = Heads(Linear(x, "value", width_, width_), "[0, 2, 1, 3]");
    std::string scores = Op("div", Op("matmul", q, k), "scale");
    std::string mixed = Op("matmul", Op("softmax", scores, "", " {axis = 3}"), v);
    std::string back = Op("transpose", mixed, "", " {perm = [0, 2, 1, 3]}");
    back = Op("reshape", back, "", absl::StrCat(" {shape = [1, ", s_.sequence, ", ", width_, "]}"));
    return Linear(back, "output", width_, width_);
  }
  std::string Gelu(const std::string& x) {
    std::string erf = Op("erf", Op("div", x, "root2"), "");
    return Op("mul", Op("mul", x, Op("add", erf, "one")), "half");
  }
  std::string Layer(const std::string& x) {
    std::string y = Norm(Op("add", x, Attention(x)), "attention_norm");
    std::string wide = Gelu(Linear(y, "widen", width_, width_ * s_.widening));
    std::string narrow = Linear(wide, "narrow", width_ * s_.widening, width_);
    return Norm(Op("add", y, narrow), "output_norm");
  }

  const TransformerSizes s_;
  const int width_;
  int layer_ = 0, next_ = 0;
  std::string params_, body_;
};

}  // namespace

std::string TransformerText(const TransformerSizes& sizes) { return Writer(sizes).Write(); }

}  // namespace lemma::optimizer
