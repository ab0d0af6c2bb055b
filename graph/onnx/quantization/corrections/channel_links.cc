#include "graph/onnx/quantization/corrections/channel_links.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/types/span.h"

namespace lemma {
namespace {

// Where the channels of a value are.
struct Channels {
  enum class Place {
    kSecond,  // axis 1; the axes behind it are positions
    kLast,    // the last axis
    kFlat,    // axis 1 of 2, which holds the positions of the first channel, of the second, ...
  };
  Place place = Place::kSecond;
  bool one_position = false;  // kSecond: each channel has one position
  bool known_size = false;    // kFlat: axis 1 must have exactly one number for each channel
};

// The operand as a constant vector: a constant of f32 whose last axis has `channels` elements.
std::optional<ScaledOperand> VectorAt(const ModelIndex& index, int position, int operand,
                                      int64_t channels) {
  const onnx::NodeProto& node = index.graph().node(position);
  if (node.input_size() <= operand) return std::nullopt;
  const std::string& name = node.input(operand);
  if (index.ConstantType(name) != onnx::TensorProto::FLOAT) return std::nullopt;
  const Shape shape = index.ConstantShape(name);
  if (shape.empty() || shape.back() != channels) return std::nullopt;
  return ScaledOperand{position, operand, AlongAxis(shape, shape.size() - 1)};
}

class LinkFinder {
 public:
  LinkFinder(const ModelIndex& index, const std::vector<QuantizableOp>& operators,
             const std::vector<bool>& allowed)
      : index_(index), operators_(operators), allowed_(allowed) {
    for (size_t i = 0; i < operators.size(); ++i) {
      if (operators[i].role == QuantizedRole::kProduct) products_[operators[i].position] = i;
    }
  }

  std::vector<ChannelLink> Equalizable() const {
    std::vector<ChannelLink> links;
    for (const auto& [position, i] : products_) {
      ChannelLink link;
      if (FollowProduct(i, &link)) links.push_back(std::move(link));
    }
    return links;
  }

  std::vector<ChannelLink> Smoothable() const {
    std::vector<ChannelLink> links;
    std::set<std::string> seen;
    for (const auto& [position, i] : products_) {
      const QuantizableOp& op = operators_[i];
      if (op.type == "Conv" || !seen.insert(op.reads[0]).second) continue;
      ChannelLink link;
      link.value = op.reads[0];
      if (AddReaders(&link) && AddMakers(&link)) links.push_back(std::move(link));
    }
    return links;
  }

 private:
  const onnx::NodeProto& node(int position) const { return index_.graph().node(position); }

  // The product, if the link may change its weight: a constant right operand that nothing else
  // reads. nullptr if not.
  const QuantizableOp* ProductAt(int position) const {
    const auto found = products_.find(position);
    if (found == products_.end() || !allowed_[found->second]) return nullptr;
    const QuantizableOp& op = operators_[found->second];
    const bool has_axis = op.type == "Conv" || index_.ConstantShape(op.weight).size() == 2;
    if (op.weight.empty() || op.weight_operand != 1 || !has_axis) return nullptr;
    return index_.OnlyReaderOf(op.weight) == position ? &op : nullptr;
  }

  // Adds the weight and the bias of a product, whose output channels are scaled, to the makers.
  void AddProduct(const QuantizableOp& op, ChannelLink* link) const {
    const auto axis = static_cast<size_t>(op.channel_axis);
    const Shape shape = index_.ConstantShape(op.weight);
    link->channels = shape[axis];
    link->makers.push_back({op.position, 1, AlongAxis(shape, axis)});
    if (!op.bias.empty()) {
      link->makers.push_back({op.position, 2, AlongAxis({shape[axis]}, 0)});
    }
  }

  // Scales a BatchNormalization, which is part of the Conv `op`, in place of the Conv.
  bool AddNorm(const QuantizableOp& op, ChannelLink* link) const {
    const auto norm = std::find_if(op.followers.begin(), op.followers.end(), [&](int follower) {
      return node(follower).op_type() == "BatchNormalization";
    });
    if (norm == op.followers.end()) return false;
    const ChannelMap map = AlongAxis({link->channels}, 0);
    link->norm_scale = ScaledOperand{*norm, 1, map};
    link->makers = {*link->norm_scale, {*norm, 2, map}};
    link->norm_variance = node(*norm).input(4);
    link->norm_epsilon = static_cast<double>(FloatAttribute(node(*norm), "epsilon", 1e-5F));
    link->value = node(*norm).output(0);
    return true;
  }

  // Whether the node, which reads `value`, gives s·f(x) for s·x, where s has a number above 0 for
  // each channel. Changes `channels` to describe its result.
  bool Passes(const onnx::NodeProto& node, const std::string& value, Channels* channels) const {
    if (!IsOfOnnx(node) || node.output_size() == 0 || node.input(0) != value) return false;
    for (int i = 1; i < node.output_size(); ++i) {
      if (!node.output(i).empty()) return false;
    }
    const std::string& type = node.op_type();
    if (type == "Relu" || type == "Identity") return true;
    if (type == "LeakyRelu") return FloatAttribute(node, "alpha", 0.01F) >= 0;
    if (channels->place != Channels::Place::kSecond) return false;
    if (type == "MaxPool" || type == "AveragePool") {
      channels->one_position = false;  // padding may add positions
      return true;
    }
    if (type == "GlobalAveragePool") {
      channels->one_position = true;
      return true;
    }
    if (type == "Flatten" && IntAttribute(node, "axis", 1) == 1) {
      channels->place = Channels::Place::kFlat;
      return true;
    }
    return type == "Reshape" && Flattens(node, channels);
  }

  // A Reshape to two axes, of which the first is the batch.
  bool Flattens(const onnx::NodeProto& node, Channels* channels) const {
    if (node.input_size() != 2 || IntAttribute(node, "allowzero", 0) != 0) return false;
    if (index_.ConstantType(node.input(1)) != onnx::TensorProto::INT64) return false;
    const auto shape = index_.Constant(node.input(1));
    if (!shape.ok() || shape->size() != 2) return false;
    // 0 keeps the batch. With any other number, the batch may be mixed with the channels, unless
    // each row of the result has exactly the channels of one position.
    if (shape->AtInt(0) != 0 && !channels->one_position) return false;
    channels->known_size = shape->AtInt(0) != 0;
    channels->place = Channels::Place::kFlat;
    return true;
  }

  // The weight of a product that reads the value, with the channels of the value; nullopt if they
  // do not fit.
  std::optional<ScaledOperand> ReaderOf(const QuantizableOp& op, int64_t channels,
                                        const Channels& where) const {
    const Shape shape = index_.ConstantShape(op.weight);
    if (op.type == "Conv") {
      const int64_t groups = IntAttribute(node(op.position), "group", 1);
      if (where.place != Channels::Place::kSecond || groups < 1) return std::nullopt;
      if (groups * shape[1] != channels || shape[0] % groups != 0) return std::nullopt;
      ChannelMap map = AlongAxis(shape, 1);
      map.rows = shape[0] / groups;
      return ScaledOperand{op.position, 1, map};
    }
    if (where.place == Channels::Place::kSecond) return std::nullopt;
    const auto axis = static_cast<size_t>(1 - op.channel_axis);
    ChannelMap map = AlongAxis(shape, axis);
    const bool needs_equal = where.place == Channels::Place::kLast || where.known_size;
    if (needs_equal ? map.size != channels : map.size % channels != 0) return std::nullopt;
    map.run = map.size / channels;
    return ScaledOperand{op.position, 1, map};
  }

  bool FollowProduct(size_t number, ChannelLink* link) const {
    const QuantizableOp* op = ProductAt(operators_[number].position);
    if (op == nullptr) return false;
    AddProduct(*op, link);
    if (link->channels == 0) return false;
    link->weight = link->makers[0];
    link->value = node(op->position).output(0);
    const bool is_conv = op->type == "Conv";
    if (is_conv) AddNorm(*op, link);
    Channels where;
    if (!is_conv) where.place = Channels::Place::kLast;
    for (;;) {
      const int reader = index_.OnlyReaderOf(link->value);
      if (reader < 0) return false;
      if (const QuantizableOp* next = ProductAt(reader)) {
        if (node(reader).input(0) != link->value) return false;
        const auto weight = ReaderOf(*next, link->channels, where);
        if (weight) link->readers = {*weight};
        return weight.has_value();
      }
      const auto added = is_conv ? std::nullopt : AddedVector(reader, link->channels);
      if (added && link->value == node(op->position).output(0)) {
        link->makers.push_back(*added);
      } else if (!Passes(node(reader), link->value, &where)) {
        return false;
      }
      link->value = node(reader).output(0);
    }
  }

  std::optional<ScaledOperand> AddedVector(int position, int64_t channels) const {
    return VectorOperand(index_, "Add", position, channels);
  }

  bool AddReaders(ChannelLink* link) const {
    const std::vector<int> readers = index_.ReadersOf(link->value);
    Channels where;
    where.place = Channels::Place::kLast;
    for (const int reader : readers) {
      const QuantizableOp* op = ProductAt(reader);
      if (op == nullptr || op->type == "Conv" || node(reader).input(0) != link->value) return false;
      const int64_t rows =
          index_.ConstantShape(op->weight)[static_cast<size_t>(1 - op->channel_axis)];
      if (link->channels == 0) link->channels = rows;
      const auto weight = ReaderOf(*op, link->channels, where);
      if (!weight) return false;
      link->readers.push_back(*weight);
    }
    return !readers.empty();
  }

  bool AddMakers(ChannelLink* link) const {
    const int64_t channels = link->channels;
    std::string value = link->value;
    int position = index_.MakerOf(value);
    Channels where;
    where.place = Channels::Place::kLast;
    // The value that the node reads, if only this node reads it; the node that makes it comes next.
    const auto step_back = [&](const std::string& operand) {
      if (index_.OnlyReaderOf(operand) != position) return false;
      value = operand;
      position = index_.MakerOf(value);
      return position >= 0;
    };
    while (position >= 0 && node(position).input_size() > 0 &&
           Passes(node(position), node(position).input(0), &where)) {
      if (!step_back(node(position).input(0))) return false;
    }
    if (position < 0) return false;
    if (const auto added = AddedVector(position, channels)) {
      link->makers.push_back(*added);
      if (!step_back(node(position).input(1 - added->operand))) return false;
    }
    return AddMaker(position, value, link);
  }

  // The node at `position` makes `value`.
  bool AddMaker(int position, const std::string& value, ChannelLink* link) const {
    const onnx::NodeProto& maker = node(position);
    if (maker.output(0) != value) return false;
    if (const auto factor = VectorOperand(index_, "Mul", position, link->channels)) {
      link->makers.push_back(*factor);
      return true;
    }
    if (IsOfOnnx(maker) && maker.op_type() == "LayerNormalization") {
      const auto scale = VectorAt(index_, position, 1, link->channels);
      if (!scale) return false;
      link->makers.push_back(*scale);
      if (maker.input_size() <= 2 || maker.input(2).empty()) return true;
      const auto shift = VectorAt(index_, position, 2, link->channels);
      if (shift) link->makers.push_back(*shift);
      return shift.has_value();
    }
    const QuantizableOp* op = ProductAt(position);
    if (op == nullptr || op->type == "Conv") return false;
    const int64_t channels = link->channels;
    AddProduct(*op, link);
    return link->channels == channels;
  }

  const ModelIndex& index_;
  const std::vector<QuantizableOp>& operators_;
  const std::vector<bool>& allowed_;
  std::map<int, size_t> products_;  // by position
};

}  // namespace

std::optional<ScaledOperand> VectorOperand(const ModelIndex& index, const std::string& type,
                                           int position, int64_t channels) {
  const onnx::NodeProto& node = index.graph().node(position);
  if (!IsOfOnnx(node) || node.op_type() != type || node.input_size() != 2) return std::nullopt;
  // An attribute may say, up to operator set 6, that the vector lies along another axis.
  if (node.attribute_size() > 0) return std::nullopt;
  if (auto right = VectorAt(index, position, 1, channels)) return right;
  return VectorAt(index, position, 0, channels);
}

std::vector<ChannelLink> EqualizableLinks(const ModelIndex& index,
                                          const std::vector<QuantizableOp>& operators,
                                          const std::vector<bool>& allowed) {
  return LinkFinder(index, operators, allowed).Equalizable();
}

std::vector<ChannelLink> SmoothableLinks(const ModelIndex& index,
                                         const std::vector<QuantizableOp>& operators,
                                         const std::vector<bool>& allowed) {
  return LinkFinder(index, operators, allowed).Smoothable();
}

}  // namespace lemma
