#include <algorithm>
#include <map>
#include <optional>

#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "graph/onnx/composites/axes.h"
#include "graph/onnx/composites/composites.h"
#include "graph/onnx_conversion.h"
#include "graph/sizes/symbolic_size.h"

namespace lemma::ops {
namespace {

// The labels of a two-operand product that is a matmul, grouped by their role.
struct Product {
  std::string a, b, out;                    // as given
  std::string batch, rows, inner, columns;  // in both and out; in a and out; in both; in b and out
};

bool Has(const std::string& labels, char label) { return labels.find(label) != std::string::npos; }

bool IsPlain(const std::string& labels) {
  for (char label : labels) {
    bool letter = std::isalpha(static_cast<unsigned char>(label)) != 0;
    if (!letter || std::count(labels.begin(), labels.end(), label) != 1) return false;
  }
  return true;
}

// nullopt unless it is a matmul of two operands with each label once per operand.
std::optional<Product> AsProduct(std::string equation) {
  equation.erase(std::remove(equation.begin(), equation.end(), ' '), equation.end());
  std::vector<std::string> sides = absl::StrSplit(equation, "->");
  std::vector<std::string> terms = absl::StrSplit(sides[0], ',');
  if (sides.size() != 2 || terms.size() != 2) return std::nullopt;
  Product p;
  p.a = terms[0];
  p.b = terms[1];
  p.out = sides[1];
  if (!IsPlain(p.a) || !IsPlain(p.b) || !IsPlain(p.out)) return std::nullopt;
  for (char label : p.out) {
    if (!Has(p.a, label) && !Has(p.b, label)) return std::nullopt;
  }
  for (char label : p.a) {
    if (!Has(p.b, label) && !Has(p.out, label)) return std::nullopt;
    (!Has(p.b, label) ? p.rows : Has(p.out, label) ? p.batch : p.inner) += label;
  }
  for (char label : p.b) {
    if (Has(p.a, label)) continue;
    if (!Has(p.out, label)) return std::nullopt;
    p.columns += label;
  }
  if (p.inner.empty()) return std::nullopt;
  return p;
}

// Permutes x's dimensions, labeled `from`, to the order `to`.
absl::StatusOr<Value> Arrange(OnnxImport& node, const Value& x, const std::string& from,
                              const std::string& to) {
  if (from == to) return x;
  std::vector<int64_t> perm;
  for (char label : to) perm.push_back(static_cast<int64_t>(from.find(label)));
  return node.Op("transpose", {x}, {{"perm", perm}});
}

absl::StatusOr<Value> ApplyProduct(OnnxImport& node, const Product& p, Value a, Value b,
                                   const std::map<char, int64_t>& sizes) {
  auto shape_of = [&](const std::string& labels) {
    Shape shape;
    for (char label : labels) shape.push_back(sizes.at(label));
    return shape;
  };
  auto matrices = [&](const std::string& rows, const std::string& columns) {
    Shape shape = shape_of(p.batch);
    shape.push_back(ProductOf(shape_of(rows)));
    shape.push_back(ProductOf(shape_of(columns)));
    return shape;
  };
  LEMMA_ASSIGN_OR_RETURN(a, Arrange(node, a, p.a, p.batch + p.rows + p.inner));
  LEMMA_ASSIGN_OR_RETURN(b, Arrange(node, b, p.b, p.batch + p.inner + p.columns));
  LEMMA_ASSIGN_OR_RETURN(a, Reshape(node, a, matrices(p.rows, p.inner)));
  LEMMA_ASSIGN_OR_RETURN(b, Reshape(node, b, matrices(p.inner, p.columns)));
  LEMMA_ASSIGN_OR_RETURN(Value y, node.Op("matmul", {a, b}));
  const std::string made = p.batch + p.rows + p.columns;
  LEMMA_ASSIGN_OR_RETURN(y, Reshape(node, y, shape_of(made)));
  return Arrange(node, y, made, p.out);
}

// Turns a product of two operands into a matmul, for which more rewrites and kernels exist.
absl::StatusOr<std::vector<Value>> ImportEinsum(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(std::string equation, node.String("equation"));
  std::vector<Value> in;
  for (int i = 0; i < node.num_inputs(); ++i) {
    LEMMA_ASSIGN_OR_RETURN(Value v, node.Input(i));
    in.push_back(v);
  }
  std::optional<Product> product = AsProduct(equation);
  bool fits = product && in.size() == 2;
  std::map<char, int64_t> sizes;
  for (int i = 0; fits && i < 2; ++i) {
    const std::string& labels = i == 0 ? product->a : product->b;
    const Shape& shape = in[i].shape();
    fits = labels.size() == shape.size();
    for (size_t d = 0; fits && d < shape.size(); ++d) {
      fits = sizes.emplace(labels[d], shape[d]).first->second == shape[d];
    }
  }
  if (!fits) return node.Ops("einsum", in, {{"equation", equation}});
  LEMMA_ASSIGN_OR_RETURN(Value y, ApplyProduct(node, *product, in[0], in[1], sizes));
  return std::vector<Value>{y};
}

}  // namespace

OnnxImporter EinsumImporter() { return {"Einsum", ImportEinsum}; }

}  // namespace lemma::ops
