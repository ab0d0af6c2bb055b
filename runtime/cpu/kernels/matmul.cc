// Matrix products by oneDNN, or by its convolutions where these are faster. Transposed and
// otherwise strided operands are read in place.
#include <algorithm>
#include <utility>

#include "runtime/cpu/kernels/bf16_products.h"
#include "runtime/cpu/kernels/convolutions/dnnl_convolution.h"

namespace lemma::cpu {
namespace {

int Channel(const CpuKernelSpec& spec) { return spec.head().type(0).rank() - 1; }

bool Accepts(const Node& node) {
  for (const Value& v : node.inputs()) {
    if (v.dtype() != DType::kF32 || v.type().num_elements() == 0 || v.type().rank() > 6) {
      return false;
    }
  }
  return node.type(0).num_elements() > 0;
}

bool Fuses(const CpuKernelSpec& spec, const Node& user) {
  return FusesBehind(spec, user, Channel(spec), true);
}

// Whether one of the last two dimensions is contiguous and the other one's steps do not overlap.
bool IsMatrixLike(const Shape& shape, const Strides& strides) {
  const size_t r = shape.size();
  const int64_t rows = shape[r - 2], columns = shape[r - 1];
  const int64_t row_step = strides[r - 2], column_step = strides[r - 1];
  const bool by_rows = (column_step == 1 || columns == 1) && (row_step >= columns || rows == 1);
  const bool by_columns = (row_step == 1 || rows == 1) && (column_step >= rows || columns == 1);
  if (!by_rows && !by_columns) return false;
  for (size_t d = 0; d + 2 < r; ++d) {
    if (shape[d] > 1 && strides[d] == 0) return false;
  }
  return true;
}

bool IsByColumns(const Strides& strides) {
  const size_t r = strides.size();
  return strides[r - 2] == 1 && strides[r - 1] > 1;
}

void Layouts(CpuKernelSpec& spec, const Strides& wanted) {
  // Computed vectors fused behind the product may be views.
  const int a = spec.OperandIndex(0), b = spec.OperandIndex(1);
  for (int i = 0; i < static_cast<int>(spec.inputs.size()); ++i) {
    auto& in = spec.inputs[i];
    const bool is_matrix = (i == a || i == b) && IsMatrixLike(in.type.shape, in.strides);
    if (!is_matrix) in.strides = RowMajorStrides(in.type.shape);
  }
  auto& y = spec.outputs[0];
  const size_t r = y.type.shape.size();
  const bool by_rows =
      !wanted.empty() && wanted[r - 1] == 1 && wanted[r - 2] >= y.type.shape[r - 1];
  // A product to which at most a matrix is added can also be computed as the product of the
  // transposed operands.
  const int sum = FusedSum(spec, Channel(spec));
  const size_t fused = spec.nodes.size() - spec.head_at - 1;
  const bool bare = fused == 0 || (fused == 1 && sum >= 0);
  const bool by_columns = !wanted.empty() && bare && IsByColumns(wanted) &&
                          wanted[r - 1] >= y.type.shape[r - 2] && !spec.inputs[a].is_static &&
                          !spec.inputs[b].is_static;
  y.strides = by_rows || by_columns ? wanted : RowMajorStrides(y.type.shape);
  if (sum >= 0) {
    spec.inputs[sum].strides = y.strides;
    if (sum >= static_cast<int>(spec.head().inputs().size())) spec.in_place = {sum};
  }
}

bool StridedOutput(const CpuKernelSpec& spec, const Strides&) {
  return FusedSum(spec, Channel(spec)) < 0;
}
bool StridedInput(const std::vector<NodePtr>&, int node, int) { return node == 0; }

struct Matrix {
  Shape shape;
  Strides strides;

  void Transpose() {
    const size_t r = shape.size();
    std::swap(shape[r - 2], shape[r - 1]);
    std::swap(strides[r - 2], strides[r - 1]);
  }
};

// Adds leading dimensions of size 1 up to `rank`.
Matrix Widen(const CpuKernelSpec::Operand& o, size_t rank) {
  Matrix m{o.type.shape, o.strides};
  while (m.shape.size() < rank) {
    m.shape.insert(m.shape.begin(), 1);
    m.strides.insert(m.strides.begin(), 0);
  }
  return m;
}

// Drops leading dimensions that have size 1 in all operands, down to the rank whose batches oneDNN
// runs fastest.
void DropUnits(Matrix* a, Matrix* b, Matrix* y) {
  while (y->shape.size() > 4 && a->shape[0] == 1 && b->shape[0] == 1) {
    for (Matrix* m : {a, b, y}) {
      m->shape.erase(m->shape.begin());
      m->strides.erase(m->strides.begin());
    }
  }
}

// Merges the rows of all batches into one matrix if all batches share b: one large product, with b
// packed once. False if the rows are not evenly spaced.
bool FlattenRows(Matrix* a, Matrix* b, Matrix* y) {
  const size_t r = y->shape.size();
  for (size_t d = 0; d + 2 < r; ++d) {
    if (b->shape[d] != 1 || a->shape[d] != y->shape[d]) return false;
  }
  auto flatten = [r](const Matrix& m, Matrix* flat) {
    const int64_t columns = m.shape[r - 1];
    const Shape to = {NumElements(m.shape) / columns, columns};
    auto strides = ReshapedView(m.shape, m.strides, to);
    if (!strides || !IsMatrixLike(to, *strides)) return false;
    *flat = {to, *strides};
    return true;
  };
  Matrix flat_a, flat_y;
  if (!flatten(*a, &flat_a) || !flatten(*y, &flat_y)) return false;
  *a = flat_a;
  *y = flat_y;
  *b = {{b->shape[r - 2], b->shape[r - 1]}, {b->strides[r - 2], b->strides[r - 1]}};
  return true;
}

// Whether to compute y = a b as a 1 x 1 convolution of an image with as many pixels as a has rows.
bool IsConvolution(const CpuKernelSpec& spec, const Matrix& a, const Matrix& b, const Matrix& y,
                   int b_index) {
  constexpr int64_t kFewRows = 4;  // as fast as products
  auto dense = [](const Matrix& m) {
    return SameLayout(m.shape, m.strides, RowMajorStrides(m.shape));
  };
  return ConvolutionsBeatProducts() && spec.inputs[b_index].is_static && y.shape.size() == 2 &&
         b.shape.size() == 2 && a.shape[0] > kFewRows && dense(a) && dense(y);
}

absl::StatusOr<std::unique_ptr<Kernel>> BuildAsConvolution(const CpuKernelSpec& spec,
                                                           const StaticValues& statics,
                                                           const Matrix& a, const Matrix& b,
                                                           int a_index, int b_index) {
  const int64_t rows = a.shape[0], in = b.shape[0], out = b.shape[1];
  absl::StatusOr<Epilogue> epilogue =
      MakeEpilogue(spec, statics, Channel(spec), ChannelsLastDesc({1, out, 1, 1}), false);
  if (!epilogue.ok()) return epilogue.status();
  DnnlConvolution conv;
  conv.x = ChannelsLastDesc({1, in, rows, 1});
  conv.weights = Desc({out, in, 1, 1}, {b.strides[1], b.strides[0], 1, 1});
  conv.y = ChannelsLastDesc({1, out, rows, 1});
  conv.x_input = a_index;
  conv.weights_input = b_index;
  conv.bias_input = epilogue->bias;
  if (conv.bias_input >= 0) conv.bias = Desc({out}, {1});
  return MakeDnnlConvolution(spec, statics, conv, *epilogue);
}

absl::StatusOr<std::unique_ptr<Kernel>> BuildMatmul(const CpuKernelSpec& spec,
                                                    const StaticValues& statics) {
  int a_index = spec.OperandIndex(0), b_index = spec.OperandIndex(1);
  size_t rank = spec.outputs[0].type.shape.size();
  if (rank == 3) rank = 4;  // rank 4 has the faster kernel
  Matrix a = Widen(spec.inputs[a_index], rank), b = Widen(spec.inputs[b_index], rank);
  Matrix y = Widen(spec.outputs[0], rank);
  if (IsByColumns(spec.outputs[0].strides)) {  // y^T = b^T a^T
    for (Matrix* m : {&a, &b, &y}) m->Transpose();
    std::swap(a, b);
    std::swap(a_index, b_index);
  }
  DropUnits(&a, &b, &y);
  if (y.shape.size() > 2) FlattenRows(&a, &b, &y);

  if (IsConvolution(spec, a, b, y, b_index)) {
    return BuildAsConvolution(spec, statics, a, b, a_index, b_index);
  }
  Shape channel_shape(y.shape.size(), 1);
  channel_shape.back() = y.shape.back();
  const auto per_channel = Desc(channel_shape, RowMajorStrides(channel_shape));
  absl::StatusOr<Epilogue> epilogue =
      MakeEpilogue(spec, statics, Channel(spec), per_channel, false);
  if (!epilogue.ok()) return epilogue.status();
  auto bias = epilogue->bias < 0 ? dnnl::memory::desc() : per_channel;
  const DType factors = spec.inputs[a_index].type.dtype;
  auto ad = Desc(a.shape, a.strides, factors);
  auto bd = Desc(b.shape, b.strides, spec.inputs[b_index].type.dtype);
  auto yd = Desc(y.shape, y.strides, spec.outputs[0].type.dtype);
  const bool pack = spec.inputs[b_index].is_static;
  auto attr = EpilogueAttributes(*epilogue);
  auto wanted = pack ? AnyDesc(b.shape, factors) : bd;
  dnnl::matmul::desc desc = epilogue->bias >= 0 ? dnnl::matmul::desc(ad, wanted, bias, yd)
                                                : dnnl::matmul::desc(ad, wanted, yd);
  dnnl::matmul::primitive_desc pd(desc, attr, Engine());
  auto kernel = std::make_unique<DnnlKernel>();
  kernel->SetPrimitive(dnnl::matmul(pd), pd.scratchpad_desc(), pd.impl_info_str());
  kernel->BindInput(DNNL_ARG_SRC, a_index, ad);
  if (pack) {
    BindWeights(spec, statics, b_index, bd, pd.weights_desc(), kernel.get());
  } else {
    kernel->BindInput(DNNL_ARG_WEIGHTS, b_index, bd);
  }
  BindBias(spec, statics, epilogue->bias, bias, kernel.get());
  kernel->BindOutput(DNNL_ARG_DST, 0, yd);
  BindEpilogue(*epilogue, kernel.get());
  BindEpilogueSum(spec, *epilogue, kernel.get());
  return kernel;
}

absl::StatusOr<std::unique_ptr<Kernel>> Build(const CpuKernelSpec& spec,
                                              const StaticValues& statics) {
  using Result = absl::StatusOr<std::unique_ptr<Kernel>>;
  return CatchDnnl([&]() -> Result { return BuildMatmul(spec, statics); });
}

}  // namespace

KernelDef MakeMatmulKernel() {
  KernelDef def;
  def.name = "matmul";
  def.ops = {"matmul"};
  def.accepts = Accepts;
  def.fuses = Fuses;
  def.fuses_casts = true;
  def.reads_bf16 = true;
  def.layouts = Layouts;
  def.strided_output = StridedOutput;
  def.strided_input = StridedInput;
  def.build = Build;
  return def;
}

}  // namespace lemma::cpu
