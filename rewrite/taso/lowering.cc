// Translates applications of TASO's operators into ours.
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "rewrite/rules/term.h"
#include "rewrite/taso/format.h"
#include "rewrite/taso/operators.h"

namespace lemma::taso {
namespace {

constexpr int kMostNestedParts = 256;

// eye(n)[i,j] = 1 if i = j, else 0: the intersection of ones on and above, and on and below, the
// diagonal.
absl::StatusOr<TypedValue> Identity(RuleBuilder& b, const IndexExpr& n) {
  TypedValue ones = b.Constant(1, "", {n, n});
  LEMMA_ASSIGN_OR_RETURN(
      TypedValue upper,
      b.ApplyOne("trilu", {ones}, {{"k", IndexExpr(0)}, {"upper", IndexExpr(1)}}));
  return b.ApplyOne("trilu", {upper}, {{"k", IndexExpr(0)}, {"upper", IndexExpr(0)}});
}

// One of `count` equal parts of a dimension.
absl::StatusOr<IndexExpr> EqualPart(RuleBuilder& b, const IndexExpr& dim, int count) {
  const IndexExpr part = b.sizes().New("l", SizeSolver::Kind::kSize);
  b.sizes().SetFallback(part, FloorDiv(dim, count));
  LEMMA_RETURN_IF_ERROR(b.sizes().Equate(dim, count * part));
  return part;
}

int CountParts(const Parts& parts) {
  int count = 1;
  for (const Parts& child : parts.children) count += CountParts(child);
  return count;
}

bool SameParts(const SizeSolver& sizes, const Parts& a, const Parts& b) {
  if (a.children.size() != b.children.size() || !sizes.Same(a.size, b.size)) return false;
  for (size_t i = 0; i < a.children.size(); ++i) {
    if (!SameParts(sizes, a.children[i], b.children[i])) return false;
  }
  return true;
}

}  // namespace

absl::StatusOr<TypedValue> TasoOp::Activated(RuleBuilder& b, TypedValue value) const {
  auto it = parameters_.find(kActivation);
  static constexpr const char* kNames[] = {nullptr, "sigmoid", "relu", "tanh"};
  if (it == parameters_.end() || it->second == 0) return value;
  return b.ApplyOne(kNames[it->second], {value});
}

absl::StatusOr<std::vector<TypedValue>> TasoOp::Lower(RuleBuilder& b,
                                                      const std::vector<TypedValue>& in,
                                                      const std::string& batch, int rank) const {
  auto one = [](absl::StatusOr<TypedValue> value) -> Result {
    if (!value.ok()) return value.status();
    return std::vector<TypedValue>{*std::move(value)};
  };
  Result out;
  switch (type_) {
    case kConv:
      out = Conv(b, in);
      break;
    case kMaxPool:
    case kAvgPool:
      out = Pool(b, in);
      break;
    case kRelu:
    case kSigmoid:
    case kTanh:
      out = one(b.ApplyOne(type_ == kRelu ? "relu" : type_ == kTanh ? "tanh" : "sigmoid", in));
      break;
    case kConcat:
      out = one(b.ApplyOne("concat", in, {{"axis", IndexExpr(At(kAxis))}}));
      break;
    case kSplit:
      return Split(b, in);
    case kTranspose:
      out = one(b.ApplyOne("transpose", in, {{"perm", ToExprAttr(permutation_)}}));
      break;
    case kAdd:
      out = one(b.ApplyOne("add", in));
      break;
    case kMul:
    case kScale:
      out = one(b.ApplyOne("mul", in));
      break;
    case kMatmul: {
      LEMMA_ASSIGN_OR_RETURN(TypedValue product, b.ApplyOne("matmul", in));
      out = one(Activated(b, product));
      break;
    }
    case kEnlarge:
      out = Enlarge(b, in);
      break;
    case kMergeGroups:
      out = MergeGroups(b, in);
      break;
    default:
      out = Constant(b, batch, rank);
  }
  if (out.ok()) LEMMA_RETURN_IF_ERROR(SetParts(b.sizes(), in, &out->front()));
  return out;
}

// With padding "same" a kernel has odd size: half of it lies on each side, at any stride. The
// number of groups is C(x) / C(w).
TasoOp::Result TasoOp::Conv(RuleBuilder& b, const std::vector<TypedValue>& in) const {
  const bool target = b.side() == RuleBuilder::Side::kTarget;
  SizeSolver& sizes = b.sizes();
  Idx pads(4, 0);
  if (At(kPadding) == kSamePadding) {
    for (int i = 0; i < 2; ++i) {
      const IndexExpr half = sizes.New(i == 0 ? "p" : "q", SizeSolver::Kind::kAttribute);
      LEMMA_RETURN_IF_ERROR(sizes.Equate(in[1].dims[2 + i], 2 * half + 1, true));
      pads[i] = pads[2 + i] = half;
    }
  }
  const IndexExpr groups =
      sizes.New("g", target ? SizeSolver::Kind::kDependent : SizeSolver::Kind::kAttribute);
  if (target) sizes.SetFallback(groups, FloorDiv(in[0].dims[1], in[1].dims[1]));
  LEMMA_ASSIGN_OR_RETURN(TypedValue y, b.ApplyOne("conv2d", in,
                                                  {{"strides", Idx{At(kStrideH), At(kStrideW)}},
                                                   {"pads", pads},
                                                   {"groups", groups}}));
  LEMMA_ASSIGN_OR_RETURN(y, Activated(b, y));
  return std::vector<TypedValue>{y};
}

TasoOp::Result TasoOp::Pool(RuleBuilder& b, const std::vector<TypedValue>& in) const {
  const int kernel[] = {At(kKernelH), At(kKernelW)}, stride[] = {At(kStrideH), At(kStrideW)};
  Idx pads(4, 0);
  for (int i = 0; i < 2 && At(kPadding) == kSamePadding; ++i) {
    if (kernel[i] % 2 == 0 && stride[i] > 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("padding \"same\" of a kernel of size ", kernel[i], " at stride ", stride[i],
                       " depends on the size of the image; a rule cannot say that"));
    }
    pads[i] = (kernel[i] - 1) / 2;
    pads[2 + i] = kernel[i] / 2;
  }
  ExprAttrs attrs = {{"kernel", Idx{kernel[0], kernel[1]}},
                     {"strides", Idx{stride[0], stride[1]}},
                     {"pads", pads}};
  if (type_ == kAvgPool) attrs["count_include_pad"] = IndexExpr(1);
  LEMMA_ASSIGN_OR_RETURN(TypedValue y,
                         b.ApplyOne(type_ == kMaxPool ? "max_pool2d" : "avg_pool2d", in, attrs));
  LEMMA_ASSIGN_OR_RETURN(y, Activated(b, y));
  return std::vector<TypedValue>{y};
}

// Splits into the parts that the last concat along the axis joined, if their number fits; else into
// equal parts.
TasoOp::Result TasoOp::Split(RuleBuilder& b, const std::vector<TypedValue>& in) const {
  const int axis = At(kAxis);
  if (axis >= in[0].rank()) {
    return absl::InvalidArgumentError(
        absl::StrCat("axis ", axis, " of a tensor of rank ", in[0].rank()));
  }
  std::vector<Parts> children = in[0].parts[axis].children;
  if (static_cast<int>(children.size()) != num_outputs_) {
    LEMMA_ASSIGN_OR_RETURN(const IndexExpr size, EqualPart(b, in[0].dims[axis], num_outputs_));
    children.assign(num_outputs_, Parts{size, {}});
  }
  Idx lengths;
  for (const Parts& part : children) lengths.push_back(part.size);
  LEMMA_ASSIGN_OR_RETURN(std::vector<TypedValue> out,
                         b.Apply("split", in, {{"axis", IndexExpr(axis)}, {"sizes", lengths}}));
  for (int i = 0; i < num_outputs_; ++i) {
    out[i].parts = in[0].parts;
    out[i].parts[axis] = children[i];
  }
  return out;
}

// Pads the kernel with zeros; the smaller half goes before it.
TasoOp::Result TasoOp::Enlarge(RuleBuilder& b, const std::vector<TypedValue>& in) const {
  Idx pads(8, 0);
  for (int i = 0; i < 2; ++i) {
    const IndexExpr wanted =
        in.size() == 2 ? in[1].dims[2 + i] : IndexExpr(At(i == 0 ? kKernelH : kKernelW));
    const IndexExpr room = wanted - in[0].dims[2 + i];
    b.RequireLe(in[0].dims[2 + i], wanted);
    pads[2 + i] = FloorDiv(room, 2);
    pads[6 + i] = room - pads[2 + i];
  }
  LEMMA_ASSIGN_OR_RETURN(TypedValue y, b.ApplyOne("pad", {in[0]}, {{"pads", pads}}));
  return std::vector<TypedValue>{y};
}

// Merges groups of w: y[j*q + i, l*c + d, …] = w[j*q + i, d, …] if j = l, else 0. Each group's
// kernels get zeros for the inputs of the others.
TasoOp::Result TasoOp::MergeGroups(RuleBuilder& b, const std::vector<TypedValue>& in) const {
  const int count = At(kMergeCount);
  const IndexExpr& c = in[0].dims[1];
  LEMMA_ASSIGN_OR_RETURN(const IndexExpr size, EqualPart(b, in[0].dims[0], count));
  LEMMA_ASSIGN_OR_RETURN(
      std::vector<TypedValue> groups,
      b.Apply("split", in, {{"axis", IndexExpr(0)}, {"sizes", Idx(count, size)}}));
  for (int j = 0; j < count; ++j) {
    Idx pads(8, 0);
    pads[1] = j * c;
    pads[5] = (count - 1 - j) * c;
    LEMMA_ASSIGN_OR_RETURN(groups[j], b.ApplyOne("pad", {groups[j]}, {{"pads", pads}}));
  }
  LEMMA_ASSIGN_OR_RETURN(TypedValue y, b.ApplyOne("concat", groups, {{"axis", IndexExpr(0)}}));
  return std::vector<TypedValue>{y};
}

TasoOp::Result TasoOp::Constant(RuleBuilder& b, const std::string& batch, int rank) const {
  auto size = [&](const char* hint) { return b.sizes().New(hint, SizeSolver::Kind::kSize); };
  absl::StatusOr<TypedValue> value;
  if (type_ == kIdentityMatrix) {
    value = Identity(b, size("m"));
  } else if (type_ == kIdentityKernel) {
    const IndexExpr c = size("c");
    LEMMA_ASSIGN_OR_RETURN(TypedValue eye, Identity(b, c));
    LEMMA_ASSIGN_OR_RETURN(eye, b.ApplyOne("reshape", {eye}, {{"shape", Idx{c, c, 1, 1}}}));
    const int h = At(kKernelH), w = At(kKernelW);
    const Idx pads = {0, 0, h / 2, w / 2, 0, 0, h - 1 - h / 2, w - 1 - w / 2};
    value = b.ApplyOne("pad", {eye}, {{"pads", pads}});
  } else if (type_ == kPoolKernel) {
    const int h = At(kKernelH), w = At(kKernelW);
    TypedValue ones = b.Constant(1, "", {size("c"), 1, h, w});
    TypedValue number = b.Constant(h * w, "", {});
    value = b.ApplyOne("div", {ones, number});
  } else {
    Idx dims;
    for (int i = 0; i < rank; ++i) dims.push_back(size("d"));
    value = b.Constant(1, batch, dims);
  }
  if (!value.ok()) return value.status();
  return std::vector<TypedValue>{*std::move(value)};
}

// Sets parts for the operators that keep TASO's split information.
absl::Status TasoOp::SetParts(const SizeSolver& sizes, const std::vector<TypedValue>& in,
                              TypedValue* result) const {
  TypedValue& y = *result;
  auto take = [&](int to, const TypedValue& from, int axis) {
    if (sizes.Same(y.dims[to], from.dims[axis])) y.parts[to] = from.parts[axis];
  };
  switch (type_) {
    case kConv:
      for (int d : {0, 2, 3}) take(d, in[0], d);
      take(1, in[1], 0);
      break;
    case kMatmul:
      take(y.rank() - 2, in[0], y.rank() - 2);
      take(y.rank() - 1, in[1], y.rank() - 1);
      break;
    case kTranspose:
      for (int d = 0; d < y.rank(); ++d) take(d, in[0], static_cast<int>(permutation_[d]));
      break;
    case kConcat:
      for (int d = 0; d < y.rank(); ++d) {
        if (d == At(kAxis)) {
          for (const TypedValue& x : in) y.parts[d].children.push_back(x.parts[d]);
          continue;
        }
        bool same = true;
        for (const TypedValue& x : in) same &= SameParts(sizes, in[0].parts[d], x.parts[d]);
        if (same) take(d, in[0], d);
      }
      break;
    case kAdd:
    case kMul:
      for (int d = 0; d < y.rank(); ++d) {
        if (SameParts(sizes, in[0].parts[d], in[1].parts[d])) take(d, in[0], d);
      }
      break;
    default:
      for (int d = 0; d < y.rank() && !in.empty() && in[0].rank() == y.rank(); ++d) {
        take(d, in[0], d);
      }
  }
  for (const Parts& parts : y.parts) {
    if (CountParts(parts) <= kMostNestedParts) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("a dimension is put together from more than ", kMostNestedParts, " parts"));
  }
  return absl::OkStatus();
}

}  // namespace lemma::taso
