#include "generator/sets/named_sets.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/flags.h"
#include "generator/sets/set_file.h"
#include "generator/sets/table_sets.h"
#include "generator/sets/taso_set.h"

namespace lemma::generator {
namespace {

using NameList = std::vector<std::string>;
using Made = absl::StatusOr<std::unique_ptr<OperatorSet>>;

struct NamedSetInfo {
  const char* name;
  NameList variants;
  std::function<Made(const NameList&)> make;  // with these of its variants; none given: all
};

NamedSetInfo Taso(const char* name, TasoVariants which) {
  return {name, TasoVariantNames(which),
          [which](const NameList& only) { return TasoSet(only, which); }};
}

Made WithVariants(const TableSetText& text, const NameList& only) {
  std::vector<VariantText> chosen;
  for (const VariantText& i : text.variants) {
    if (only.empty() || std::count(only.begin(), only.end(), i.name)) chosen.push_back(i);
  }
  return TableSet(chosen, text.inputs);
}

NamedSetInfo Table(const char* name, const TableSetText& text) {
  NamedSetInfo info{name, {}, [&text](const NameList& only) { return WithVariants(text, only); }};
  for (const VariantText& i : text.variants) info.variants.push_back(i.name);
  return info;
}

const std::vector<NamedSetInfo>& Sets() {
  static const auto* const sets = [] {
    auto* all = new std::vector<NamedSetInfo>{
        Taso("taso", TasoVariants::kTaso),
        Taso("taso_plus", TasoVariants::kPlus),
        Table("transformer", TransformerSet()),
        Table("training", TrainingSet()),
    };
    for (const NamedTableSet& set : InferenceSets()) all->push_back(Table(set.name, set.text));
    return all;
  }();
  return *sets;
}

// The first of `names` that the set lacks.
const std::string* Missing(const NamedSetInfo& set, const NameList& names) {
  for (const std::string& name : names) {
    if (!std::count(set.variants.begin(), set.variants.end(), name)) return &name;
  }
  return nullptr;
}

std::string VariantsOf(const NamedSetInfo& set) {
  return absl::StrCat(set.name, ": ", absl::StrJoin(set.variants, ", "));
}

// Why no set serves `names`.
absl::Status NoSetFor(const NameList& names) {
  NameList known = SetNames();
  const std::string sets = absl::StrJoin(known, ", ");
  for (const NamedSetInfo& set : Sets()) {
    known.insert(known.end(), set.variants.begin(), set.variants.end());
  }
  for (const std::string& name : names) {
    if (std::count(known.begin(), known.end(), name) > 0) continue;
    const std::string nearest = Nearest(name, known);
    return absl::InvalidArgumentError(absl::StrCat(
        "no operator set is called '", name, "', and no set has such an operator variant",
        nearest.empty() ? "." : absl::StrCat("; did you mean '", nearest, "'?"), " The sets are ",
        sets, "."));
  }
  if (names.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("no operator set is given; the sets are ", sets));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("no operator set has all of ", absl::StrJoin(names, ", "), "; the sets are ",
                   sets, ", and SET,VARIANT,... takes some of a set's variants"));
}

}  // namespace

std::vector<std::string> SetNames() {
  NameList names;
  for (const NamedSetInfo& set : Sets()) names.push_back(set.name);
  return names;
}

Made NamedSet(const std::vector<std::string>& names) {
  for (const NamedSetInfo& set : Sets()) {
    if (names.empty() || names[0] != set.name) continue;
    const NameList only(names.begin() + 1, names.end());
    const std::string* missing = Missing(set, only);
    if (missing == nullptr) return set.make(only);
    return absl::InvalidArgumentError(
        absl::StrCat("there is no operator variant '", *missing, "' in ", VariantsOf(set)));
  }
  for (const NamedSetInfo& set : Sets()) {
    if (!names.empty() && Missing(set, names) == nullptr) return set.make(names);
  }
  return NoSetFor(names);
}

bool IsNamedSet(const std::string& name) {
  return std::any_of(Sets().begin(), Sets().end(), [&](const NamedSetInfo& set) {
    return set.name == name || Missing(set, {name}) == nullptr;
  });
}

Made SetFromFile(absl::string_view text, const std::string& file, const NameList& only) {
  auto set = ReadSetFile(text, file);
  if (!set.ok()) return set.status();
  for (const std::string& name : only) {
    const bool known = std::any_of(set->variants.begin(), set->variants.end(),
                                   [&](const VariantText& i) { return i.name == name; });
    if (known) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(file, ": there is no operator variant '", name, "'"));
  }
  auto made = WithVariants(*set, only);
  if (made.ok()) return made;
  return absl::InvalidArgumentError(absl::StrCat(file, ": ", made.status().message()));
}

}  // namespace lemma::generator
