#include "graph/onnx/composites/recurrent/activations.h"

#include <map>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace lemma::ops {
namespace {

using Default = std::optional<double>;

struct Kind {
  bool has_alpha = false, has_beta = false;
  Default alpha, beta;
};

const Kind* FindKind(const std::string& name) {
  static const auto* kinds = new std::map<std::string, Kind>{
      {"Relu", {}},
      {"Tanh", {}},
      {"Sigmoid", {}},
      {"Softsign", {}},
      {"Softplus", {}},
      {"Affine", {true, true, {}, {}}},
      {"LeakyRelu", {true, false, 0.01, {}}},
      {"ThresholdedRelu", {true, false, 1.0, {}}},
      {"ScaledTanh", {true, true, {}, {}}},
      {"HardSigmoid", {true, true, 0.2, 0.5}},
      {"Elu", {true, false, 1.0, {}}},
  };
  auto it = kinds->find(name);
  return it == kinds->end() ? nullptr : &it->second;
}

// Takes one value after the other from an attribute.
class Parameters {
 public:
  Parameters(const char* attribute, std::vector<double> values)
      : attribute_(attribute), values_(std::move(values)) {}

  absl::StatusOr<double> Next(OnnxImport& node, const std::string& name, Default fallback) {
    if (next_ < values_.size()) return values_[next_++];
    if (fallback) return *fallback;
    return node.Unsupported(absl::StrCat("activation ", name, " without ", attribute_));
  }
  absl::Status CheckAllTaken(OnnxImport& node) const {
    if (next_ == values_.size()) return absl::OkStatus();
    return node.Unsupported(absl::StrCat(values_.size(), " values of ", attribute_, ", but ", next_,
                                         " activations that have one"));
  }

 private:
  const char* attribute_;
  const std::vector<double> values_;
  size_t next_ = 0;
};

}  // namespace

absl::StatusOr<std::vector<RecurrentActivation>> ReadActivations(
    OnnxImport& node, const std::vector<std::string>& usual, int64_t directions) {
  std::vector<std::string> names;
  for (int64_t d = 0; d < directions; ++d) names.insert(names.end(), usual.begin(), usual.end());
  const size_t count = names.size();
  if (const OnnxAttr* attr = node.FindAttr("activations")) {
    if (const auto* list = std::get_if<std::vector<std::string>>(attr)) names = *list;
  }
  if (names.size() != count) {
    return absl::InvalidArgumentError("attribute activations has the wrong length");
  }
  LEMMA_ASSIGN_OR_RETURN(auto alphas, node.Floats("activation_alpha", std::vector<double>{}));
  LEMMA_ASSIGN_OR_RETURN(auto betas, node.Floats("activation_beta", std::vector<double>{}));
  Parameters alpha("activation_alpha", std::move(alphas));
  Parameters beta("activation_beta", std::move(betas));
  std::vector<RecurrentActivation> result;
  for (const std::string& name : names) {
    const Kind* kind = FindKind(name);
    if (kind == nullptr) return node.Unsupported(absl::StrCat("activation ", name));
    RecurrentActivation f{name};
    if (kind->has_alpha) {
      LEMMA_ASSIGN_OR_RETURN(f.alpha, alpha.Next(node, name, kind->alpha));
    }
    if (kind->has_beta) {
      LEMMA_ASSIGN_OR_RETURN(f.beta, beta.Next(node, name, kind->beta));
    }
    result.push_back(std::move(f));
  }
  LEMMA_RETURN_IF_ERROR(alpha.CheckAllTaken(node));
  LEMMA_RETURN_IF_ERROR(beta.CheckAllTaken(node));
  return result;
}

Value Activate(OnnxBuild& b, const RecurrentActivation& f, const Value& x) {
  if (!x) return x;
  const Attrs alpha = {{"alpha", f.alpha}};
  if (f.name == "Relu") return b.Op("relu", {x});
  if (f.name == "Tanh") return b.Op("tanh", {x});
  if (f.name == "Sigmoid") return b.Op("sigmoid", {x});
  if (f.name == "Softsign") return b.Op("softsign", {x});
  if (f.name == "Softplus") return b.Op("softplus", {x});
  if (f.name == "Affine") return b.Add(b.Mul(x, f.alpha), f.beta);
  if (f.name == "LeakyRelu") return b.Op("leaky_relu", {x}, alpha);
  if (f.name == "ScaledTanh") return b.Mul(b.Op("tanh", {b.Mul(x, f.beta)}), f.alpha);
  if (f.name == "HardSigmoid") {
    return b.Op("hard_sigmoid", {x}, {{"alpha", f.alpha}, {"beta", f.beta}});
  }
  if (f.name == "Elu") return b.Op("elu", {x}, alpha);
  // ThresholdedRelu keeps an x that equals alpha; ONNX's operator of this name does not.
  const Value is_less = b.Op("less", {x, b.Scalar(x.dtype(), f.alpha)});
  return b.Op("where", {is_less, b.Scalar(x.dtype(), 0), x});
}

}  // namespace lemma::ops
