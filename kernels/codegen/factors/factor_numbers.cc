#include "kernels/codegen/factors/factor_numbers.h"

namespace lemma::codegen {
namespace {

bool IsZero(const ScalarExpr& e) { return e.kind() == ScalarExpr::Kind::kConst && e.value() == 0; }

ProductPrecision OfType(DType dtype) {
  return dtype == DType::kF16    ? ProductPrecision::kF16
         : dtype == DType::kBF16 ? ProductPrecision::kBf16
                                 : ProductPrecision::kF32;
}

}  // namespace

ProductPrecision PrecisionOf(const ScalarExpr& e, absl::Span<const DType> storage) {
  switch (e.kind()) {
    case ScalarExpr::Kind::kRead:
      return OfType(storage[e.tensor()]);
    case ScalarExpr::Kind::kApply:
      if (e.fn() == ScalarFn::kRoundTf32) return ProductPrecision::kTf32;
      for (DType dtype : {DType::kF16, DType::kBF16}) {
        if (e.fn() == StoredAs(dtype)) return OfType(dtype);
      }
      return ProductPrecision::kF32;
    case ScalarExpr::Kind::kSelect: {
      if (IsZero(e.args()[1])) return PrecisionOf(e.args()[0], storage);
      if (IsZero(e.args()[0])) return PrecisionOf(e.args()[1], storage);
      const ProductPrecision then = PrecisionOf(e.args()[0], storage);
      return PrecisionOf(e.args()[1], storage) == then ? then : ProductPrecision::kF32;
    }
    default:
      return ProductPrecision::kF32;
  }
}

ProductPrecision JointPrecision(ProductPrecision a, ProductPrecision b) {
  if (a == b) return a;
  const bool tf32 = a == ProductPrecision::kTf32 || b == ProductPrecision::kTf32;
  const bool f32 = a == ProductPrecision::kF32 || b == ProductPrecision::kF32;
  return tf32 && !f32 ? ProductPrecision::kTf32 : ProductPrecision::kF32;
}

int TensorOf(const ScalarExpr& e) {
  if (e.kind() == ScalarExpr::Kind::kRead) return e.tensor();
  if (e.kind() != ScalarExpr::Kind::kSelect) return -1;
  return IsZero(e.args()[1])   ? TensorOf(e.args()[0])
         : IsZero(e.args()[0]) ? TensorOf(e.args()[1])
                               : -1;
}

}  // namespace lemma::codegen
