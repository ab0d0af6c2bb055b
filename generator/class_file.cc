#include "generator/class_file.h"

#include <algorithm>
#include <map>
#include <type_traits>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "generator/bytes.h"
#include "graph/hash.h"
#include "graph/onnx/file.h"
#include "graph/ops/status_macros.h"

namespace lemma::generator {
namespace {

constexpr char kMagic[] = "lemma classes, format 1\n";
constexpr int64_t kMostBytes = int64_t{1} << 36;

void Write(const TermGraph& graph, ByteWriter* out) {
  out->Number(graph.ops.size());
  for (const Term& term : graph.ops) {
    out->Number(term.instance);
    out->Number(term.operands.size());
    for (int operand : term.operands) out->Signed(operand);
  }
  out->Number(graph.outputs.size());
  for (int output : graph.outputs) out->Signed(output);
}

TermGraph ReadGraph(ByteReader* in) {
  TermGraph graph;
  graph.ops.resize(in->Count());
  for (Term& term : graph.ops) {
    term.instance = static_cast<int>(in->Number());
    term.operands.resize(in->Count());
    for (int& operand : term.operands) operand = static_cast<int>(in->Signed());
  }
  graph.outputs.resize(in->Count());
  for (int& output : graph.outputs) output = static_cast<int>(in->Signed());
  return graph;
}

absl::Status Damaged(const std::string& path) {
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": is damaged; delete it, and make it anew"));
}

bool IsOf(const OperatorSet& set, const TermGraph& graph) {
  // A value is an input, or an output of one of the first `ops` operators.
  auto is_value = [&](int value, size_t ops) {
    if (value < 0) return static_cast<size_t>(-1 - value) < set.inputs().size();
    const size_t op = value / kMostOutputs;
    return op < ops && value % kMostOutputs < set.instances()[graph.ops[op].instance].num_outputs;
  };
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    const Term& term = graph.ops[i];
    if (term.instance < 0 || static_cast<size_t>(term.instance) >= set.instances().size() ||
        static_cast<int>(term.operands.size()) != set.instances()[term.instance].num_operands) {
      return false;
    }
    for (int operand : term.operands) {
      if (!is_value(operand, i)) return false;
    }
  }
  return std::all_of(graph.outputs.begin(), graph.outputs.end(),
                     [&](int output) { return is_value(output, graph.ops.size()); });
}

bool Before(const TermGraph& a, const TermGraph& b) {
  if (a.ops.size() != b.ops.size()) return a.ops.size() < b.ops.size();
  return std::tie(a.ops, a.outputs) < std::tie(b.ops, b.outputs);
}
bool Before(const ValueClass& a, const ValueClass& b) {
  return std::lexicographical_compare(
      a.members.begin(), a.members.end(), b.members.begin(), b.members.end(),
      [](const TermGraph& x, const TermGraph& y) { return Before(x, y); });
}

}  // namespace

std::string ToString(const Shard& shard) { return absl::StrCat(shard.index, "/", shard.count); }

absl::Status WriteClassFile(const std::string& path, const RunId& run, const Shard& shard,
                            const Enumerated& enumerated) {
  ByteWriter out;
  run.Write(&out);
  out.Signed(shard.index);
  out.Signed(shard.count);
  // Files are read by the program that wrote them only: the numbers as they lie in memory will do.
  static_assert(std::is_trivially_copyable_v<EnumeratorStats>);
  const EnumeratorStats& stats = enumerated.stats;
  out.Bytes({reinterpret_cast<const char*>(&stats), sizeof(stats)});
  out.Number(enumerated.max_ops);
  out.Number(enumerated.classes.size());
  for (const ValueClass& one : enumerated.classes) {
    out.Number(one.members.size());
    for (const TermGraph& member : one.members) Write(member, &out);
  }
  ByteWriter checksum;
  checksum.Fixed(HashString(out.bytes()));
  return WriteFileAtomically(path, {kMagic, checksum.bytes(), out.bytes()});
}

absl::StatusOr<ClassFile> ReadClassFile(const std::string& path) {
  LEMMA_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path, kMostBytes));
  absl::string_view body = bytes;
  if (!absl::ConsumePrefix(&body, kMagic)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": is not a file of classes that this lemma generate wrote"));
  }
  ByteReader in(body);
  const uint64_t checksum = in.Fixed();
  if (!in.ok() || checksum != HashString(in.rest())) return Damaged(path);
  ClassFile file;
  file.path = path;
  file.run = RunId::Read(&in);
  file.shard.index = in.Signed();
  file.shard.count = in.Signed();
  const absl::string_view stats = in.Bytes();
  // Another build may lay them out otherwise; that it is another one is for its reader to say.
  if (stats.size() == sizeof(EnumeratorStats)) {
    std::memcpy(&file.enumerated.stats, stats.data(), stats.size());
  }
  file.enumerated.max_ops = static_cast<int>(in.Number());
  file.enumerated.classes.resize(in.Count());
  for (ValueClass& one : file.enumerated.classes) {
    one.members.resize(in.Count());
    for (TermGraph& member : one.members) member = ReadGraph(&in);
  }
  const Shard& shard = file.shard;
  if (!in.ok() || !in.rest().empty() || shard.index < 0 || shard.index >= shard.count ||
      shard.count > kMostShards) {
    return Damaged(path);
  }
  return file;
}

absl::Status CheckTerms(const Enumerated& enumerated, const OperatorSet& set) {
  for (const ValueClass& one : enumerated.classes) {
    if (one.members.size() < 2 ||
        !std::all_of(one.members.begin(), one.members.end(),
                     [&](const TermGraph& member) { return IsOf(set, member); })) {
      return absl::InvalidArgumentError("its graphs are none of its operator set's");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Enumerated> Merged(std::vector<ClassFile> shards) {
  if (shards.empty()) return absl::InvalidArgumentError("no shards to merge");
  const ClassFile& first = shards[0];
  std::map<int64_t, const ClassFile*> by_index;
  for (const ClassFile& shard : shards) {
    std::string differs = Difference(shard.run, first.run);
    if (differs.empty() && shard.shard.count != first.shard.count) {
      differs = absl::StrCat("shard ", ToString(shard.shard), ", not one of ", first.shard.count);
    }
    if (!differs.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(shard.path, " does not go with ", first.path, ": it is of ", differs));
    }
    auto [it, is_new] = by_index.emplace(shard.shard.index, &shard);
    if (!is_new) {
      return absl::InvalidArgumentError(absl::StrCat(it->second->path, " and ", shard.path,
                                                     " are both shard ", ToString(shard.shard)));
    }
  }
  std::vector<std::string> missing;
  for (int64_t i = 0; i < first.shard.count; ++i) {
    if (by_index.count(i) == 0) missing.push_back(ToString({i, first.shard.count}));
  }
  if (!missing.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("shards are missing: ", absl::StrJoin(missing, ", ")));
  }
  Enumerated merged;
  merged.max_ops = first.enumerated.max_ops;
  for (ClassFile& shard : shards) {
    std::move(shard.enumerated.classes.begin(), shard.enumerated.classes.end(),
              std::back_inserter(merged.classes));
  }
  SortClasses(&merged);
  return merged;
}

void SortClasses(Enumerated* enumerated) {
  std::vector<ValueClass>& classes = enumerated->classes;
  std::sort(classes.begin(), classes.end(),
            [](const ValueClass& a, const ValueClass& b) { return Before(a, b); });
  classes.erase(std::unique(classes.begin(), classes.end(),
                            [](const ValueClass& a, const ValueClass& b) {
                              return !Before(a, b) && !Before(b, a);
                            }),
                classes.end());
}

void KeepShard(const Shard& shard, Enumerated* enumerated) {
  std::vector<ValueClass> kept;
  for (size_t i = shard.index; i < enumerated->classes.size(); i += shard.count) {
    kept.push_back(std::move(enumerated->classes[i]));
  }
  enumerated->classes = std::move(kept);
}

}  // namespace lemma::generator
