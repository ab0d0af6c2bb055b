#include "graph/onnx/export/size_export.h"

#include "absl/strings/str_cat.h"

namespace lemma {

std::string SizeExport::Vector(absl::Span<const int64_t> sizes) {
  // Neighbors that are numbers make one part.
  std::vector<std::string> parts;
  std::vector<int64_t> numbers;
  auto flush = [&] {
    if (!numbers.empty()) parts.push_back(constant_(numbers));
    numbers.clear();
  };
  for (int64_t size : sizes) {
    if (IsSymbolic(size)) {
      flush();
      parts.push_back(One(ToExpr(size)));
    } else {
      numbers.push_back(size);
    }
  }
  flush();
  return parts.size() == 1 ? parts[0] : emit_("Concat", parts, {{"axis", 0}});
}

std::string SizeExport::One(const IndexExpr& e) {
  const std::string key = e.ToString();
  auto it = made_.find(key);
  if (it != made_.end()) return it->second;
  std::string name = Make(e);
  return made_[key] = std::move(name);
}

std::string SizeExport::Make(const IndexExpr& e) {
  switch (e.kind()) {
    case IndexExpr::Kind::kConst:
      return constant_({e.value()});
    case IndexExpr::Kind::kSymbol:
      return Dim(e);
    case IndexExpr::Kind::kAdd:
      return emit_("Add", {One(e.lhs()), One(e.rhs())}, {});
    case IndexExpr::Kind::kMul:
      return emit_("Mul", {One(e.lhs()), One(e.rhs())}, {});
    case IndexExpr::Kind::kMin:
      return emit_("Min", {One(e.lhs()), One(e.rhs())}, {});
    case IndexExpr::Kind::kMax:
      return emit_("Max", {One(e.lhs()), One(e.rhs())}, {});
    case IndexExpr::Kind::kMod:
      return emit_("Mod", {One(e.lhs()), One(e.rhs())}, {});
    case IndexExpr::Kind::kFloorDiv: {
      std::string a = One(e.lhs());
      const std::string b = One(e.rhs());
      // Div rounds towards zero, Mod has the divisor's sign.
      if (Decide(Le(0, e.lhs())) != true) a = emit_("Sub", {a, emit_("Mod", {a, b}, {})}, {});
      return emit_("Div", {a, b}, {});
    }
    case IndexExpr::Kind::kVar:
    case IndexExpr::Kind::kLoad:
      break;
  }
  status_ = absl::InternalError(absl::StrCat("no size: ", e.ToString()));
  return "";
}

std::string SizeExport::DimOf(const IndexExpr& symbol, const Value& value,
                              const std::function<std::string()>& name) {
  const Shape& shape = value.shape();
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (!IsSymbolic(shape[axis]) || !Identical(ToExpr(shape[axis]), symbol)) continue;
    const std::string source = name();
    auto [it, added] = shapes_.emplace(source, "");
    if (added) it->second = emit_("Shape", {source}, {});
    return emit_("Gather", {it->second, constant_({static_cast<int64_t>(axis)})}, {{"axis", 0}});
  }
  return "";
}

std::string SizeExport::Dim(const IndexExpr& symbol) {
  for (size_t i = 0; i < graph_.inputs().size(); ++i) {
    std::string name = DimOf(symbol, graph_.inputs()[i], [&] { return graph_.input_names()[i]; });
    if (!name.empty()) return name;
  }
  for (const NodePtr& node : graph_.nodes()) {
    for (int k = 0; node->IsOp("opaque") && k < node->num_outputs(); ++k) {
      const Value value(node, k);
      std::string name = DimOf(symbol, value, [&] { return name_of_(value); });
      if (!name.empty()) return name;
    }
  }
  status_ = absl::UnimplementedError(absl::StrCat("unsupported: no input has the dimension ",
                                                  SizeName(*ToSize(symbol)), " by itself"));
  return "";
}

}  // namespace lemma
