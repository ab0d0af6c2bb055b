#include "graph/onnx/composites/blocked/blocked.h"

#include <functional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/onnx/composites/blocked/convolution.h"
#include "graph/onnx/composites/blocked/layout.h"
#include "graph/onnx/composites/pool.h"
#include "graph/ops/layout/interpolation.h"
#include "graph/sizes/symbolic_size.h"

namespace lemma::ops {
namespace {

// The node with another first input.
class WithInput : public OnnxImport {
 public:
  WithInput(OnnxImport& node, Value input) : node_(node), input_(std::move(input)) {}

  absl::string_view op_type() const override { return node_.op_type(); }
  int opset() const override { return node_.opset(); }
  int num_inputs() const override { return node_.num_inputs(); }
  int num_outputs() const override { return node_.num_outputs(); }
  bool HasInput(int i) const override { return node_.HasInput(i); }
  absl::StatusOr<Value> Input(int i) override { return i == 0 ? input_ : node_.Input(i); }
  absl::StatusOr<Tensor> ConstantInput(int i) override { return node_.ConstantInput(i); }
  absl::StatusOr<Tensor> OwnConstantInput(int i) override { return node_.OwnConstantInput(i); }
  bool IsAtLeast(int64_t size, int64_t least, ShorterMeans meaning) override {
    return node_.IsAtLeast(size, least, meaning);
  }
  const OnnxAttr* FindAttr(absl::string_view name) const override { return node_.FindAttr(name); }
  int64_t channel_block() const override { return node_.channel_block(); }

 protected:
  absl::StatusOr<std::vector<Value>> Build(absl::string_view op, std::vector<Value> inputs,
                                           Attrs attrs) override {
    return node_.Ops(op, std::move(inputs), std::move(attrs));
  }

 private:
  OnnxImport& node_;
  Value input_;
};

absl::StatusOr<Value> BlockedInput(OnnxImport& node, OnnxBuild& b) {
  LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(0));
  const int64_t block = node.channel_block();
  if (x.type().rank() != 4 || IsSymbolic(x.shape()[1]) || x.shape()[1] % block != 0) {
    return node.Unsupported(
        absl::StrCat("operand ", x.type().ToString(), " with blocks of ", block, " channels"));
  }
  x = FromBlocked(b, x, block);
  if (!b.status().ok()) return b.status();
  return x;
}

// Any number of channels; blocks are filled with zeros.
absl::StatusOr<std::vector<Value>> ImportReorderInput(OnnxImport& node) {
  OnnxBuild b(node);
  LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(0));
  LEMMA_ASSIGN_OR_RETURN(int64_t channels_last, node.Int("channels_last", 0));
  if (x.type().rank() != 4) return node.Unsupported("an operand that has not 4 dimensions");
  if (channels_last != 0) x = b.Transpose(x, {0, 3, 1, 2});
  const int64_t block = node.channel_block();
  if (x && IsSymbolic(x.shape()[1])) return node.Unsupported("a symbolic number of channels");
  if (x) x = PadChannels(b, x, (x.shape()[1] + block - 1) / block * block, 0);
  x = ToBlocked(b, x, block);
  if (!b.status().ok()) return b.status();
  return std::vector<Value>{x};
}

absl::StatusOr<std::vector<Value>> ImportReorderOutput(OnnxImport& node) {
  OnnxBuild b(node);
  LEMMA_ASSIGN_OR_RETURN(Value x, BlockedInput(node, b));
  LEMMA_ASSIGN_OR_RETURN(int64_t channels_last, node.Int("channels_last", 0));
  LEMMA_ASSIGN_OR_RETURN(int64_t channels, node.Int("channels"));
  if (channels < 1 || channels > x.shape()[1]) {
    return absl::InvalidArgumentError(absl::StrCat("channels = ", channels, " of ", x.shape()[1]));
  }
  x = FirstChannels(b, x, channels);
  if (channels_last != 0) x = b.Transpose(x, {0, 2, 3, 1});
  if (!b.status().ok()) return b.status();
  return std::vector<Value>{x};
}

using Importer = std::function<absl::StatusOr<std::vector<Value>>(OnnxImport&)>;

// An operator that treats channels alike and maps 0 to 0.
OnnxImporter PerChannel(const std::string& op_type, Importer import) {
  auto blocked = [import](OnnxImport& node) -> absl::StatusOr<std::vector<Value>> {
    OnnxBuild b(node);
    LEMMA_ASSIGN_OR_RETURN(Value x, BlockedInput(node, b));
    const int64_t channels = x.shape()[1];
    const auto padded = PaddedChannelsOf(b, x);
    if (padded && padded->value == 0) x = padded->inner;
    WithInput plain(node, x);
    LEMMA_ASSIGN_OR_RETURN(std::vector<Value> y, import(plain));
    y[0] = ToBlocked(b, PadChannels(b, y[0], channels, 0), node.channel_block());
    if (!b.status().ok()) return b.status();
    return y;
  };
  return {absl::StrCat("com.microsoft.nchwc.", op_type), blocked};
}

Importer GlobalPool(const char* op) {
  return [op](OnnxImport& node) -> absl::StatusOr<std::vector<Value>> {
    LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(0));
    Attrs attrs = {{"axes", std::vector<int64_t>{2, 3}}, {"keepdims", int64_t{1}}};
    return node.Ops(op, {x}, std::move(attrs));
  };
}

// Each element shown as often as the scales say.
absl::StatusOr<std::vector<Value>> Repeated(OnnxImport& node, const Value& x,
                                            const std::vector<int64_t>& scales) {
  OnnxBuild b(node);
  const Shape& s = x.shape();
  const Value split = b.Reshape(x, {s[0], s[1], s[2], 1, s[3], 1});
  const Shape wide = {s[0], s[1], s[2], scales[2], s[3], scales[3]};
  const Value repeated = b.Op("expand", {split}, {{"shape", wide}});
  const Value y =
      b.Reshape(repeated, {s[0], s[1], ProductOf({s[2], scales[2]}), ProductOf({s[3], scales[3]})});
  if (!b.status().ok()) return b.status();
  return std::vector<Value>{y};
}

absl::StatusOr<std::vector<Value>> ImportUpsample(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(0));
  LEMMA_ASSIGN_OR_RETURN(std::string mode, node.String("mode", "nearest"));
  LEMMA_ASSIGN_OR_RETURN(auto scales, node.Ints("scales"));
  LEMMA_ASSIGN_OR_RETURN(std::string coordinates,
                         node.String("coordinate_transformation_mode", "asymmetric"));
  if (scales.size() != 4 || scales[0] != 1 || scales[1] != 1 || scales[2] < 1 || scales[3] < 1) {
    return node.Unsupported(
        absl::StrCat("scales ", ToString(scales), "; supported are two whole numbers after 1, 1"));
  }
  if (mode == "nearest") return Repeated(node, x, scales);
  if (mode != "linear") return node.Unsupported("mode " + mode);
  if (IsSymbolic(x.shape())) {
    Shape sizes;
    for (size_t d = 0; d < scales.size(); ++d) {
      sizes.push_back(ProductOf({x.shape()[d], scales[d]}));
    }
    LEMMA_ASSIGN_OR_RETURN(x, InterpolateAnySize(node, x, sizes, coordinates));
    return std::vector<Value>{x};
  }
  std::vector<ResizeAxis> axes;
  for (size_t d = 0; d < scales.size(); ++d) {
    axes.push_back({x.shape()[d], x.shape()[d] * scales[d], {scales[d], 1}});
  }
  Interpolation how;
  how.coordinates = coordinates;
  LEMMA_ASSIGN_OR_RETURN(x, Interpolate(node, x, axes, how));
  return std::vector<Value>{x};
}

}  // namespace

std::vector<OnnxImporter> BlockedComposites() {
  return {{"com.microsoft.nchwc.Conv", ImportBlockedConv},
          {"com.microsoft.nchwc.ReorderInput", ImportReorderInput},
          {"com.microsoft.nchwc.ReorderOutput", ImportReorderOutput},
          PerChannel("MaxPool", ImportMaxPool),
          PerChannel("AveragePool", ImportAveragePool),
          PerChannel("GlobalMaxPool", GlobalPool("reduce_max")),
          PerChannel("GlobalAveragePool", GlobalPool("reduce_mean")),
          PerChannel("Upsample", ImportUpsample)};
}

}  // namespace lemma::ops
