// Determinants of small matrices, as sums of products.
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/onnx/composites/build.h"
#include "graph/onnx/composites/composites.h"

namespace lemma::ops {
namespace {

// Elements of a batch of square matrices.
class Matrices {
 public:
  Matrices(OnnxBuild* b, const Value& x) : b_(*b), x_(x) {}

  // Element i, j of each.
  Value At(int64_t i, int64_t j) const {
    const size_t rank = x_.shape().size();
    std::vector<int64_t> starts(rank, 0);
    starts[rank - 2] = i;
    starts[rank - 1] = j;
    Shape sizes = x_.shape();
    sizes[rank - 2] = sizes[rank - 1] = 1;
    const Value element = b_.Op("slice", {x_}, {{"starts", starts}, {"sizes", sizes}});
    return b_.Reshape(element, Shape(sizes.begin(), sizes.end() - 2));
  }
  // x[i,k] x[j,l] - x[i,l] x[j,k].
  Value Minor(int64_t i, int64_t j, int64_t k, int64_t l) const {
    return b_.Sub(b_.Mul(At(i, k), At(j, l)), b_.Mul(At(i, l), At(j, k)));
  }

 private:
  OnnxBuild& b_;
  const Value x_;
};

absl::StatusOr<std::vector<Value>> ImportDet(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(const Value x, node.Input(0));
  const Shape& shape = x.shape();
  if (shape.size() < 2 || shape.back() != shape[shape.size() - 2] || !IsFloat(x.dtype())) {
    return absl::InvalidArgumentError(
        absl::StrCat("the input ", x.type().ToString(), " must be square matrices of floats"));
  }
  const int64_t size = shape.back();
  if (size < 1 || size > 3) {
    return node.Unsupported(absl::StrCat("matrices of ", size, " rows; it may be 1 to 3"));
  }
  OnnxBuild b(node);
  const Matrices m(&b, x);
  Value y;
  if (size == 1) y = m.At(0, 0);
  if (size == 2) y = m.Minor(0, 1, 0, 1);
  if (size == 3) {
    const Value ends =
        b.Add(b.Mul(m.At(0, 0), m.Minor(1, 2, 1, 2)), b.Mul(m.At(0, 2), m.Minor(1, 2, 0, 1)));
    y = b.Sub(ends, b.Mul(m.At(0, 1), m.Minor(1, 2, 0, 2)));
  }
  if (!b.status().ok()) return b.status();
  return std::vector<Value>{y};
}

}  // namespace

std::vector<OnnxImporter> DeterminantComposites() { return {{"Det", ImportDet}}; }

}  // namespace lemma::ops
