#include "graph/expr/scalar_expr.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace lemma {
namespace {

std::shared_ptr<ScalarNode> NewNode(ScalarExpr::Kind kind) {
  auto node = std::make_shared<ScalarNode>();
  node->kind = kind;
  return node;
}

}  // namespace

const char* Name(ReduceKind kind) {
  switch (kind) {
    case ReduceKind::kSum:
      return "sum";
    case ReduceKind::kProd:
      return "prod";
    case ReduceKind::kMax:
      return "max";
    case ReduceKind::kMin:
      return "min";
  }
  return "?";
}

ScalarExpr::ScalarExpr(double value) {
  auto node = NewNode(Kind::kConst);
  node->value = value;
  node_ = std::move(node);
}

ScalarExpr ScalarExpr::Param(std::string name) {
  auto node = NewNode(Kind::kParam);
  node->name = std::move(name);
  return ScalarExpr(std::shared_ptr<const ScalarNode>(std::move(node)));
}

ScalarExpr ScalarExpr::Index(IndexExpr index) {
  if (index.is_const()) return ScalarExpr(static_cast<double>(index.value()));
  auto node = NewNode(Kind::kIndex);
  node->index = std::move(index);
  return ScalarExpr(std::shared_ptr<const ScalarNode>(std::move(node)));
}

ScalarExpr ScalarExpr::Read(TensorId tensor, Idx indices) {
  auto node = NewNode(Kind::kRead);
  node->tensor = tensor;
  node->indices = std::move(indices);
  return ScalarExpr(std::shared_ptr<const ScalarNode>(std::move(node)));
}

ScalarExpr ScalarExpr::Apply(ScalarFn fn, std::vector<ScalarExpr> args) {
  auto node = NewNode(Kind::kApply);
  node->fn = fn;
  node->args = std::move(args);
  return ScalarExpr(std::shared_ptr<const ScalarNode>(std::move(node)));
}

ScalarExpr ScalarExpr::Select(Guard guard, ScalarExpr then, ScalarExpr otherwise) {
  if (guard.is_true()) return then;
  if (guard.is_false()) return otherwise;
  auto node = NewNode(Kind::kSelect);
  node->guard = std::move(guard);
  node->args = {std::move(then), std::move(otherwise)};
  return ScalarExpr(std::shared_ptr<const ScalarNode>(std::move(node)));
}

ScalarExpr ScalarExpr::Reduce(ReduceKind kind, std::vector<Axis> axes, Guard where,
                              ScalarExpr body) {
  auto node = NewNode(Kind::kReduce);
  node->reduce = kind;
  node->axes = std::move(axes);
  node->guard = std::move(where);
  node->args = {std::move(body)};
  return ScalarExpr(std::shared_ptr<const ScalarNode>(std::move(node)));
}

ScalarExpr::Kind ScalarExpr::kind() const { return node_->kind; }
double ScalarExpr::value() const { return node_->value; }
const std::string& ScalarExpr::name() const { return node_->name; }
const IndexExpr& ScalarExpr::index() const { return node_->index; }
TensorId ScalarExpr::tensor() const { return node_->tensor; }
const Idx& ScalarExpr::indices() const { return node_->indices; }
ScalarFn ScalarExpr::fn() const { return node_->fn; }
const std::vector<ScalarExpr>& ScalarExpr::args() const { return node_->args; }
const Guard& ScalarExpr::guard() const { return node_->guard; }
ReduceKind ScalarExpr::reduce() const { return node_->reduce; }
const std::vector<Axis>& ScalarExpr::axes() const { return node_->axes; }

std::string ScalarExpr::ToString() const {
  auto comma = [](std::string* out, const auto& e) { out->append(e.ToString()); };
  switch (kind()) {
    case Kind::kConst:
      return absl::StrFormat("%.17g", value());
    case Kind::kParam:
      return name();
    case Kind::kIndex:
      return index().ToString();
    case Kind::kRead:
      return absl::StrCat("t", tensor(), "[", absl::StrJoin(indices(), ", ", comma), "]");
    case Kind::kApply:
      return absl::StrCat(Info(fn()).name, "(", absl::StrJoin(args(), ", ", comma), ")");
    case Kind::kSelect:
      return absl::StrCat("if(", guard().ToString(), ", ", args()[0].ToString(), ", ",
                          args()[1].ToString(), ")");
    case Kind::kReduce: {
      std::string out = absl::StrCat(Name(reduce()), "(");
      for (const Axis& axis : axes()) {
        absl::StrAppend(&out, "i", axis.var, " < ", axis.extent.ToString(), ", ");
      }
      if (!guard().is_true()) absl::StrAppend(&out, guard().ToString(), ", ");
      return absl::StrCat(out, args()[0].ToString(), ")");
    }
  }
  return "?";
}

ScalarExpr operator+(const ScalarExpr& a, const ScalarExpr& b) {
  return Apply(ScalarFn::kAdd, a, b);
}
ScalarExpr operator-(const ScalarExpr& a, const ScalarExpr& b) {
  return Apply(ScalarFn::kSub, a, b);
}
ScalarExpr operator*(const ScalarExpr& a, const ScalarExpr& b) {
  return Apply(ScalarFn::kMul, a, b);
}
ScalarExpr operator/(const ScalarExpr& a, const ScalarExpr& b) {
  return Apply(ScalarFn::kDiv, a, b);
}
ScalarExpr operator-(const ScalarExpr& a) { return Apply(ScalarFn::kNeg, a); }

ScalarExpr Apply(ScalarFn fn, const ScalarExpr& a) { return ScalarExpr::Apply(fn, {a}); }
ScalarExpr Apply(ScalarFn fn, const ScalarExpr& a, const ScalarExpr& b) {
  return ScalarExpr::Apply(fn, {a, b});
}
ScalarExpr Apply(ScalarFn fn, const ScalarExpr& a, const ScalarExpr& b, const ScalarExpr& c) {
  return ScalarExpr::Apply(fn, {a, b, c});
}

}  // namespace lemma
