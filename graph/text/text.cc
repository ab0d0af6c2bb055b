#include "graph/text/text.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "graph/builder.h"
#include "graph/op_table.h"

namespace lemma {
namespace text {

std::string NearestOp(absl::string_view name) {
  auto distance = [&](absl::string_view other) {
    std::vector<int> row(other.size() + 1);
    for (size_t j = 0; j <= other.size(); ++j) row[j] = static_cast<int>(j);
    for (size_t i = 1; i <= name.size(); ++i) {
      int diagonal = row[0];
      row[0] = static_cast<int>(i);
      for (size_t j = 1; j <= other.size(); ++j) {
        int substitute = diagonal + (name[i - 1] != other[j - 1]);
        diagonal = row[j];
        row[j] = std::min({substitute, row[j] + 1, row[j - 1] + 1});
      }
    }
    return row.back();
  };
  std::string best;
  int least = 3;  // with more than two typing errors it is another word
  if (name.size() > 64) return best;
  std::vector<const OpDef*> ops(AllOps().begin(), AllOps().end());
  for (const OpDef* op : DefinedOps()) ops.push_back(op);
  for (const OpDef* op : ops) {
    int d = distance(op->name);
    if (d < least) {
      least = d;
      best = op->name;
    }
  }
  return best;
}

absl::StatusOr<AttrValue> LiteralAttr(const Expr& expr, absl::string_view file) {
  switch (expr.kind) {
    case Expr::Kind::kInt:
      return AttrValue(expr.integer);
    case Expr::Kind::kReal:
      return AttrValue(expr.real);
    case Expr::Kind::kString:
      return AttrValue(expr.text);
    case Expr::Kind::kList: {
      std::vector<int64_t> ints;
      std::vector<double> reals;
      for (const Expr& item : expr.args) {
        if (item.kind == Expr::Kind::kInt) {
          ints.push_back(item.integer);
          reals.push_back(static_cast<double>(item.integer));
        } else if (item.kind == Expr::Kind::kReal) {
          reals.push_back(item.real);
        } else {
          return ErrorAt(file, item.position, "a list holds numbers here");
        }
      }
      if (ints.size() == reals.size()) return AttrValue(ints);
      return AttrValue(reals);
    }
    default:
      return ErrorAt(file, expr.position,
                     "expected a number, a list of numbers or a quoted string; symbols and "
                     "arithmetic are for rules");
  }
}

absl::StatusOr<TensorType> ConcreteType(const Type& type, absl::string_view file) {
  if (!type.dtype) {
    return ErrorAt(file, type.position, "a type needs its element type, as in f32[2,3]");
  }
  TensorType result{*type.dtype, {}};
  for (const Expr& dim : type.dims) {
    if (dim.kind != Expr::Kind::kInt || dim.integer < 0) {
      return ErrorAt(file, dim.position, "a size is a number, 0 or more");
    }
    result.shape.push_back(dim.integer);
  }
  return result;
}

namespace {

class GraphReader {
 public:
  GraphReader(const Block& block, const ParseOptions& options)
      : block_(block),
        file_(options.file),
        budget_(options.max_fill_bytes),
        builder_(block.name.text) {}

  absl::StatusOr<Graph> Run() {
    for (const Param& param : block_.params) {
      if (auto s = ReadParam(param); !s.ok()) return s;
    }
    for (const Statement& statement : block_.body.statements) {
      if (auto s = ReadStatement(statement); !s.ok()) return s;
    }
    for (const Result& result : block_.body.results) {
      auto value = Find(result.value);
      if (!value.ok()) return value.status();
      builder_.Output(result.name, *value);
    }
    auto graph = std::move(builder_).Build();
    if (!graph.ok()) return ErrorAt(file_, block_.name.position, graph.status().message());
    return graph;
  }

 private:
  absl::StatusOr<Value> Find(const Name& name) const {
    auto it = values_.find(name.text);
    if (it != values_.end()) return it->second;
    std::string known;
    int listed = 0;
    for (const auto& [other, value] : values_) {
      if (++listed > 8) {
        known += ", …";
        break;
      }
      absl::StrAppend(&known, listed > 1 ? ", " : "", QuoteName(other));
    }
    return ErrorAt(file_, name.position,
                   absl::StrCat("no value ", QuoteName(name.text), " above; there is ",
                                known.empty() ? "none" : known));
  }

  absl::Status Bind(const Name& name, const Value& value) {
    if (values_.emplace(name.text, value).second) return absl::OkStatus();
    return ErrorAt(file_, name.position, absl::StrCat(QuoteName(name.text), " is defined twice"));
  }

  absl::Status ReadParam(const Param& param) {
    auto type = ConcreteType(param.type, file_);
    if (!type.ok()) return type.status();
    if (param.role == Param::Role::kConstant) {
      return ErrorAt(file_, param.name.position,
                     "a graph's constant is a statement: name = constant type values");
    }
    bool has_values = param.payload.kind != Payload::Kind::kNone;
    if (param.role == Param::Role::kInput) {
      if (has_values) {
        return ErrorAt(file_, param.payload.position, "only a weight has values: name: weight …");
      }
      return Bind(param.name, builder_.Input(param.name.text, *type));
    }
    if (!has_values) return Bind(param.name, builder_.Weight(param.name.label, *type));
    auto tensor = ReadPayload(*type, param.payload, file_, &budget_);
    if (!tensor.ok()) return tensor.status();
    return Bind(param.name, builder_.Weight(param.name.label, *tensor));
  }

  absl::Status ReadStatement(const Statement& statement) {
    auto values = statement.type ? ReadConstant(statement) : ReadApplication(statement);
    if (!values.ok()) return values.status();
    if (values->size() != statement.targets.size()) {
      return ErrorAt(file_, statement.targets[0].name.position,
                     absl::StrCat(statement.targets.size(), " names for ", values->size(),
                                  " outputs; _ stands for one that is not used"));
    }
    for (size_t i = 0; i < values->size(); ++i) {
      const Target& target = statement.targets[i];
      const Value& value = (*values)[i];
      if (target.type) {
        auto type = ConcreteType(*target.type, file_);
        if (!type.ok()) return type.status();
        if (*type != value.type()) {
          return ErrorAt(
              file_, target.type->position,
              absl::StrCat("this is ", value.type().ToString(), ", not ", type->ToString()));
        }
      }
      if (target.name.text.empty()) continue;
      if (!target.name.label.empty()) builder_.Label(value, target.name.label);
      if (auto s = Bind(target.name, value); !s.ok()) return s;
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<Value>> ReadConstant(const Statement& statement) {
    auto type = ConcreteType(*statement.type, file_);
    if (!type.ok()) return type.status();
    auto tensor = ReadPayload(*type, statement.payload, file_, &budget_);
    if (!tensor.ok()) return tensor.status();
    return std::vector<Value>{builder_.Constant(*std::move(tensor))};
  }

  absl::StatusOr<std::vector<Value>> ReadApplication(const Statement& statement) {
    const OpDef* op = FindOp(statement.op.text);
    if (op == nullptr) {
      std::string near = NearestOp(statement.op.text);
      return ErrorAt(file_, statement.op.position,
                     absl::StrCat("there is no operator ", QuoteName(statement.op.text),
                                  near.empty() ? "" : absl::StrCat("; did you mean ", near, "?")));
    }
    std::vector<Value> inputs;
    for (const Name& arg : statement.args) {
      auto value = Find(arg);
      if (!value.ok()) return value.status();
      inputs.push_back(*value);
    }
    Attrs attrs;
    for (const auto& [name, expr] : statement.attrs) {
      auto value = LiteralAttr(expr, file_);
      if (!value.ok()) return value.status();
      if (!attrs.emplace(name.text, *value).second) {
        return ErrorAt(file_, name.position, absl::StrCat(name.text, " is given twice"));
      }
    }
    absl::StatusOr<std::vector<Value>> values;
    if (op == FindOp("opaque")) {
      auto types = StatedTypes(statement);
      if (!types.ok()) return types.status();
      values = ApplyOpaque(std::move(inputs), std::move(attrs), *types);
    } else {
      values = ApplyOp(op->name, std::move(inputs), std::move(attrs));
    }
    if (!values.ok()) return ErrorAt(file_, statement.op.position, values.status().message());
    return values;
  }

  absl::StatusOr<std::vector<TensorType>> StatedTypes(const Statement& statement) {
    std::vector<TensorType> types;
    for (const Target& target : statement.targets) {
      if (!target.type) {
        return ErrorAt(file_, target.name.position,
                       "an opaque operator's outputs need types, as in y: f32[2,3] = opaque(x)");
      }
      auto type = ConcreteType(*target.type, file_);
      if (!type.ok()) return type.status();
      types.push_back(*type);
    }
    return types;
  }

  const Block& block_;
  const std::string& file_;
  int64_t budget_;
  GraphBuilder builder_;
  std::map<std::string, Value> values_;
};

}  // namespace
}  // namespace text

absl::StatusOr<Graph> BuildGraph(const text::Block& block, const ParseOptions& options) {
  return text::GraphReader(block, options).Run();
}

absl::StatusOr<std::vector<Graph>> ParseGraphs(absl::string_view text,
                                               const ParseOptions& options) {
  auto blocks = text::ParseBlocks(text, options.file);
  if (!blocks.ok()) return blocks.status();
  std::vector<Graph> graphs;
  for (const text::Block& block : *blocks) {
    if (block.is_rule) continue;
    auto graph = BuildGraph(block, options);
    if (!graph.ok()) return graph.status();
    graphs.push_back(*std::move(graph));
  }
  return graphs;
}

absl::StatusOr<Graph> ParseGraph(absl::string_view text, const ParseOptions& options) {
  auto graphs = ParseGraphs(text, options);
  if (!graphs.ok()) return graphs.status();
  if (graphs->size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(options.file, ": holds ", graphs->size(), " graphs, expected one"));
  }
  return std::move((*graphs)[0]);
}

}  // namespace lemma
