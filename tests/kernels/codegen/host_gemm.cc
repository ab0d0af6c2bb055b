#include "tests/kernels/codegen/host_gemm.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "graph/tensor.h"

namespace lemma {
namespace {

using codegen::GemmCall;
using codegen::GemmMatrix;

int64_t At(const GemmMatrix& x, int64_t batch, int64_t i, int64_t j) {
  return x.offset + batch * x.batch_stride + (x.transposed ? i * x.leading + j : i + j * x.leading);
}

absl::Status Check(const char* name, const GemmMatrix& x, int64_t batch, int64_t rows,
                   int64_t columns, const std::vector<int64_t>& elements) {
  const bool valid = x.offset >= 0 && x.batch_stride >= 0 &&
                     x.leading >= (x.transposed ? columns : rows) &&
                     At(x, batch - 1, rows - 1, columns - 1) < elements[x.argument];
  return valid ? absl::OkStatus()
               : absl::InvalidArgumentError(absl::StrCat("matrix ", name, " of a product"));
}

}  // namespace

absl::Status RunGemm(const GemmCall& call, const std::vector<void*>& pointers,
                     const std::vector<int64_t>& elements) {
  absl::Status s = Check("A", call.a, call.batch, call.m, call.k, elements);
  s.Update(Check("B", call.b, call.batch, call.k, call.n, elements));
  s.Update(Check("D", call.d, call.batch, call.m, call.n, elements));
  if (call.c.argument >= 0) s.Update(Check("C", call.c, call.batch, call.m, call.n, elements));
  if (call.bias_argument >= 0 && call.bias_offset + call.m > elements[call.bias_argument]) {
    s.Update(absl::InvalidArgumentError("the bias of a product"));
  }
  if (call.c.transposed || call.d.transposed) s.Update(absl::InvalidArgumentError("transposed"));
  if (!s.ok()) return s;
  // As tensors, which convert numbers of 16 bits.
  auto numbers = [&](int argument, DType dtype) {
    Tensor tensor = *Tensor::Allocate({dtype, {elements[argument]}});
    std::memcpy(tensor.mutable_raw(), pointers[argument],
                static_cast<size_t>(tensor.type().num_bytes()));
    return tensor.ToDoubles();
  };
  const std::vector<double> a = numbers(call.a.argument, call.factors),
                            b = numbers(call.b.argument, call.factors);
  std::vector<double> result = numbers(call.d.argument, call.result);
  auto floats = [&](int argument) { return static_cast<float*>(pointers[argument]); };
  for (int64_t p = 0; p < call.batch; ++p) {
    for (int64_t j = 0; j < call.n; ++j) {
      for (int64_t i = 0; i < call.m; ++i) {
        double sum = 0;
        for (int64_t k = 0; k < call.k; ++k) {
          sum += a[At(call.a, p, i, k)] * b[At(call.b, p, k, j)];
        }
        if (call.c.argument >= 0) sum += floats(call.c.argument)[At(call.c, p, i, j)];
        if (call.bias_argument >= 0) sum += floats(call.bias_argument)[call.bias_offset + i];
        result[At(call.d, p, i, j)] = sum;
      }
    }
  }
  const Tensor stored = *Tensor::FromDoubles({call.result, {elements[call.d.argument]}}, result);
  std::memcpy(pointers[call.d.argument], stored.raw(),
              static_cast<size_t>(stored.type().num_bytes()));
  return absl::OkStatus();
}

}  // namespace lemma
