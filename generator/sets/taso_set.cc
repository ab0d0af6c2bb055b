#include "generator/sets/taso_set.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/status_macros.h"
#include "rewrite/matching/instantiate.h"
#include "rewrite/rules/rule_text.h"
#include "rewrite/taso/format.h"
#include "rewrite/taso/import.h"
#include "rewrite/taso/operators.h"
#include "rewrite/taso/rule_builder.h"
#include "rewrite/taso/rules.pb.h"

namespace lemma::generator {
namespace {

using taso::RuleBuilder;
using taso::TypedValue;

constexpr int64_t kMostElements = 512;  // limit for a tensor, as in TASO's generator
constexpr int kSame = taso::kSamePadding, kRelu = 2;

struct TasoVariant {
  Variant variant;
  int type;
  std::vector<std::pair<int, int>> parameters;
  std::vector<int64_t> kernel;  // required of the second operand
  std::vector<int64_t> dims;    // of a constant
  int rank = 0;                 // of the first operand; 0: any
};

// Adds variants that TASO's operators allow beyond its generator's defaults.
void AddMore(std::vector<TasoVariant>* all) {
  using namespace taso;
  all->push_back({{"sigmoid", 1, 1, false}, kSigmoid, {}, {}, {}, 0});
  all->push_back({{"tanh", 1, 1, false}, kTanh, {}, {}, {}, 0});
  constexpr int kValid = 1;
  struct Variant {
    const char* suffix;
    int stride, padding;
  };
  for (const Variant& v : {Variant{"_s2", 2, kSame}, Variant{"_valid", 1, kValid}}) {
    const std::vector<std::pair<int, int>> window = {
        {kStrideH, v.stride}, {kStrideW, v.stride}, {kPadding, v.padding}, {kActivation, 0}};
    for (int size : {3, 1}) {
      if (size == 1 && v.padding == kValid) continue;  // the same as with padding
      all->push_back({{absl::StrCat("conv", size, "x", size, v.suffix), 2, 1, false},
                      kConv,
                      window,
                      {size, size},
                      {},
                      4});
    }
    std::vector<std::pair<int, int>> pool = {{kKernelH, 3}, {kKernelW, 3}};
    pool.insert(pool.end(), window.begin(), window.end());
    all->push_back(
        {{absl::StrCat("avg_pool3x3", v.suffix), 1, 1, false}, kAvgPool, pool, {}, {}, 4});
    all->push_back(
        {{absl::StrCat("max_pool3x3", v.suffix), 1, 1, false}, kMaxPool, pool, {}, {}, 4});
  }
}

std::vector<TasoVariant> AllVariants(TasoVariants which) {
  using namespace taso;
  std::vector<TasoVariant> all = {
      {{"matmul", 2, 1, false, true}, kMatmul, {{kActivation, 0}}, {}, {}, 2},
      {{"add", 2, 1, true, true}, kAdd, {}, {}, {}, 0},
      {{"mul", 2, 1, true, true}, kMul, {}, {}, {}, 0},
      {{"scale", 2, 1, false}, kScale, {}, {}, {}, 0},
      {{"relu", 1, 1, false}, taso::kRelu, {}, {}, {}, 0},
  };
  for (int activation : {0, generator::kRelu}) {
    for (auto [h, w] : {std::pair(3, 3), std::pair(1, 1), std::pair(1, 3)}) {
      all.push_back({{absl::StrCat("conv", h, "x", w, activation ? "_relu" : ""), 2, 1, false},
                     kConv,
                     {{kStrideH, 1}, {kStrideW, 1}, {kPadding, kSame}, {kActivation, activation}},
                     {h, w},
                     {},
                     4});
    }
  }
  const std::vector<std::pair<int, int>> kernel = {{kKernelH, 3}, {kKernelW, 3}};
  std::vector<std::pair<int, int>> pool = kernel;
  pool.insert(pool.end(), {{kStrideH, 1}, {kStrideW, 1}, {kPadding, kSame}, {kActivation, 0}});
  all.push_back({{"avg_pool3x3", 1, 1, false}, kAvgPool, pool, {}, {}, 4});
  all.push_back({{"max_pool3x3", 1, 1, false}, kMaxPool, pool, {}, {}, 4});
  all.push_back({{"pool_kernel", 0, 1, false}, kPoolKernel, kernel, {}, {4, 1, 3, 3}, 0});
  all.push_back({{"identity_kernel", 0, 1, false}, kIdentityKernel, kernel, {}, {4, 4, 3, 3}, 0});
  all.push_back({{"identity_matrix", 0, 1, false}, kIdentityMatrix, {}, {}, {4, 4}, 0});
  all.push_back({{"one", 0, 1, false}, kOnes, {}, {}, {4, 4}, 0});
  all.push_back({{"enlarge3x3", 1, 1, false}, kEnlarge, kernel, {}, {}, 4});
  for (int rank : {2, 4}) {
    for (int axis : {0, 1}) {
      all.push_back({{absl::StrCat("concat", axis, "_", rank, "d"), 2, 1, false, true},
                     kConcat,
                     {{kNumDims, rank}, {kAxis, axis}, {kNumInputs, 2}},
                     {},
                     {},
                     rank});
    }
  }
  for (int axis : {0, 1}) {
    all.push_back({{absl::StrCat("split", axis), 1, 2, false},
                   kSplit,
                   {{kNumOutputs, 2}, {kAxis, axis}},
                   {},
                   {},
                   0});
  }
  // The permutation (1, 0) as a number in base 2.
  all.push_back(
      {{"transpose", 1, 1, false}, kTranspose, {{kNumDims, 2}, {kPermutation, 2}}, {}, {}, 2});
  if (which == TasoVariants::kPlus) AddMore(&all);
  return all;
}

class TasoOperators : public OperatorSet {
 public:
  TasoOperators(std::vector<TasoVariant> chosen, TasoVariants which)
      : chosen_(std::move(chosen)), which_(which) {
    for (const TasoVariant& c : chosen_) variants_.push_back(c.variant);
    int group = 0;
    auto add = [&](const char* name, int count, std::vector<int64_t> dims, bool kernel = false) {
      for (int i = 1; i <= count; ++i) {
        inputs_.push_back({count == 1 ? name : absl::StrCat(name, i), TypeOf(dims, kernel), group});
      }
      ++group;
    };
    add("x", 3, {2, 4});
    add("m", 3, {4, 4});
    add("y", 3, {2, 4, 5, 5});
    add("w", 3, {4, 4, 3, 3}, true);
    add("u", 3, {4, 4, 1, 3}, true);
    add("v", 3, {4, 4, 3, 1}, true);
    add("k", 1, {4, 1, 3, 3}, true);
    if (which == TasoVariants::kPlus) {
      add("g", 2, {4, 2, 3, 3}, true);  // of two groups
      add("q", 2, {4, 4, 1, 1}, true);
    }
    add("s", which == TasoVariants::kPlus ? 2 : 1, {});
  }

  const std::vector<Input>& inputs() const override { return inputs_; }
  const std::vector<Variant>& variants() const override { return variants_; }
  const std::vector<int64_t>& DimsOf(int type) const override { return types_[type].dims; }

  absl::StatusOr<Application> Apply(int variant, const std::vector<int>& types) override {
    const TasoVariant& chosen = chosen_[variant];
    LEMMA_RETURN_IF_ERROR(CheckTypes(chosen, types));
    RuleBuilder builder;
    std::vector<TypedValue> inputs;
    for (int type : types) {
      inputs.push_back(
          builder.AddVariable(absl::StrCat("x", inputs.size()), "",
                              Idx(types_[type].dims.begin(), types_[type].dims.end())));
      inputs.back().parts = types_[type].parts;
    }
    LEMMA_ASSIGN_OR_RETURN(taso::TasoOp op, taso::TasoOp::Read(ToProto(variant, types.size())));
    std::vector<TypedValue> sides[2];
    for (auto side : {RuleBuilder::Side::kSource, RuleBuilder::Side::kTarget}) {
      builder.Begin(side);
      auto lowered = op.Lower(builder, inputs, "", static_cast<int>(chosen.dims.size()));
      if (!lowered.ok()) return absl::NotFoundError(lowered.status().message());
      for (size_t d = 0; d < chosen.dims.size(); ++d) {
        LEMMA_RETURN_IF_ERROR(builder.sizes().Equate((*lowered)[0].dims[d], chosen.dims[d], true));
      }
      sides[static_cast<int>(side)] = *std::move(lowered);
    }
    Application result;
    for (size_t i = 0; i < sides[0].size(); ++i) {
      LEMMA_RETURN_IF_ERROR(builder.AddOutput(sides[0][i], sides[1][i]));
      LEMMA_ASSIGN_OR_RETURN(int type, TypeOf(builder, sides[0][i]));
      result.types.push_back(type);
    }
    LEMMA_ASSIGN_OR_RETURN(std::string text, builder.Text("variant", chosen.variant.name));
    // Without operands, nothing determines a constant's element type.
    if (types.empty()) text = absl::StrReplaceAll(text, {{"= constant [", "= constant f32["}});
    LEMMA_ASSIGN_OR_RETURN(std::vector<Substitution> rules, ParseRules(text, "a variant"));
    LEMMA_ASSIGN_OR_RETURN(result.graph, Instantiate(rules[0], rules[0].source, {}));
    return result;
  }

  absl::StatusOr<Substitution> Lift(const Pair& pair, absl::string_view name) const override {
    taso::RuleCollection collection;
    taso::Rule* rule = collection.add_rule();
    for (const NumberedOp& term : pair.source.ops) *rule->add_src_op() = ToProto(term);
    for (const NumberedOp& term : pair.target.ops) *rule->add_dst_op() = ToProto(term);
    for (size_t i = 0; i < pair.source.outputs.size(); ++i) {
      taso::MapOutput* map = rule->add_mapped_output();
      const taso::Tensor source = ToProto(pair.source.outputs[i]);
      const taso::Tensor target = ToProto(pair.target.outputs[i]);
      map->set_src_op_id(source.op_id());
      map->set_src_ts_id(source.ts_id());
      map->set_dst_op_id(target.op_id());
      map->set_dst_ts_id(target.ts_id());
    }
    LEMMA_ASSIGN_OR_RETURN(std::vector<Substitution> rules,
                           ImportTaso(collection.SerializeAsString()));
    rules[0].name = std::string(name);
    rules[0].doc = ToString(*this, pair, Names::kVariables);
    return std::move(rules[0]);
  }

 private:
  struct Type {
    std::vector<int64_t> dims;
    std::vector<taso::Parts> parts;
    bool kernel = false;  // it is an input and a convolution's kernel
  };

  absl::Status CheckTypes(const TasoVariant& chosen, const std::vector<int>& types) const {
    const absl::Status mismatch =
        absl::NotFoundError("the variant does not take operands of these types");
    if (types.empty()) return absl::OkStatus();
    const Type& first = types_[types[0]];
    if (chosen.rank > 0 && static_cast<int>(first.dims.size()) != chosen.rank) return mismatch;
    if (types.size() == 2) {
      const std::vector<int64_t>& second = types_[types[1]].dims;
      if (chosen.type == taso::kScale)
        return second.empty() && !first.dims.empty() ? absl::OkStatus() : mismatch;
      if (second.size() != first.dims.size()) return mismatch;
      if (!chosen.kernel.empty() &&
          !std::equal(chosen.kernel.begin(), chosen.kernel.end(), second.begin() + 2)) {
        return mismatch;
      }
    }
    if ((chosen.type == taso::kAdd || chosen.type == taso::kMul) &&
        first.dims != types_[types[1]].dims) {
      return mismatch;  // TASO does not broadcast
    }
    // TASO's generator convolves no kernel that is an input, and enlarges no other values.
    if (chosen.type == taso::kConv && first.kernel) return mismatch;
    const bool enlarges_all = which_ == TasoVariants::kPlus;
    if (chosen.type == taso::kEnlarge && !first.kernel && !enlarges_all) return mismatch;
    if (chosen.type == taso::kEnlarge && first.dims[2] >= 3 && first.dims[3] >= 3) {
      return mismatch;  // it would do nothing
    }
    for (const auto& [key, value] : chosen.parameters) {
      // With one position, every stride gives the same result.
      const bool stride = key == taso::kStrideH || key == taso::kStrideW;
      if (stride && value > 1 && (first.dims[2] == 1 || first.dims[3] == 1)) return mismatch;
    }
    if (chosen.type == taso::kSplit) {
      // Only dimensions that a concat made: splits into equal parts would give rules about
      // divisible sizes.
      const size_t axis = chosen.parameters[1].second;
      if (axis >= first.dims.size() || first.parts[axis].children.size() != 2) return mismatch;
    }
    return absl::OkStatus();
  }

  static taso::Tensor ToProto(int value) {
    taso::Tensor tensor;
    tensor.set_op_id(value < 0 ? value : value / kMostOutputs);
    tensor.set_ts_id(value < 0 ? 0 : value % kMostOutputs);
    return tensor;
  }
  taso::Operator ToProto(const NumberedOp& term) const {
    taso::Operator op;
    op.set_type(chosen_[term.variant].type);
    for (int v : term.operands) *op.add_input() = ToProto(v);
    for (auto [key, value] : chosen_[term.variant].parameters) {
      taso::Parameter* p = op.add_para();
      p->set_key(key);
      p->set_value(value);
    }
    return op;
  }
  taso::Operator ToProto(int variant, size_t operands) const {
    return ToProto(NumberedOp{variant, std::vector<int>(operands, -1)});
  }

  int TypeOf(const std::vector<int64_t>& dims, bool kernel) {
    return Intern({dims, taso::NoParts(Idx(dims.begin(), dims.end())), kernel});
  }
  absl::StatusOr<int> TypeOf(const RuleBuilder& builder, const TypedValue& value) {
    Type type;
    for (const IndexExpr& dim : value.dims) {
      auto size = const_cast<RuleBuilder&>(builder).sizes().Value(dim);
      if (!size || !size->AsConst()) {
        return absl::InvalidArgumentError("a variant's size is not determined by its operands");
      }
      type.dims.push_back(*size->AsConst());
    }
    int64_t elements = 1;
    for (int64_t d : type.dims) elements *= d;
    if (elements > kMostElements) return absl::NotFoundError("the result is too large");
    for (const taso::Parts& parts : value.parts) {
      LEMMA_ASSIGN_OR_RETURN(taso::Parts constant, Constant(builder, parts));
      type.parts.push_back(std::move(constant));
    }
    return Intern(std::move(type));
  }
  absl::StatusOr<taso::Parts> Constant(const RuleBuilder& builder, const taso::Parts& parts) {
    auto size = const_cast<RuleBuilder&>(builder).sizes().Value(parts.size);
    if (!size || !size->AsConst()) return absl::InvalidArgumentError("a part's size is unknown");
    taso::Parts result{*size->AsConst(), {}};
    for (const taso::Parts& child : parts.children) {
      LEMMA_ASSIGN_OR_RETURN(taso::Parts constant, Constant(builder, child));
      result.children.push_back(std::move(constant));
    }
    return result;
  }
  static void AppendText(const taso::Parts& parts, std::string* text) {
    absl::StrAppend(text, *parts.size.AsConst());
    if (parts.children.empty()) return;
    absl::StrAppend(text, "(");
    for (const taso::Parts& child : parts.children) {
      AppendText(child, text);
      absl::StrAppend(text, " ");
    }
    absl::StrAppend(text, ")");
  }
  int Intern(Type type) {
    std::string text = type.kernel ? "kernel " : "";
    for (const taso::Parts& parts : type.parts) {
      AppendText(parts, &text);
      text += ",";
    }
    auto [it, added] = interned_.emplace(text, static_cast<int>(types_.size()));
    if (added) types_.push_back(std::move(type));
    return it->second;
  }

  std::vector<TasoVariant> chosen_;
  const TasoVariants which_;
  std::vector<Variant> variants_;
  std::vector<Input> inputs_;
  std::vector<Type> types_;
  std::map<std::string, int> interned_;
};

}  // namespace

std::vector<std::string> TasoVariantNames(TasoVariants which) {
  std::vector<std::string> names;
  for (const TasoVariant& i : AllVariants(which)) names.push_back(i.variant.name);
  return names;
}

absl::StatusOr<std::unique_ptr<OperatorSet>> TasoSet(const std::vector<std::string>& only,
                                                     TasoVariants which) {
  std::vector<TasoVariant> all = AllVariants(which), chosen;
  for (const std::string& name : only) {
    if (std::none_of(all.begin(), all.end(),
                     [&](const TasoVariant& i) { return i.variant.name == name; })) {
      return absl::InvalidArgumentError(
          absl::StrCat("there is no operator variant '", name, "'; there are ",
                       absl::StrJoin(all, ", ", [](std::string* out, const TasoVariant& i) {
                         out->append(i.variant.name);
                       })));
    }
  }
  for (TasoVariant& i : all) {
    if (only.empty() || std::count(only.begin(), only.end(), i.variant.name)) {
      chosen.push_back(std::move(i));
    }
  }
  return std::unique_ptr<OperatorSet>(new TasoOperators(std::move(chosen), which));
}

}  // namespace lemma::generator
